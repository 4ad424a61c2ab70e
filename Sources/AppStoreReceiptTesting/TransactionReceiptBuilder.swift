public import AppStoreReceipt
public import SignatureTrust
import SpanASN1
import StrictText

/// A builder that mints transaction receipts of iOS 3 to 6 for tests: the `transactionReceipt` of a
/// `SKPaymentTransaction`.
///
/// ```swift
/// let authority = try TestCertificateAuthority()
/// let verifier = try AppStoreVerifier(
///     bundleID: "com.example.app", environments: [.production], trust: authority.transactionReceiptTrust)
/// let receipt = try TransactionReceiptBuilder(
///     bundleID: "com.example.app", productID: "com.example.app.pro", transactionID: "10000000000001"
/// ).signed(by: authority)
/// ```
///
/// A new builder has the fields of a production purchase other than a subscription. You can set every field; `nil`
/// omits it. For anything else, change the bytes of ``purchaseInfo()``, and sign them with
/// ``signatureBlob(over:by:digest:)``.
public struct TransactionReceiptBuilder: Sendable {
    /// A key and its value. Both are written as they are: a quotation mark or a backslash makes a malformed property
    /// list.
    package struct Value: Sendable {
        package var key: String
        package var value: String

        package init(_ key: String, _ value: String) {
            self.key = key
            self.value = value
        }
    }

    /// The version of the signature. A test authority of the default shape signs versions 3 and 4. For version 2, see
    /// ``TestCertificateAuthority/Shape/transactionReceiptsOfVersion2``.
    public var version: TransactionReceipt.Version
    /// The app's bundle id (`bid`).
    public var bundleID: String?
    /// The app's version (`bvrs`).
    public var applicationVersion: String? = "1.0"
    /// The quantity.
    public var quantity: Int? = 1
    /// The product's identifier.
    public var productID: String?
    /// Apple's id of the product.
    public var itemID: String? = "500000001"
    /// The transaction id. It decides the environment: see `TransactionReceipt.inferredEnvironment`.
    public var transactionID: String?
    /// The original transaction id.
    public var originalTransactionID: String?
    /// The date the product was bought, at which the signer's certificates are validated.
    public var purchaseDate: Instant?
    /// The date of the first transaction.
    public var originalPurchaseDate: Instant?
    /// The date this period of a subscription ends.
    public var expiresDate: Instant?
    /// The identifier of this period of a subscription.
    public var webOrderLineItemID: String?
    /// The identifier of the subscription group.
    public var subscriptionGroupID: String?
    /// Whether this period of a subscription is a free trial.
    public var isTrialPeriod: Bool?
    /// Whether this period of a subscription has an introductory price.
    public var isInIntroOfferPeriod: Bool?
    /// Whether the customer bought the product or a family member shares it.
    public var ownershipType: OwnershipType?
    /// The app's Apple id.
    public var appItemID: String?
    /// Apple's id of the app's version.
    public var versionExternalIdentifier: String?
    /// The identifier of the device.
    public var uniqueIdentifier: String? = "00008020-0000000000000001"
    /// The `identifierForVendor` of the device.
    public var uniqueVendorIdentifier: String?
    /// Additional values, which are written last, even if their keys repeat.
    package var additionalValues: [Value] = []

    /// The environment that is not signed: `Sandbox`, or `nil` in production.
    public var unsignedEnvironment: String?
    /// The `pod`, which is not signed: `100` in the sandbox.
    public var pod: String? = "7"
    /// The `signing-status`, which is not signed.
    public var signingStatus: String? = "0"

    /// Creates a builder for one purchase.
    ///
    /// - Parameters:
    ///   - bundleID: The app's bundle id.
    ///   - productID: The product's identifier.
    ///   - transactionID: The transaction id, with 14 or 15 digits for production, and 16 from `1000000` or `2000000`
    ///     on for the sandbox.
    ///   - originalTransactionID: The original transaction id; `nil` for the transaction id.
    ///   - purchaseDate: The purchase date; by default 2025-06-15T12:00:00Z. Test authorities are valid from 2010 to
    ///     2045.
    ///   - version: The version of the signature.
    public init(
        bundleID: String, productID: String, transactionID: String, originalTransactionID: String? = nil,
        purchaseDate: Instant = ReceiptBuilder.defaultCreationDate, version: TransactionReceipt.Version = .version4
    ) {
        self.version = version
        self.bundleID = bundleID
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID ?? transactionID
        self.purchaseDate = purchaseDate
        originalPurchaseDate = purchaseDate
    }
}

// MARK: - What is signed

extension TransactionReceiptBuilder {
    /// The keys and values of `purchase-info`, in the order in which they are written.
    package var values: [Value] {
        var values: [Value] = []
        func add(_ key: TransactionReceiptKey, _ value: String?) {
            if let value { values.append(Value(key.rawValue, value)) }
        }
        func add(
            _ gmt: TransactionReceiptKey, _ milliseconds: TransactionReceiptKey, _ pacific: TransactionReceiptKey,
            _ date: Instant?
        ) {
            guard let date else { return }
            add(pacific, date.pacificText + " America/Los_Angeles")
            add(milliseconds, String(date.millisecondsSince1970))
            add(gmt, date.gmtText + " Etc/GMT")
        }
        add(.originalPurchaseDate, .originalPurchaseDateMS, .originalPurchaseDatePST, originalPurchaseDate)
        add(.purchaseDate, .purchaseDateMS, .purchaseDatePST, purchaseDate)
        add(.expiresDateFormatted, .expiresDate, .expiresDateFormattedPST, expiresDate)
        add(.uniqueIdentifier, uniqueIdentifier)
        add(.uniqueVendorIdentifier, uniqueVendorIdentifier)
        add(.originalTransactionID, originalTransactionID)
        add(.transactionID, transactionID)
        add(.webOrderLineItemID, webOrderLineItemID)
        add(.subscriptionGroupID, subscriptionGroupID)
        add(.isTrialPeriod, isTrialPeriod.map { String($0) })
        add(.isInIntroOfferPeriod, isInIntroOfferPeriod.map { String($0) })
        add(.ownershipType, ownershipType?.rawValue)
        add(.appItemID, appItemID)
        add(.versionExternalIdentifier, versionExternalIdentifier)
        add(.itemID, itemID)
        add(.productID, productID)
        add(.quantity, quantity.map { String($0) })
        add(.bundleID, bundleID)
        add(.applicationVersion, applicationVersion)
        return values + additionalValues
    }

    /// Returns a property list as Apple writes it.
    package static func propertyList(_ values: [Value]) -> [UInt8] {
        Array(("{\n" + values.map { "\t\"\($0.key)\" = \"\($0.value)\";\n" }.joined() + "}").utf8)
    }

    /// Returns the property list that is signed.
    public func purchaseInfo() -> [UInt8] { Self.propertyList(values) }
}

// MARK: - Signing

extension TransactionReceiptBuilder {
    /// Returns the transaction receipt, signed by the leaf of an authority, as a property list.
    ///
    /// - Parameter authority: The authority, whose leaf must have an RSA key of the size that ``version`` requires.
    /// - Throws: `unsuitable-key` for another key; `algorithm-unavailable` if the host does not sign with the digest
    ///   algorithm.
    public func signed(by authority: TestCertificateAuthority) throws(MintingError) -> [UInt8] {
        let info = purchaseInfo()
        return propertyList(purchaseInfo: info, signature: try signatureBlob(over: info, by: authority.leaf))
    }

    /// Returns the base64 of the transaction receipt, as apps send it.
    ///
    /// - Parameter authority: The authority, as for ``signed(by:)``.
    public func signedBase64(by authority: TestCertificateAuthority) throws(MintingError) -> String {
        let receipt = try signed(by: authority)
        return Base64.encode(receipt.span)
    }

    /// Returns the bytes for the key `signature`: the version, the signature over the version and `purchaseInfo`, and
    /// the signer's certificate with its length.
    ///
    /// - Parameters:
    ///   - purchaseInfo: The bytes to sign, which need not be a property list.
    ///   - signer: The signer.
    ///   - digest: The digest algorithm; `nil` for that of ``version``.
    /// - Throws: `unsuitable-key` for a key that is not RSA of the size of ``version``; `algorithm-unavailable`.
    public func signatureBlob(
        over purchaseInfo: [UInt8], by signer: SigningIdentity, digest: SignatureDigest? = nil
    ) throws(MintingError) -> [UInt8] {
        let version = UInt8(self.version.rawValue)
        let digest = digest ?? (self.version == .version4 ? .sha256 : .sha1)
        guard signer.key.isRSA else { throw .unsuitableKey }
        let signature = try signer.key.sign([version] + purchaseInfo, digest: digest)
        guard signature.count == (self.version == .version2 ? 128 : 256) else { throw .unsuitableKey }
        return Self.signatureBlob(version: version, signature: signature, certificate: signer.certificate)
    }

    /// Returns the bytes for the key `signature` from its unchecked parts.
    public static func signatureBlob(version: UInt8, signature: [UInt8], certificate: [UInt8]) -> [UInt8] {
        let count = UInt32(truncatingIfNeeded: certificate.count)
        let length = stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: count >> UInt32($0)) }
        return [version] + signature + length + certificate
    }

    /// Returns the outer property list with the values that are not signed.
    ///
    /// - Parameters:
    ///   - purchaseInfo: The bytes for the key `purchase-info`.
    ///   - signature: The bytes for the key `signature`.
    public func propertyList(purchaseInfo: [UInt8], signature: [UInt8]) -> [UInt8] {
        var values = [
            Value(TransactionReceiptKey.signature.rawValue, Base64.encode(signature.span)),
            Value(TransactionReceiptKey.purchaseInfo.rawValue, Base64.encode(purchaseInfo.span)),
        ]
        if let unsignedEnvironment { values.append(Value("environment", unsignedEnvironment)) }
        if let pod { values.append(Value("pod", pod)) }
        if let signingStatus { values.append(Value("signing-status", signingStatus)) }
        return Self.propertyList(values)
    }
}

// MARK: - Who signs

extension TestCertificateAuthority.Shape {
    /// The shape of the chain that signed transaction receipts of version 2: an RSA-1024 leaf under the intermediate of
    /// the iTunes Store.
    public static var transactionReceiptsOfVersion2: TestCertificateAuthority.Shape {
        var shape = TestCertificateAuthority.Shape(digest: .sha1)
        shape.intermediate.subject = DistinguishedName(
            .country("US"), .organization("Test Inc."), .organizationalUnit("Test Certification Authority"),
            .commonName("Test iTunes Store Certification Authority"))
        shape.intermediate.replaceExtension(.iTunesStoreMarker)
        shape.intermediate.removeExtensions(.worldwideDeveloperRelationsMarker)
        shape.leaf.subject = DistinguishedName(
            .country("US"), .organization("Test Inc."), .organizationalUnit("Test iTunes Store"),
            .commonName("Test PurchaseReceiptCertificate"))
        shape.leaf.keyKind = .rsa(bits: 1024)
        shape.leaf.removeExtensions(.receiptSigningMarker)
        shape.leaf.replaceExtension(.purchaseReceiptMarker)
        return shape
    }
}

extension TestCertificateAuthority {
    /// The intermediate, for the versions of transaction receipts whose marker extension it has.
    ///
    /// - Throws: `malformed-certificate` if the certificate is deliberately malformed.
    public var transactionReceiptIssuer: TransactionReceiptIssuer {
        get throws(MintingError) {
            try MintingError.reading { () throws(ASN1DecodingError) in
                try TransactionReceiptIssuer(der: intermediate.certificate)
            }
        }
    }

    /// The root and the intermediate, for a verifier of transaction receipts, which do not contain their intermediate.
    public var transactionReceiptTrust: AppStoreTrust {
        get throws(MintingError) {
            // In steps: the compiler (Swift 6.3.1) crashes on array literals whose elements throw.
            let issuer = try transactionReceiptIssuer
            let anchor = try trustAnchor
            return .roots([anchor]).adding([issuer])
        }
    }
}
