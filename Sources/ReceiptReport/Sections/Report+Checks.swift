@_spi(Surfaces) import AppStoreReceipt
import StrictText

// A piece of evidence: its verdict, its checks, its signer, its contents and its structure.
extension Report {
    func piece(_ piece: ReportPiece, _ html: inout HTMLWriter) {
        html.element(.article, .styles([.panel, .piece]), .id(.piece(piece.index))) { html in
            html.element(.h2) { html in
                html.element(.span) { html in
                    if pieces.count > 1 || piece.name == nil {
                        html.phrase(.pieceNumber, .number(piece.index + 1))
                        if piece.name != nil { html.text(": ") }
                    }
                    if let name = piece.name { html.inline(name) }
                }
                html.element(.span, .styles([.badge, piece.verdict.style]), phrase: piece.kind)
            }
            if pieces.count > 1 { html.element(.p) { sentence(on: piece, &$0) } }
            checks(of: piece, &html)
            if piece.verdict != .notRead {
                signer(of: piece, &html)
                contents(of: piece, &html)
                structure(of: piece, &html)
            }
        }
    }

    private func checks(of piece: ReportPiece, _ html: inout HTMLWriter) {
        html.element(.h3, phrase: .checks)
        let failing = piece.refusal.flatMap(Check.init(of:))
        html.element(.ol, .style(.checks)) { html in
            for check in Check.allCases {
                let isPassed = piece.verified != nil || failing.map { check.rawValue < $0.rawValue } ?? false
                let isFailed = check == failing
                let style: Style = isPassed ? .passed : isFailed ? .failed : .waiting
                html.element(.li, .styles([.check, style])) { html in
                    html.mark(style)
                    html.element(.strong, phrase: check.name)
                    html.element(.span, phrase: isPassed ? .passed : isFailed ? .failed : .notReached)
                    html.element(.small, phrase: check.about)
                }
            }
        }
        let unwrapped = piece.unwrapped
        if !unwrapped.isEmpty {
            html.element(.p, .style(.note), phrase: .unwrapped, .code(unwrapped.joined(separator: ", ")))
        }
        switch piece.outcome {
        case .verified: break
        case .refused(let error): fault(error, failing, of: piece, &html)
        case .unreadable(let message):
            html.element(.p, .style(.fault), phrase: .operatingSystem, .text(message))
        }
    }

    private func fault(
        _ error: VerificationError, _ check: Check?, of piece: ReportPiece, _ html: inout HTMLWriter
    ) {
        html.element(.div, .style(.fault)) { html in
            if check == nil { html.element(.p, phrase: .noCheckReached) }
            html.element(.dl, .style(.facts)) { html in
                fact(.reason, &html) { $0.element(.strong, text: error.sentence(in: $0.language)) }
                if let found = error.found { fact(.found, &html) { $0.value(found) } }
                if let expected = error.expected { fact(.expected, &html) { $0.value(expected) } }
                let advice = error.advice(for: audience, in: html.language)
                if advises(error), !advice.isEmpty { fact(.remedy, &html) { $0.text(advice) } }
                place(of: error, in: piece, &html)
                fact(.code, &html) { html in
                    guard let helpPath, error.fault.page != nil else {
                        return html.element(.code, text: error.code.rawValue)
                    }
                    html.link(helpPath, error.code.rawValue)
                }
            }
        }
    }

    private func place(of error: VerificationError, in piece: ReportPiece, _ html: inout HTMLWriter) {
        let hasPlace = error.offset != nil || error.path != nil || error.part != nil || error.armor != nil
        guard hasPlace else { return }
        fact(.place, &html) { html in
            var isFirst = true
            func separate(_ html: inout HTMLWriter) {
                if !isFirst { html.text(" · ") }
                isFirst = false
            }
            if let part = error.part {
                separate(&html)
                html.phrase(.inPart, .code(part.rawValue))
            }
            if let path = error.path {
                separate(&html)
                html.element(.code, text: path)
            }
            if let offset = error.offset, let base = error.offsetBase {
                separate(&html)
                html.phrase(.offset, .number(offset), .code(base.rawValue))
            }
            if let form = error.armor {
                separate(&html)
                html.phrase(.looksLike, .code(form.rawValue))
            }
            // No excerpt: the bytes of signatures and certificates are opaque.
            if ![.signature, .chain].contains(error.stage), let excerpt = error.excerpt(of: piece.bytes) {
                separate(&html)
                html.inline(excerpt)
            }
        }
    }

    func fact(_ name: Phrase, _ html: inout HTMLWriter, value: (inout HTMLWriter) -> Void) {
        html.element(.dt, phrase: name)
        html.element(.dd, content: value)
    }
}

extension ReportPiece {
    /// The names of the wrappers of the evidence.
    fileprivate var unwrapped: [String] {
        switch outcome {
        case .verified(let evidence): evidence.unwrapped
        case .refused(let error): error.unwrapped
        case .unreadable: []
        }
    }
}
