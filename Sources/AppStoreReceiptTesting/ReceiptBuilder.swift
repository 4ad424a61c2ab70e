public import AppStoreReceipt
public import SignatureTrust
import StrictText

/// A builder that mints App Store receipts for tests.
///
/// ```swift
/// let receipt = try ReceiptBuilder(
///     bundleID: "com.example.app",
///     purchases: [.nonConsumable("com.example.app.pro", transactionID: "1000")]
/// ).signed(by: authority)
/// ```
///
/// A new builder has the fields of an iOS app's production receipt. You can set every field; `nil` omits it. To write
/// attributes without a field, or repeated or malformed attributes, use ``additionalAttributes``. The numbers in
/// brackets are attribute types.
public struct ReceiptBuilder: Sendable {
    // MARK: Payload

    /// The receipt's type, such as `Production` or `ProductionSandbox` [0].
    public var receiptType: String?
    /// The app's Apple id [1]; 0 in the sandbox.
    public var appItemID: String? = "1234567890"
    /// The app's bundle id [2].
    public var bundleID: String?
    /// The app's version [3].
    public var applicationVersion: String? = "1.0"
    /// The opaque value, which is part of the device hash [4].
    public var opaqueValue: [UInt8]?
    /// The device hash [5]; `nil` to compute it from ``deviceIdentifier``.
    public var sha1Hash: [UInt8]?
    /// The device identifier for the device hash [5]; `nil` to omit the hash.
    public var deviceIdentifier: [UInt8]? = Self.defaultDeviceIdentifier
    /// The date the original receipt was created [8]; `nil` to write it empty, as in the sandbox.
    public var originalCreationDate: Instant?
    /// The version of Apple's server [9].
    public var serverBuild: Int64? = 1_345_531_954
    /// The age rating [10].
    public var ageRating: String? = "4+"
    /// The seller's id [11].
    public var sellerID: String? = "123456789"
    /// The date the receipt was created [12], at which the signer's certificates are validated.
    public var creationDate: Instant?
    /// The system version of the device [13].
    public var clientVersion: Int64? = 180_000
    /// Apple's id of the download [15]; 0 in the sandbox.
    public var downloadID: String? = "70000000000001"
    /// Apple's id of the app's version [16]; 0 in the sandbox.
    public var versionExternalIdentifier: String? = "860000001"
    /// The date the app was first bought [18].
    public var originalPurchaseDate: Instant?
    /// The app's version when it was first bought [19].
    public var originalApplicationVersion: String? = "1.0"
    /// The date the receipt expires [21].
    public var expirationDate: Instant?
    /// The platform: 2 for a Mac, 3 for iOS [25].
    public var platform: Int64? = 3
    /// The date the app was pre-ordered [32].
    public var preorderDate: Instant?
    /// The purchases [17].
    public var purchases: [Purchase]
    /// Additional attributes, in this order.
    public var additionalAttributes: [ReceiptAttribute] = []
    /// A Boolean value that indicates whether to write the attributes that Apple writes without information.
    ///
    /// They are 6, 7, 14 and 20, and in purchases 1709, 1714–1718, 1722 and the dates that are `nil`.
    public var writesEmptyAttributes = true
    /// The order of the receipt's attributes, including its purchases.
    package var attributeOrder = AttributeOrder.der
    /// The order of the attributes in each purchase.
    package var purchaseAttributeOrder = AttributeOrder.der

    /// Writes the attributes of each purchase in a random order, which is the same for the same seed.
    @_spi(Surfaces) public mutating func shufflePurchaseAttributes(seed: UInt64) {
        purchaseAttributeOrder = .shuffled(seed: seed)
    }

    // MARK: Container

    /// The digest algorithm of the signature. Apple has used SHA-1 and, since 2023, SHA-256.
    public var digest = SignatureDigest.sha256
    /// The encoding: DER, as Apple writes it, or BER, as Xcode does.
    package var encoding = SignedDataBuilder.Encoding.der
    /// A Boolean value that indicates whether to embed the root besides the leaf and the intermediate, as Apple does.
    public var embedsRoot = true
    /// The signed attributes; `nil` for none, as in all known receipts.
    package var signedAttributes: [SignedDataBuilder.SignedAttribute]?

    /// Creates a builder for the receipt of an iOS app.
    ///
    /// - Parameters:
    ///   - bundleID: The app's bundle id.
    ///   - environment: The receipt's type. In the sandbox, Apple's numeric ids are 0.
    ///   - purchases: The purchases.
    ///   - creationDate: The date the receipt was created; by default 2025-06-15T12:00:00Z. Test authorities are valid
    ///     from 2010 to 2045.
    public init(
        bundleID: String, environment: ReceiptType = .production, purchases: [Purchase] = [],
        creationDate: Instant = Self.defaultCreationDate
    ) {
        self.bundleID = bundleID
        self.purchases = purchases
        self.creationDate = creationDate
        receiptType = environment.rawValue
        opaqueValue = Array(Self.filler.prefix(16))
        switch environment {
        case .production, .productionVPP:
            originalCreationDate = creationDate
            originalPurchaseDate = Instant(millisecondsSince1970: 1_700_000_000_000)
        case .sandbox, .productionVPPSandbox:
            (appItemID, sellerID, downloadID, versionExternalIdentifier) = ("0", "0", "0", "0")
            // 2013-08-01T07:00:00Z
            originalPurchaseDate = Instant(millisecondsSince1970: 1_375_340_400_000)
        case .xcode:
            appItemID = "0"
            opaqueValue = Array(Self.filler.prefix(8))
            (serverBuild, ageRating, sellerID, clientVersion, downloadID) = (nil, nil, nil, nil, nil)
            (versionExternalIdentifier, originalApplicationVersion, platform) = (nil, nil, nil)
            // 4001-01-01T00:00:00Z
            expirationDate = Instant(millisecondsSince1970: 64_092_211_200_000)
            writesEmptyAttributes = false
            (attributeOrder, purchaseAttributeOrder) = (.asGiven, .asGiven)
            encoding = .ber()
        }
    }

    /// The types of receipts. The raw values are those of attribute 0.
    @nonexhaustive
    public enum ReceiptType: String, Hashable, Sendable, CaseIterable {
        /// A receipt from the App Store.
        case production = "Production"
        /// A receipt from the sandbox or TestFlight. Apple's numeric ids are 0.
        case sandbox = "ProductionSandbox"
        /// A receipt of a volume purchase. It is known from other projects only.
        case productionVPP = "ProductionVPP"
        /// A receipt of a volume purchase in the sandbox. It is known from other projects only.
        case productionVPPSandbox = "ProductionVPPSandbox"
        /// A receipt from StoreKit Testing, with few attributes and in BER. Sign it with a ``StoreKitTestingSigner``.
        case xcode = "Xcode"
    }

    /// The orders of the attributes of a SET.
    package enum AttributeOrder: Hashable, Sendable {
        /// The order of DER (X.690, 11.6), as Apple writes them. It also orders the purchases: longer purchases
        /// generally come later.
        case der
        /// By number, with the purchases in their order at 17, and ``ReceiptBuilder/additionalAttributes`` last.
        case asGiven
        /// A random order, which is the same for the same seed.
        case shuffled(seed: UInt64)
    }

    /// The default creation date, 2025-06-15T12:00:00Z.
    public static let defaultCreationDate = Instant(millisecondsSince1970: 1_749_988_800_000)
    /// The default device identifier, which has 16 bytes like an `identifierForVendor`.
    public static let defaultDeviceIdentifier: [UInt8] = [
        0x54, 0x45, 0x53, 0x54, 0xDE, 0xF1, 0x4C, 0xE0, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
    ]
    /// Bytes for opaque attributes.
    static let filler: [UInt8] = {
        var generator = SeededGenerator(seed: 2013)
        return (0..<96).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }()
}

extension ReceiptBuilder {
    /// Returns the binary receipt, signed by the leaf of an authority.
    ///
    /// - Parameter authority: The authority.
    /// - Throws: `algorithm-unavailable` if the host does not sign with the digest algorithm; `inexpressible-value`.
    public func signed(by authority: TestCertificateAuthority) throws(MintingError) -> [UInt8] {
        try signedData(by: authority).encoded()
    }

    /// Returns the base64 of the receipt, as apps send it.
    ///
    /// - Parameter authority: The authority.
    /// - Throws: `algorithm-unavailable` if the host does not sign with the digest algorithm; `inexpressible-value`.
    public func signedBase64(by authority: TestCertificateAuthority) throws(MintingError) -> String {
        let receipt = try signed(by: authority)
        return Base64.encode(receipt.span)
    }

    /// Returns the binary receipt, signed as by StoreKit Testing in Xcode.
    ///
    /// - Parameter signer: The signer.
    /// - Throws: `algorithm-unavailable` if the host does not sign with the digest algorithm; `inexpressible-value`.
    public func signed(by signer: StoreKitTestingSigner) throws(MintingError) -> [UInt8] {
        try signedData(by: signer).encoded()
    }

    /// Returns the container before it is signed, for changes for which this builder has no property.
    ///
    /// - Throws: `inexpressible-value` for a date or a string that has no encoding.
    package func signedData(by authority: TestCertificateAuthority) throws(MintingError) -> SignedDataBuilder {
        var signer = SignedDataBuilder.Signer(authority.leaf, digest: digest)
        signer.signedAttributes = signedAttributes
        // Only RSA has an identifier without digest.
        if !authority.leaf.key.isRSA { signer.signatureAlgorithm = nil }
        var builder = SignedDataBuilder(
            content: try payload(), certificates: Array(authority.certificates.prefix(embedsRoot ? 3 : 2)),
            signers: [signer])
        builder.encoding = encoding
        return builder
    }

    /// Returns the container before it is signed, for changes for which this builder has no property.
    ///
    /// - Throws: `inexpressible-value` for a date or a string that has no encoding.
    package func signedData(by signer: StoreKitTestingSigner) throws(MintingError) -> SignedDataBuilder {
        var info = SignedDataBuilder.Signer(signer.identity, digest: digest)
        info.signedAttributes = signedAttributes
        info.signatureAlgorithm = nil
        var builder = SignedDataBuilder(
            content: try payload(), certificates: [signer.identity.certificate], signers: [info])
        builder.encoding = encoding
        return builder
    }
}
