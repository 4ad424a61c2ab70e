public import AppStoreReceipt
public import SpanASN1

/// Mints App Store receipts for tests.
///
/// ```swift
/// let receipt = try ReceiptBuilder(
///     bundleID: "com.example.app",
///     purchases: [.nonConsumable("com.example.app.pro", transactionID: "1000")]
/// ).signed(by: authority)
/// ```
///
/// A new builder has what an iOS app's production receipt has. Every field can be set; `nil` leaves it out. What has no field, or is to be
/// written twice or wrong, goes into ``additionalAttributes``.
public struct ReceiptBuilder: Sendable {
    // MARK: Payload

    /// Attribute 0: `Production`, `ProductionSandbox`, …
    public var receiptType: String?
    /// Attribute 1; 0 in the sandbox.
    public var appItemID: Int64? = 1_234_567_890
    /// Attribute 2.
    public var bundleID: String?
    /// Attribute 3.
    public var applicationVersion: String? = "1.0"
    /// Attribute 4.
    public var opaqueValue: [UInt8]?
    /// Attribute 5, the hash that ties a receipt to a device; `nil` computes it from ``deviceIdentifier``.
    public var sha1Hash: [UInt8]?
    /// The bytes of the device's identifier that enter attribute 5; `nil` leaves it out.
    public var deviceIdentifier: [UInt8]? = Self.defaultDeviceIdentifier
    /// Attribute 8; `nil` writes it empty, as in the sandbox.
    public var originalCreationDate: Instant?
    /// Attribute 9.
    public var serverBuild: Int64? = 1_345_531_954
    /// Attribute 10.
    public var ageRating: String? = "4+"
    /// Attribute 11.
    public var sellerID: Int64? = 123_456_789
    /// Attribute 12, the date at which the signing certificates are judged.
    public var creationDate: Instant?
    /// Attribute 13.
    public var clientVersion: Int64? = 180_000
    /// Attribute 15; 0 in the sandbox.
    public var downloadID: Int64? = 70_000_000_000_001
    /// Attribute 16; 0 in the sandbox.
    public var versionExternalIdentifier: Int64? = 860_000_001
    /// Attribute 18.
    public var originalPurchaseDate: Instant?
    /// Attribute 19.
    public var originalApplicationVersion: String? = "1.0"
    /// Attribute 21.
    public var expirationDate: Instant?
    /// Attribute 25.
    public var platform: Int64? = 3
    /// Attribute 32.
    public var preorderDate: Instant?
    /// Attributes 17.
    public var purchases: [Purchase]
    /// Any attributes besides, in this order.
    public var additionalAttributes: [Attribute] = []
    /// Whether attributes that are known but say nothing are written as Apple writes them: 6, 7, 14 and 20, and in purchases 1709 and
    /// 1714–1718, 1722, and the dates that are `nil`.
    public var writesEmptyAttributes = true
    /// The order of the receipt's own attributes; purchases are among them.
    public var attributeOrder = AttributeOrder.der
    /// The order of the attributes in each purchase.
    public var purchaseAttributeOrder = AttributeOrder.der

    // MARK: Container

    /// What the signer signs over. Apple has used SHA-1 and, since 2023, SHA-256.
    public var digest = SigningDigest.sha256
    /// DER as Apple writes it, or BER as Xcode does.
    public var encoding = SignedDataBuilder.Encoding.der
    /// Whether the root is embedded besides leaf and intermediate, as Apple does.
    public var embedsRoot = true
    /// `nil` for none, as in all receipts known.
    public var signedAttributes: [SignedDataBuilder.SignedAttribute]?

    /// A receipt of an iOS app.
    ///
    /// - Parameters:
    ///   - bundleID: the app's bundle identifier.
    ///   - environment: what attribute 0 says; in the sandbox, Apple's numeric ids are 0.
    ///   - purchases: in the order written.
    ///   - creationDate: when the receipt was made, by default 2025-06-15T12:00:00Z. Test authorities are valid 2010–2045.
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
            (appItemID, sellerID, downloadID, versionExternalIdentifier) = (0, 0, 0, 0)
            // 2013-08-01T07:00:00Z
            originalPurchaseDate = Instant(millisecondsSince1970: 1_375_340_400_000)
        case .xcode:
            appItemID = 0
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

    /// The store that a receipt comes from; the raw value is attribute 0.
    public enum ReceiptType: String, Hashable, Sendable, CaseIterable {
        /// Bought in the App Store.
        case production = "Production"
        /// Bought with a sandbox account or in TestFlight; Apple's numeric ids are 0 then.
        case sandbox = "ProductionSandbox"
        /// A volume purchase. Known from other projects only.
        case productionVPP = "ProductionVPP"
        /// A volume purchase in the sandbox. Known from other projects only.
        case productionVPPSandbox = "ProductionVPPSandbox"
        /// StoreKit Testing: few attributes, BER; to be signed by a ``StoreKitTestingSigner``.
        case xcode = "Xcode"
    }

    /// In which order the attributes of a SET are written.
    public enum AttributeOrder: Hashable, Sendable {
        /// DER's order (X.690, 11.6), as Apple writes them. It also orders the purchases: roughly, longer ones come later.
        case der
        /// By number, purchases in the order given at 17; ``ReceiptBuilder/additionalAttributes`` last.
        case asGiven
        /// In an order that is the same each time for the same seed.
        case shuffled(seed: UInt64)
    }

    /// 2025-06-15T12:00:00Z
    public static let defaultCreationDate = Instant(millisecondsSince1970: 1_749_988_800_000)
    /// 16 bytes, as of an `identifierForVendor`.
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
    /// The receipt, signed by the authority's leaf: binary, to be sent as base64.
    ///
    /// - Throws: `algorithm-unavailable` where the host does not sign with the digest; `inexpressible-value`.
    public func signed(by authority: TestCertificateAuthority) throws(MintingError) -> [UInt8] {
        try signedData(by: authority).encoded()
    }

    /// The receipt, signed as by StoreKit Testing in Xcode.
    ///
    /// - Throws: as for an authority.
    public func signed(by signer: StoreKitTestingSigner) throws(MintingError) -> [UInt8] {
        try signedData(by: signer).encoded()
    }

    /// The container before it is signed, for changes that have no property here.
    ///
    /// - Throws: `inexpressible-value` for a date or a string that has no encoding.
    public func signedData(by authority: TestCertificateAuthority) throws(MintingError) -> SignedDataBuilder {
        var signer = SignedDataBuilder.Signer(authority.leaf, digest: digest)
        signer.signedAttributes = signedAttributes
        // Bare, as Apple writes it, there is only RSA.
        if !authority.leaf.key.isRSA { signer.signatureAlgorithm = nil }
        var builder = SignedDataBuilder(
            content: try payload(), certificates: Array(authority.certificates.prefix(embedsRoot ? 3 : 2)),
            signers: [signer])
        builder.encoding = encoding
        return builder
    }

    /// The container before it is signed, for changes that have no property here.
    ///
    /// - Throws: `inexpressible-value` for a date or a string that has no encoding.
    public func signedData(by signer: StoreKitTestingSigner) throws(MintingError) -> SignedDataBuilder {
        var info = SignedDataBuilder.Signer(signer.identity, digest: digest)
        info.signedAttributes = signedAttributes
        info.signatureAlgorithm = nil
        var builder = SignedDataBuilder(
            content: try payload(), certificates: [signer.identity.certificate], signers: [info])
        builder.encoding = encoding
        return builder
    }
}
