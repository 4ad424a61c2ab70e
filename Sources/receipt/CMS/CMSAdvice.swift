import CMSTrust
import SignatureTrust
import SpanASN1
import SpanPKCS7
import StrictText

/// What to do about a refused message: which option helps, or what the file is if it is no message.
struct CMSAdvice {
    let text: String

    /// - Parameters:
    ///   - received: The message, without the text around it.
    ///   - refusedRoots: The roots that cannot end a chain, with the reasons.
    init(_ received: [UInt8], _ verdict: CMSReport.Verdict, refusedRoots: [String]) {
        var sentences: [String] = []
        if let kind = OtherInput(received) {
            sentences = [kind.rawValue]
        } else if case .refused(let error) = verdict {
            if let advice = Self.advice(for: error, received) { sentences.append(advice) }
            if error.code == .untrustedChain {
                sentences += refusedRoots.map { "A root is not used: \($0)." }
            }
        }
        text = sentences.joined(separator: " ")
    }

    private static func advice(for error: CMSVerificationError, _ received: [UInt8]) -> String? {
        switch error.code {
        case .untrustedChain:
            """
            If the message lacks an issuer's certificate, add it with --intermediate. To trust the authority that issued \
            the signer's certificate, pass its root with --root.
            """
        case .missingSignerCertificate: "Add the signer's certificate with --intermediate."
        case .certificateExpired:
            """
            To validate the certificates at the time that each signer states, pass --at signing; at a date when the \
            message is known to have existed, --at DATE.
            """
        case .certificateNotYetValid: "Validate the certificates at a later date with --at DATE."
        case .missingSigningTime: "Validate the certificates at a date that you know with --at DATE."
        case .futureSigningTime: "Check this host's clock, or validate at a later date with --at DATE."
        case .weakAlgorithm where usesSHA1(received):
            "To accept SHA-1, pass --allow-sha1: its collisions can be forged."
        case .missingContent: "The message is detached: pass what was signed with --content."
        case .unexpectedContent: "The message contains its content: leave out --content."
        case .contentDigestMismatch:
            """
            If the message is detached, the content must be exactly what was signed: mail is signed with CRLF at the end of \
            each line.
            """
        case .invalidExtendedKeyUsage: "The signer's certificate is for another purpose than --purpose requires."
        case .missingRevocationList:
            "Add the current list of each issuer with --crl; --revocation signer needs only that of the signer's issuer."
        case .malformedCertificate: "The issuer must replace the certificate: no root makes it valid."
        default: nil
        }
    }

    /// Whether a signature or a digest of the message, or a certificate in it, is made with SHA-1.
    private static func usesSHA1(_ received: [UInt8]) -> Bool {
        guard case .success(let outline) = CMSReport.outline(received) else { return false }
        let names = outline.signers.flatMap { [$0.digestAlgorithm, $0.signatureAlgorithm] }
        return (names + outline.certificates.map(\.signatureAlgorithm)).contains { name in
            ["SHA1", "sha1", "SHA-1"].contains { name.contains($0) }
        }
    }
}

/// What people pass to `receipt cms` instead of a message. The raw value says what it is, and what to do with it.
private enum OtherInput: String {
    case certificate = """
        This is a certificate, not a signed message. Pass it with --root to trust it, or with --intermediate to build \
        chains with it.
        """
    case revocationList = "This is a revocation list, not a signed message. Pass it with --crl."
    case timeStampResponse = """
        This is a time-stamp response, which contains a signed message: openssl ts -reply -in FILE -token_out -out \
        TOKEN extracts it.
        """
    case timeStampQuery = "This is a time-stamp query, which nobody has signed."
    case mail = """
        This is a mail, not a signed message. In multipart/signed, the message is the attachment smime.p7s, and --content \
        the part before it with its headers; in application/pkcs7-mime, it is smime.p7m.
        """
    case jws = "This is a JWS. receipt verify verifies those of the App Store."

    /// `nil` for a message, and for unknown input.
    init?(_ received: [UInt8]) {
        if let text = Self(text: received) {
            self = text
        } else if Self.isRead({ () throws(ASN1DecodingError) in _ = try Certificate(received.span) }) {
            self = .certificate
        } else if Self.isRead({ () throws(ASN1DecodingError) in _ = try CertificateRevocationList(received.span) }) {
            self = .revocationList
        } else if let timeStamp = try? Self(timeStamp: received) {
            self = timeStamp
        } else {
            return nil
        }
    }

    private static func isRead(_ read: () throws(ASN1DecodingError) -> Void) -> Bool {
        do throws(ASN1DecodingError) {
            try read()
            return true
        } catch {
            return false
        }
    }

    /// A mail begins with header fields (RFC 5322, 2.2), and a JWS with an object in base64url (RFC 7515, 3.1).
    private init?(text received: [UInt8]) {
        let fields = [
            "MIME-Version:", "Content-Type:", "Received:", "From:", "Return-Path:", "Delivered-To:", "Subject:",
        ]
        let start = received.prefix(16).map { $0 | 0x20 }
        if fields.contains(where: { field in start.starts(with: field.utf8.map { $0 | 0x20 }) }) {
            self = .mail
        } else if received.starts(with: "eyJ".utf8) {
            self = .jws
        } else {
            return nil
        }
    }

    /// `TimeStampResp` begins with `PKIStatusInfo`, whose first field is an INTEGER, and `TimeStampReq` with a version
    /// and a `MessageImprint` (RFC 3161, 2.4.1 and 2.4.2).
    private init?(timeStamp received: [UInt8]) throws(ASN1DecodingError) {
        var input = ASN1Cursor(received.span)
        var fields = try input.read(.sequence).contents
        let first = try fields.read()
        guard !fields.isAtEnd else { return nil }
        let second = try fields.read(.sequence)
        var inner = second.contents
        if first.tag == .integer {
            // The imprint: an algorithm and a digest.
            _ = try inner.read(.sequence)
            _ = try inner.read(.octetString)
            self = .timeStampQuery
        } else if first.tag == .sequence {
            var status = first.contents
            _ = try status.read(.integer)
            _ = try inner.read(.objectIdentifier)
            self = .timeStampResponse
        } else {
            return nil
        }
    }
}
