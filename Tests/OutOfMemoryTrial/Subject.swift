import AppStoreReceipt
import AppStoreReceiptTesting
import CMSTrust
import SignatureTrust
import SpanASN1
import TestSupport

/// Why genuine evidence was refused.
struct Refusal {
    let code: String
    let isOfHost: Bool

    init(_ error: VerificationError) {
        code = error.code.rawValue
        isOfHost = error.isHostFault
    }

    init(_ error: CMSVerificationError) {
        code = error.code.rawValue
        isOfHost = error.isHostFault
    }
}

/// What is verified while memory runs out. The evidence is that of `TestVectors`.
enum Subject: String, CaseIterable {
    case configuration
    case configurationForMessages = "configuration-for-messages"
    case receipt
    case receiptOfKnownSigner = "receipt-of-a-known-signer"
    case jws
    case jwsOfKnownSigner = "jws-of-a-known-signer"
    case transactionReceipt = "transaction-receipt"
    case message
    case messageWithPolicies = "message-with-policies"

    var isConfiguration: Bool { self == .configuration || self == .configurationForMessages }

    /// Reads the inputs; returns the operation to try.
    func prepared() throws -> () -> Refusal? {
        switch self {
        case .configuration: return Self.configuration
        case .configurationForMessages:
            let policy = try Self.messagePolicy()
            return { Self.configuration(for: policy) }
        case .receipt, .receiptOfKnownSigner:
            let verifier = try Self.verifier(roots: ["root.der"])
            let receipt = try Project.bytes("TestVectors/receipts/1-purchase.der")
            return try known(self == .receiptOfKnownSigner) { () throws(VerificationError) in
                _ = try verifier.verifyReceipt(receipt)
            }
        case .jws, .jwsOfKnownSigner:
            let verifier = try Self.verifier(roots: ["ec-root.der"])
            let text = try Project.text("TestVectors/jws/notification.jws")
            return try known(self == .jwsOfKnownSigner) { () throws(VerificationError) in _ = try verifier.verify(text)
            }
        case .transactionReceipt:
            let verifier = try Self.verifier(roots: ["root.der"], issuers: ["itunes-store.der", "intermediate.der"])
            let text = try Project.text("TestVectors/transaction-receipts/version-3.txt")
            return try known(false) { () throws(VerificationError) in _ = try verifier.verify(text) }
        case .message:
            guard let date = Instant(rfc3339: "2025-06-15T12:00:00Z") else { throw Fault.unreadable }
            return try Self.verification(of: Project.bytes("TestVectors/cms/list.der"), Self.messagePolicy(), at: date)
        case .messageWithPolicies:
            // Minted here, so libcrypto has been used before.
            let oneTwoThree: [UInt8] = [0x2A, 0x03]
            let policies = CertificateSpecification.Extension(
                ASN1ObjectIdentifier(content: [0x55, 0x1D, 32]), .bytes(tlv(0x30, tlv(0x30, tlv(0x06, oneTwoThree)))))
            var shape = TestCertificateAuthority.Shape.ellipticCurve
            shape.intermediate.extensions.append(policies)
            shape.leaf.extensions.append(policies)
            let authority = try TestCertificateAuthority(shape)
            var policy = CMSPolicy(anchors: [try authority.trustAnchor])
            policy.certificatePolicies = [ASN1ObjectIdentifier(content: oneTwoThree)]
            var signer = SignedDataBuilder.Signer(authority.leaf, digest: .sha256)
            signer.signatureAlgorithm = nil
            signer.signedAttributes = [.contentType(nil), .messageDigest(nil)]
            let message = try SignedDataBuilder(
                content: [1, 2, 3], certificates: authority.certificates, signers: [signer]
            ).encoded()
            return try Self.verification(of: message, policy, at: Instant(millisecondsSince1970: 1_780_000_000_000))
        }
    }

    private static func verification(
        of message: [UInt8], _ policy: CMSPolicy, at date: Instant
    ) throws -> () -> Refusal? {
        let verifier = try CMSVerifier(policy: policy)
        return {
            do throws(CMSVerificationError) {
                _ = try verifier.verify(message, at: date)
                return nil
            } catch {
                return Refusal(error)
            }
        }
    }

    enum Fault: Error { case unreadable, refused(String) }

    /// - Parameter isKnown: whether the verifier has seen the signer before.
    private func known(
        _ isKnown: Bool, _ body: @escaping () throws(VerificationError) -> Void
    ) throws -> () -> Refusal? {
        let work = { () -> Refusal? in
            do throws(VerificationError) {
                try body()
                return nil
            } catch {
                return Refusal(error)
            }
        }
        if isKnown, let refusal = work() { throw Fault.refused(refusal.code) }
        return work
    }

    /// What every service does when it starts.
    private static func configuration() -> Refusal? {
        do throws(VerificationError) {
            _ = try AppStoreVerifier(bundleID: Minted.bundleID, environments: [.production])
            return nil
        } catch {
            return Refusal(error)
        }
    }

    private static func configuration(for policy: CMSPolicy) -> Refusal? {
        do throws(CMSVerificationError) {
            _ = try CMSVerifier(policy: policy)
            return nil
        } catch {
            return Refusal(error)
        }
    }

    private static func verifier(roots: [String], issuers: [String] = []) throws -> AppStoreVerifier {
        let trust = AppStoreTrust.roots(try roots.map { try TrustAnchor(der: authority($0)) })
        let added = try issuers.map { try TransactionReceiptIssuer(der: authority($0)) }
        return try AppStoreVerifier(
            bundleID: Minted.bundleID, environments: [.production],
            trust: added.isEmpty ? trust : trust.adding(added))
    }

    private static func messagePolicy() throws -> CMSPolicy {
        var policy = CMSPolicy(anchors: [try TrustAnchor(der: authority("root.der"))])
        policy.revocationLists = [try Project.bytes("TestVectors/cms/base.crl")]
        policy.revocation = .signer
        return policy
    }

    private static func authority(_ name: String) throws -> [UInt8] {
        try Project.bytes("TestVectors/authority/\(name)")
    }
}
