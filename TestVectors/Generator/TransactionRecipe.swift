import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import SignatureTrust
import StrictText

/// One change on the way from keys to a transaction receipt. Changes are applied in the order of the way, whatever
/// their order in the recipe.
enum TransactionStep: Sendable {
    /// To the version, at first 4.
    case version(TransactionReceipt.Version)
    /// To the certificates before they are issued.
    case shape(@Sendable (inout TestCertificateAuthority.Shape) -> Void)
    /// To the keys of the chain.
    case keys(@Sendable (inout ChainKeys) -> Void)
    /// To the contents.
    case builder(@Sendable (inout TransactionReceiptBuilder) -> Void)
    /// To the text of `purchase-info`, before it is signed.
    case info(@Sendable (inout String) throws -> Void)
    /// Another digest algorithm than the version's.
    case digest(SignatureDigest)
    /// To the bytes of `purchase-info`, after it is signed.
    case signedInfo(@Sendable (inout [UInt8]) -> Void)
    /// To the signature with its certificate.
    case blob(@Sendable (inout [UInt8], TestCertificateAuthority) throws -> Void)
    /// To the outer property list.
    case list(@Sendable (inout String) throws -> Void)
    /// To the bytes as they are sent.
    case sent(@Sendable (inout [UInt8]) -> Void)
    /// To the verifier.
    case verifier(@Sendable (inout VerifierOptions) -> Void)
}

enum RecipeFault: Error { case notFound(String) }

extension Forge {
    /// The authority that signs a version.
    func transactionAuthority(
        _ version: TransactionReceipt.Version, _ keys: ChainKeys? = nil,
        _ change: (inout TestCertificateAuthority.Shape) -> Void = { _ in }
    ) throws -> TestCertificateAuthority {
        var shape: TestCertificateAuthority.Shape =
            version == .version2 ? .transactionReceiptsOfVersion2 : TestCertificateAuthority.Shape()
        change(&shape)
        let keys = keys ?? Self.transactionKeys(version)
        return try TestCertificateAuthority(
            shape, rootKey: key(.root), intermediateKey: key(keys.intermediate), leafKey: key(keys.leaf))
    }

    static func transactionKeys(_ version: TransactionReceipt.Version) -> ChainKeys {
        ChainKeys(root: .root, intermediate: .intermediate, leaf: version == .version2 ? .rsa1024 : .leaf)
    }

    func options(_ steps: [TransactionStep]) -> VerifierOptions {
        var options = VerifierOptions()
        options.issuers = ["itunes-store.der", "intermediate.der"]
        options.allowsRSA1024 = true
        for case .verifier(let change) in steps { change(&options) }
        return options
    }

    func transactionReceipt(_ steps: [TransactionStep]) throws -> [UInt8] {
        var version = TransactionReceipt.Version.version4
        for case .version(let other) in steps { version = other }
        var keys = Self.transactionKeys(version)
        for case .keys(let change) in steps { change(&keys) }
        let authority = try transactionAuthority(version, keys) { shape in
            for case .shape(let change) in steps { change(&shape) }
        }
        var builder = TransactionReceiptBuilder(
            bundleID: VerifierOptions.bundleID, productID: "pro", transactionID: "10000000000001", version: version)
        for case .builder(let change) in steps { change(&builder) }
        var text = String(decoding: builder.purchaseInfo(), as: UTF8.self)
        for case .info(let change) in steps { try change(&text) }
        var info = Array(text.utf8)
        var digest: SignatureDigest?
        for case .digest(let other) in steps { digest = other }
        // By hand, because a key of another size makes a signature that the builder refuses.
        let signature = try authority.leaf.key.sign(
            [UInt8(version.rawValue)] + info, digest: digest ?? (version == .version4 ? .sha256 : .sha1))
        let byteCount = version == .version2 ? 128 : 256
        let fitting = (signature + [UInt8](repeating: 0, count: byteCount)).prefix(byteCount)
        var blob = TransactionReceiptBuilder.signatureBlob(
            version: UInt8(version.rawValue), signature: Array(fitting), certificate: authority.leaf.certificate)
        for case .signedInfo(let change) in steps { change(&info) }
        for case .blob(let change) in steps { try change(&blob, authority) }
        var list = String(decoding: builder.propertyList(purchaseInfo: info, signature: blob), as: UTF8.self)
        for case .list(let change) in steps { try change(&list) }
        var sent = Array(list.utf8)
        for case .sent(let change) in steps { change(&sent) }
        return sent
    }
}

extension TransactionStep {
    static func replacing(_ old: String, with new: String) -> @Sendable (inout String) throws -> Void {
        { text in
            guard text.contains(old) else { throw RecipeFault.notFound(old) }
            text = text.replacing(old, with: new, maxReplacements: 1)
        }
    }

    /// Replaces a part of `purchase-info` before it is signed.
    static func info(_ old: String, _ new: String) -> TransactionStep { .info(replacing(old, with: new)) }
    /// Replaces a part of the outer list.
    static func list(_ old: String, _ new: String) -> TransactionStep { .list(replacing(old, with: new)) }

    static func leaf(_ change: @escaping @Sendable (inout CertificateSpecification) -> Void) -> TransactionStep {
        .shape { change(&$0.leaf) }
    }

    static let inBase64 = TransactionStep.sent { $0 = Array(Base64.encode($0.span).utf8) }
    static let subscription = TransactionStep.builder {
        $0.expiresDate = ReceiptBuilder.defaultCreationDate + .seconds(30 * 86_400)
        ($0.isTrialPeriod, $0.isInIntroOfferPeriod) = (false, false)
        $0.webOrderLineItemID = "70000000000001"
    }
}
