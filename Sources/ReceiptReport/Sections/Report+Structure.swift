import AppStoreReceipt
import SpanASN1
import SpanPKCS7
import StrictText

// The structure of a piece beside its bytes, folded away.
extension Report {
    /// The bytes to show of all pieces together.
    static let maximumStructureByteCount = 64 << 10

    func structure(of piece: ReportPiece, _ html: inout HTMLWriter) {
        // Offsets and excerpts refer to the evidence without its wrappers.
        let bytes = Unwrapper.evidence(in: piece.bytes, VerificationLimits())
        let received = ReceivedEvidence(bytes, VerificationLimits())
        html.element(.details) { html in
            html.element(.summary, phrase: .structure)
            guard html.remainingStructureCount > 0 else {
                return html.element(.p, .style(.note), phrase: .structureShared, .code("receipt asn1"))
            }
            html.element(.p, .style(.note), phrase: .structureAbout)
            if received.kind == .receipt {
                tree(of: (try? received.binary()) ?? bytes, &html)
            } else {
                text(of: received, in: bytes, piece, &html)
            }
        }
    }

    // MARK: ASN.1

    private func tree(of bytes: [UInt8], _ html: inout HTMLWriter) {
        let budget = html.remainingStructureCount
        html.remainingStructureCount -= min(budget, bytes.count)
        html.element(.ol, .style(.tree)) { html in
            var rows = StructureRows()
            let fault = rows.visit(bytes.span, upTo: budget) { row in html.leaf(row, bytes) }
            guard let fault else { return }
            html.element(
                .li, .style(.fault), phrase: .structureMalformed, .number(fault.offset), .code(fault.kind.rawValue))
        }
        if bytes.count > budget {
            html.element(
                .p, .style(.note), phrase: .structureRest, .number(budget), .number(bytes.count), .code("receipt asn1"))
        }
    }

    // MARK: JWS and transaction receipts

    private func text(
        of received: ReceivedEvidence, in bytes: [UInt8], _ piece: ReportPiece, _ html: inout HTMLWriter
    ) {
        let text: [UInt8]
        do throws(VerificationError) {
            text = [UInt8](copying: try received.text(in: bytes.span))
        } catch {
            return tree(of: bytes, &html)
        }
        html.element(.ol, .style(.tree)) { html in
            if received.kind == .jws {
                let evidence = try? UnverifiedEvidence(decoding: text)
                let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
                for (part, name) in zip(parts, [Phrase.header, .payload, .signature]) {
                    let part = Array(part)
                    section(name, part, &html) { html in
                        let decoded = try? Base64.decode(part.span, as: .jws)
                        switch (name, evidence?.jws, decoded) {
                        case (.header, let jws?, _):
                            fields(jws.headerFields, &html)
                            certificates(of: jws, &html)
                        case (.payload, _, _): fields(evidence?.parts.first?.fields ?? [], &html)
                        case (.signature, _, let bytes?):
                            html.element(.code) { $0.value(Hexadecimal.text(bytes.span.extracting(first: 4096))) }
                        default: break
                        }
                    }
                }
            } else {
                section(.propertyList, text, &html) { html in
                    fields(piece.parts.first?.fields ?? [], &html)
                }
            }
        }
        for certificate in piece.embeddedCertificates().prefix(4) where html.remainingStructureCount > 0 {
            html.element(.h4) { html in
                html.inline(CertificateFacts(certificate).commonName ?? html.plain(.unreadableCertificate))
            }
            tree(of: certificate, &html)
        }
    }

    private func certificates(of jws: UnverifiedJWS, _ html: inout HTMLWriter) {
        guard let certificates = try? jws.certificates() else { return }
        html.element(.dl, .style(.facts)) { html in
            for (index, certificate) in certificates.prefix(8).enumerated() {
                html.element(.dt, text: "x5c[\(index)]")
                html.element(.dd) { html in
                    html.inline(CertificateFacts(certificate).subject ?? html.plain(.unreadableCertificate))
                }
            }
        }
    }

    /// A part of a text beside its bytes.
    private func section(
        _ name: Phrase, _ bytes: [UInt8], _ html: inout HTMLWriter, content: (inout HTMLWriter) -> Void
    ) {
        let shown = min(bytes.count, html.remainingStructureCount)
        html.remainingStructureCount -= shown
        html.element(.li, .style(.leaf)) { html in
            html.element(.div, .style(.what)) { html in
                html.element(.b, phrase: name)
                html.element(.div, content: content)
            }
            html.element(.div, .style(.hex)) { html in
                html.value(String(decoding: bytes.prefix(shown), as: UTF8.self), limit: 800)
            }
        }
    }
}

/// An element of ASN.1 on its line: an attribute of a receipt with its number and its version, or any other element.
struct StructureRow {
    let depth: Int
    let name: String
    let note: String?
    let value: String
    /// Its own bytes.
    var range: Range<Int>
}

/// The rows of a structure. The numbers in an attribute of a receipt stand in its own row.
struct StructureRows {
    private var state = ASN1Outline.State()
    private var pending: StructureRow?

    /// Visits the elements that begin before `limit`.
    ///
    /// - Returns: The first fault, if there is one.
    mutating func visit(
        _ bytes: Span<UInt8>, upTo limit: Int, _ show: (StructureRow) -> Void
    ) -> ASN1DecodingError? {
        var walker = ASN1Walker(bytes, rules: .ber, limits: ASN1Outline.limits(depth: ASN1Outline.maximumDepth))
        do throws(ASN1DecodingError) {
            while let element = try walker.next(), element.offset < limit {
                let node = ASN1Outline.Node(element, below: 0)
                let note = state.descend(to: node, bytes)
                let isEntered = state.enters(node, bytes) && walker.enter(element, skipping: node.wrapperCount)
                let isWhole = node.tag.isConstructed || isEntered
                let end =
                    isWhole
                    ? element.contentOffset + (isEntered ? node.wrapperCount : 0)
                    : node.content?.upperBound ?? element.contentOffset
                if var attribute = pending {
                    // Its number, its version and the string around its value.
                    if node.depth == attribute.depth + 1, isEntered || node.tag == .integer {
                        attribute.range = attribute.range.lowerBound..<end
                        pending = attribute
                        continue
                    }
                    show(attribute)
                    pending = nil
                }
                let row = StructureRow(
                    depth: node.depth, name: node.tag.description, note: note,
                    value: isWhole ? "" : Self.value(of: element, in: bytes), range: element.offset..<end)
                if let note, note.utf8.starts(with: "attribute".utf8) { pending = row } else { show(row) }
            }
        } catch {
            if let pending { show(pending) }
            return error
        }
        if let pending { show(pending) }
        return nil
    }

    private static func value(of element: ASN1Walker.Element, in bytes: Span<UInt8>) -> String {
        guard let range = element.contentRange, element.tag != .endOfContents else { return "" }
        var cursor = ASN1Cursor(bytes.extracting(element.offset..<range.upperBound), allowing: .nonMinimalLengths)
        guard let read = try? cursor.read() else { return "" }
        return ASN1ValueText.text(of: read)
    }
}

extension HTMLWriter {
    private static let maximumRowByteCount = 48

    fileprivate mutating func leaf(_ row: StructureRow, _ bytes: [UInt8]) {
        element(.li, .style(.leaf)) { html in
            html.element(.div, .styles([.what, .depth(row.depth)])) { html in
                if let note = row.note { html.element(.b, text: note) } else { html.text(row.name) }
                guard !row.value.isEmpty else { return }
                html.text(" ")
                html.element(.i) { $0.inline(row.value, limit: 240) }
            }
            let shown = row.range.prefix(Self.maximumRowByteCount)
            html.element(.div, .style(.hex)) { html in
                html.text(
                    Hexadecimal.text(bytes.span.extracting(shown), separator: " ")
                        + (shown.count < row.range.count ? " …" : ""))
            }
        }
    }
}
