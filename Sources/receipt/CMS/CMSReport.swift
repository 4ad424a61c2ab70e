import AppStoreReceipt
import CMSTrust
import SignatureTrust
import SpanASN1
import SpanPKCS7
import StrictText

/// The verdict on a signed message, as text or JSON.
struct CMSReport {
    enum Verdict {
        case verified(VerifiedMessage)
        case refused(CMSVerificationError)
        /// No root was given.
        case unverified

        /// - Parameter result: `nil` if there was no verifier.
        init(_ result: Result<VerifiedMessage, CMSVerificationError>?) {
            self =
                switch result {
                case nil: .unverified
                case .success(let message): .verified(message)
                case .failure(let error): .refused(error)
                }
        }

        var exitStatus: ExitStatus {
            switch self {
            case .verified: .passed
            case .refused(let error) where error.isHostFault: .unusable
            case .refused, .unverified: .refused
            }
        }
    }

    let file: String
    /// The contents of the message, or the reason it cannot be read.
    let outline: Result<CMSOutline, ASN1DecodingError>
    let verdict: Verdict
    /// What to do about a refusal; empty if nothing is known.
    let advice: String

    static func outline(_ received: [UInt8]) -> Result<CMSOutline, ASN1DecodingError> {
        Result { () throws(ASN1DecodingError) in
            let message = try ReceivedMessage(received)
            do throws(ASN1DecodingError) {
                return try CMSOutline(message.der)
            } catch {
                throw ASN1DecodingError(error.kind, offset: message.receivedOffset(of: error.offset), path: error.path)
            }
        }
    }
}

// MARK: - Text

extension CMSReport {
    func print(to console: inout Console) {
        let name = console.style(.bold, file.printable)
        switch verdict {
        case .verified(let message):
            let count = message.signers.count
            console.print("\(console.style(.green, "VERIFIED"))  \(name), signed by \(count == 1 ? "one" : "\(count)")")
        case .refused(let error):
            console.print("\(console.style(.red, "REFUSED"))  \(name): \(error.code)")
            console.print("  \(error)")
            printAdvice(to: &console)
        case .unverified:
            console.print(
                "\(console.style(.yellow, "UNVERIFIED"))  \(name): anyone can have written this; to verify it, pass --root"
            )
        }
        switch outline {
        case .success(let outline): print(outline, to: &console)
        case .failure(let error):
            if case .unverified = verdict {
                console.print("  \(error)")
                printAdvice(to: &console)
            }
        }
    }

    private func printAdvice(to console: inout Console) {
        guard !advice.isEmpty else { return }
        for line in advice.printable.lines(width: console.style.width, after: "  ", 2, indent: 2) {
            console.print(line)
        }
    }

    private func print(_ outline: CMSOutline, to console: inout Console) {
        var fields = [("Type", outline.type + (outline.version.map { ", version \($0)" } ?? ""))]
        if let contentType = outline.contentType {
            let size = outline.contentByteCount.map { "\($0) bytes" } ?? "none in the message"
            fields.append(("Content", "\(contentType), \(size)"))
        } else if let size = outline.contentByteCount {
            fields.append(("Content", "\(size) bytes"))
        }
        for (index, signer) in outline.signers.enumerated() { fields += self.fields(index, signer) }
        for certificate in outline.certificates { fields += certificate.fields }
        fields += outline.otherCertificates.map { ("Certificate", "of another kind: \($0)") }
        for list in outline.revocationLists {
            let next = list.nextUpdate.map { ", next by \($0.text)" } ?? ""
            fields.append(("Revocation list", "of \(list.issuer), \(list.thisUpdate.text)\(next)"))
        }
        let style = console.style
        let labelWidth = fields.map(\.0.count).max() ?? 0
        for (label, value) in fields {
            if label.first?.isUppercase == true, label != "Content" { console.print() }
            let head = "  \(style(.dim, label.padded(to: labelWidth)))  "
            for line in value.printable.lines(
                width: style.width, after: head, labelWidth + 4, indent: labelWidth + 4)
            {
                console.print(line)
            }
        }
    }

    private func fields(_ index: Int, _ signer: CMSOutline.Signer) -> [(String, String)] {
        var fields = [
            ("Signer \(index)", signer.identifier),
            ("  algorithms", "\(signer.signatureAlgorithm), \(signer.digestAlgorithm)"),
        ]
        if let time = signer.signingTime { fields.append(("  signing time", time.text)) }
        if !signer.signedAttributes.isEmpty {
            fields.append(("  signed attributes", signer.signedAttributes.joined(separator: ", ")))
        }
        if !signer.unsignedAttributes.isEmpty {
            fields.append(("  not signed", signer.unsignedAttributes.joined(separator: ", ")))
        }
        guard case .verified(let message) = verdict,
            let verified = message.signers.first(where: { $0.index == index })
        else { return fields }
        fields.append(
            (
                "  verified",
                "\(verified.kind.rawValue) with \(verified.digest.rawValue), chain validated at \(verified.validationDate.text)"
            ))
        for (position, certificate) in verified.chain.enumerated() {
            fields.append((position == 0 ? "  chain" : "", Self.name(of: certificate)))
        }
        fields.append(("  certificate", verified.fingerprint.description))
        fields.append(("  trust anchor", verified.anchorFingerprint.description))
        return fields
    }

    /// Returns the subject of a verified certificate.
    fileprivate static func name(of certificate: [UInt8]) -> String {
        let name = try? SpanPKCS7.Certificate(certificate.span).subject.distinguishedName()
        return name ?? ""
    }
}

extension CMSOutline.Certificate {
    fileprivate var fields: [(String, String)] {
        [
            ("Certificate", subject),
            ("  issuer", subject.hasSameBytes(as: issuer) ? "itself" : issuer),
            ("  serial number", serialNumber),
            ("  valid", "\(validity.lowerBound.text) to \(validity.upperBound.text)"),
            ("  key", key),
            ("  signature", signatureAlgorithm),
            ("  fingerprint", fingerprint.description),
        ]
    }
}

// MARK: - JSON

extension CMSReport {
    static func failure(_ error: CMSFileError, file: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.failure(.unreadableFile, message: error.description, from: .file(file))
        return writer.bytes
    }

    /// `{"file":…,"verified":…,"signers":[…],"message":{…}}`, or with `"error"` where it was refused.
    func json() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("file", file)
        switch verdict {
        case .verified(let message):
            writer.member("verified", true)
            writer.object("content") { writer in
                writer.member("type", message.contentType.text)
                writer.member("bytes", message.content.count)
            }
            writer.objects("signers", message.signers) { $0.members(of: $1) }
        case .refused(let error):
            writer.member("verified", false)
            writer.object("error") { writer in
                writer.member("code", error.code.rawValue)
                writer.member("message", error.description)
                if !advice.isEmpty { writer.member("advice", advice) }
                if let offset = error.offset { writer.member("offset", offset) }
                if let index = error.index { writer.member("signer", index) }
            }
        case .unverified:
            writer.member("verified", false)
            guard case .failure(let error) = outline else { break }
            writer.object("error") { writer in
                writer.member("code", error.kind.rawValue)
                writer.member("message", error.description)
                if !advice.isEmpty { writer.member("advice", advice) }
                writer.member("offset", error.offset)
            }
        }
        if case .success(let outline) = outline {
            writer.object("message") { $0.members(of: outline) }
        }
        writer.endObject()
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func members(of signer: VerifiedSigner) {
        member("index", signer.index)
        member("fingerprint", signer.fingerprint.description)
        member("anchor", signer.anchorFingerprint.description)
        member("signature", signer.kind.rawValue)
        member("digest", signer.digest.rawValue)
        member("validation_date", signer.validationDate.description)
        member("signing_time", ifAny: signer.signingTime?.description)
        member("chain", signer.chain.map(CMSReport.name))
    }

    fileprivate mutating func members(of outline: CMSOutline) {
        member("type", outline.type)
        if let version = outline.version { member("version", version) }
        member("content_type", ifAny: outline.contentType)
        if let count = outline.contentByteCount { member("content_bytes", count) }
        objects("signers", outline.signers) { writer, signer in
            writer.member("identifier", signer.identifier)
            writer.member("digest_algorithm", signer.digestAlgorithm)
            writer.member("signature_algorithm", signer.signatureAlgorithm)
            writer.member("signing_time", ifAny: signer.signingTime?.description)
            writer.member("signed_attributes", signer.signedAttributes)
            writer.member("unsigned_attributes", signer.unsignedAttributes)
        }
        objects("certificates", outline.certificates) { writer, certificate in
            writer.member("subject", certificate.subject)
            writer.member("issuer", certificate.issuer)
            writer.member("serial_number", certificate.serialNumber)
            writer.member("not_before", certificate.validity.lowerBound.description)
            writer.member("not_after", certificate.validity.upperBound.description)
            writer.member("key", certificate.key)
            writer.member("signature_algorithm", certificate.signatureAlgorithm)
            writer.member("fingerprint", certificate.fingerprint.description)
        }
        if !outline.otherCertificates.isEmpty { member("other_certificates", outline.otherCertificates) }
        objects("revocation_lists", outline.revocationLists) { writer, list in
            writer.member("issuer", list.issuer)
            writer.member("this_update", list.thisUpdate.description)
            writer.member("next_update", ifAny: list.nextUpdate?.description)
        }
    }
}
