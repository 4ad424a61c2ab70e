import AppStoreReceipt
import SignatureTrust
import SpanASN1
import SpanPKCS7
import StrictText

/// A certificate as the page shows it.
struct CertificateFacts: Sendable {
    /// `nil` if the certificate cannot be read.
    var subject: String?
    var issuer: String?
    var validity: ClosedRange<Instant>?
    let fingerprint: Fingerprint?
    /// The names as they are encoded, by which an issuer is found.
    fileprivate var subjectName: [UInt8] = []
    fileprivate var issuerName: [UInt8] = []

    init(_ der: [UInt8]) {
        fingerprint = try? Fingerprint(of: der.span)
        guard let certificate = try? Certificate(der.span) else { return }
        subject = try? certificate.subject.distinguishedName()
        issuer = try? certificate.issuer.distinguishedName()
        validity = try? certificate.validity()
        subjectName = [UInt8](copying: certificate.subject.encoded)
        issuerName = [UInt8](copying: certificate.issuer.encoded)
    }

    /// The common name, or the whole name.
    var commonName: String? {
        guard let subject else { return nil }
        let name = subject.utf8.split(separator: UInt8(ascii: ",")).first { $0.starts(with: "CN=".utf8) }
        return name.map { String(decoding: $0.dropFirst(3), as: UTF8.self) } ?? subject
    }
}

extension ReportPiece {
    /// The certificates that came with the evidence, in its order; empty if they cannot be read.
    func embeddedCertificates() -> [[UInt8]] {
        UnverifiedEvidence.certificates(in: ReceivedEvidence(bytes, VerificationLimits()), bytes.span)
    }

    /// The certificates from the root to the signer that the verifier found; `nil` if one of them is missing.
    ///
    /// The verification names the signer and the root by their fingerprints. The certificates between them are found by
    /// the names of issuers.
    func verifiedChain(_ trust: AppStoreTrust) -> [CertificateFacts]? {
        guard let verification else { return nil }
        let anchors: [TrustAnchor] =
            switch trust.base {
            case .roots(let anchors), .storeKitTesting(let anchors): anchors
            case .apple: TrustAnchor.appleRoots
            }
        let known = (embeddedCertificates() + trust.transactionReceiptIssuers.map(\.der) + anchors.map(\.der))
            .map(CertificateFacts.init)
        guard var last = known.first(where: { $0.fingerprint == verification.signer }) else { return nil }
        var chain = [last]
        while last.fingerprint != verification.anchor {
            // Several versions of a root can have the same name: the trusted one counts.
            let issuers = known.filter { !$0.subjectName.isEmpty && $0.subjectName == last.issuerName }
            guard let issuer = issuers.first(where: { $0.fingerprint == verification.anchor }) ?? issuers.first,
                chain.count < 6, !chain.contains(where: { $0.fingerprint == issuer.fingerprint })
            else { return nil }
            chain.append(issuer)
            last = issuer
        }
        return chain.reversed()
    }
}
