public import AppStoreReceipt
import SpanASN1
@_spi(Surfaces) import SpanPKCS7
import StrictText

/// A builder that mints a JWS for tests: a transaction, renewal information, an app transaction or a notification.
///
/// ```swift
/// let authority = try TestCertificateAuthority(.ellipticCurve)
/// let jws = try JWSBuilder.transaction(bundleID: "com.example.app", productID: "pro", transactionID: "1000")
///     .signed(by: authority)
/// let verifier = try AppStoreVerifier(
///     bundleID: "com.example.app", environments: [.production], trust: .roots([authority.trustAnchor]))
/// ```
///
/// You can set every part, also to wrong values.
public struct JWSBuilder: Hashable, Sendable {
    /// The payload to sign. You can set any member, as in `builder.payload["price"] = 1990`. The usual members are
    /// properties of the builder.
    public var payload: JSONValue
    /// The `alg` of the header; `nil` for none. The signature is always ECDSA with SHA-256.
    public var algorithm: String? = "ES256"
    /// The `x5c` of the header; `nil` for the signer's certificates, and an empty array for none.
    public var certificates: [[UInt8]]?
    /// Additional members of the header, after `alg` and `x5c`.
    public var additionalHeaderMembers: [JSONValue.Member] = []

    /// Creates a builder for any payload. For the payloads that Apple signs, use the static methods.
    public init(payload: JSONValue) { self.payload = payload }

    // MARK: Signing

    /// Returns the JWS in its compact serialization, with the certificates that Apple writes into the header: leaf,
    /// intermediate and root.
    public func signed(by authority: TestCertificateAuthority) throws(MintingError) -> String {
        try signed(certificates: authority.certificates, key: authority.leaf.key)
    }

    /// Returns the body that Apple's server posts, `{"signedPayload":"…"}`.
    public func signedPayload(by authority: TestCertificateAuthority) throws(MintingError) -> String {
        "{\"signedPayload\":\"\(try signed(by: authority))\"}"
    }

    /// Returns the JWS in its compact serialization, with one certificate in the header, as Xcode writes it.
    public func signed(by signer: StoreKitTestingSigner) throws(MintingError) -> String {
        var builder = self
        builder.additionalHeaderMembers += [.init("kid", "Apple_Xcode_Key"), .init("typ", "JWT")]
        return try builder.signed(certificates: [signer.identity.certificate], key: signer.identity.key)
    }

    /// Returns the JWS in its compact serialization, with any certificates and key.
    ///
    /// - Parameters:
    ///   - certificates: The certificates for the header (DER).
    ///   - key: The key that signs.
    /// - Throws: `unsuitable-key` for a key that is not on P-256.
    public func signed(certificates: [[UInt8]], key: SigningKey) throws(MintingError) -> String {
        let input = signingInput(certificates: certificates)
        return input + "." + Self.base64URL(try Self.signature(of: Array(input.utf8), key: key))
    }

    /// Returns the bytes that the signature covers: the header, a dot and the payload.
    public func signingInput(certificates: [[UInt8]]) -> String {
        var header = JSONValue.object([])
        if let algorithm { header.append("alg", .string(algorithm)) }
        let chain = self.certificates ?? certificates
        if !chain.isEmpty { header.append("x5c", .array(chain.map { .string(Base64.encode($0.span)) })) }
        for member in additionalHeaderMembers { header.append(member.name, member.value) }
        return Self.base64URL(header.bytes) + "." + Self.base64URL(payload.bytes)
    }

    /// Returns the signature of a JWS: r and s, with 32 bytes each (RFC 7518, 3.4).
    public static func signature(of input: [UInt8], key: SigningKey) throws(MintingError) -> [UInt8] {
        let encoded = try key.sign(input, digest: .sha256)
        do throws(ASN1DecodingError) {
            return try ECDSASignatureValue.fixedLength(encoded.span)
        } catch {
            throw .unsuitableKey
        }
    }

    /// Returns base64url without padding (RFC 7515, 2).
    public static func base64URL(_ bytes: [UInt8]) -> String { Base64.encode(bytes.span, urlSafe: true) }
}

// MARK: - What Apple signs

extension JWSBuilder {
    /// The default signing date, 2025-06-15T12:00:00Z. Test authorities are valid from 2010 to 2045.
    public static let defaultDate = Instant(millisecondsSince1970: 1_749_988_800_000)

    /// Returns a builder for a transaction. It is for a non-consumable product, unless you change its members.
    ///
    /// - Parameters:
    ///   - bundleID: The app's bundle id.
    ///   - productID: The product's identifier.
    ///   - transactionID: The transaction id, which is also the original transaction id.
    ///   - environment: The environment.
    ///   - signedDate: The signing date. The purchase date is a second earlier.
    public static func transaction(
        bundleID: String, productID: String, transactionID: String, environment: AppStoreEnvironment = .production,
        signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        JWSBuilder(
            payload: [
                "transactionId": .string(transactionID), "originalTransactionId": .string(transactionID),
                "bundleId": .string(bundleID), "productId": .string(productID),
                "purchaseDate": .integer(signedDate.millisecondsSince1970 - 1000),
                "originalPurchaseDate": .integer(signedDate.millisecondsSince1970 - 1000), "quantity": 1,
                "type": "Non-Consumable", "inAppOwnershipType": "PURCHASED",
                "signedDate": .integer(signedDate.millisecondsSince1970),
                "environment": .string(environment.signedName),
                "transactionReason": "PURCHASE", "storefront": "USA", "storefrontId": "143441", "price": 1990,
                "currency": "USD", "appTransactionId": "700000000000000001",
            ])
    }

    /// Returns a builder for the renewal information of a subscription.
    public static func renewalInfo(
        productID: String, originalTransactionID: String, environment: AppStoreEnvironment = .production,
        signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        JWSBuilder(
            payload: [
                "originalTransactionId": .string(originalTransactionID), "autoRenewProductId": .string(productID),
                "productId": .string(productID), "autoRenewStatus": 1, "renewalPrice": 1990, "currency": "USD",
                "signedDate": .integer(signedDate.millisecondsSince1970),
                "environment": .string(environment.signedName),
                "recentSubscriptionStartDate": .integer(signedDate.millisecondsSince1970 - 1000),
                "renewalDate": .integer(signedDate.millisecondsSince1970 + 2_592_000_000),
                "appTransactionId": "700000000000000001",
            ])
    }

    /// Returns a builder for an app transaction.
    public static func appTransaction(
        bundleID: String, appAppleID: String = "1234567890", environment: AppStoreEnvironment = .production,
        signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        JWSBuilder(
            payload: [
                "receiptType": .string(environment.signedName), "appAppleId": .identifier(appAppleID),
                "bundleId": .string(bundleID), "applicationVersion": "1", "versionExternalIdentifier": 860_000_001,
                "receiptCreationDate": .integer(signedDate.millisecondsSince1970),
                "originalPurchaseDate": .integer(signedDate.millisecondsSince1970 - 1000),
                "originalApplicationVersion": "1", "appTransactionId": "700000000000000001",
                "originalPlatform": "iOS",
            ])
    }

    /// Returns a builder for a notification about purchases.
    ///
    /// - Parameters:
    ///   - type: The type of the notification.
    ///   - subtype: The subtype; `nil` for none.
    ///   - bundleID: The app's bundle id.
    ///   - appAppleID: The app's Apple id; `nil` for none.
    ///   - environment: The environment.
    ///   - transaction: A signed transaction to include.
    ///   - renewalInfo: Signed renewal information to include.
    ///   - signedDate: The signing date.
    public static func notification(
        _ type: NotificationType, subtype: NotificationSubtype? = nil, bundleID: String,
        appAppleID: String? = "1234567890",
        environment: AppStoreEnvironment = .production, transaction: String? = nil, renewalInfo: String? = nil,
        signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        var data: JSONValue = [
            "bundleId": .string(bundleID), "bundleVersion": "1", "environment": .string(environment.signedName),
        ]
        data["appAppleId"] = appAppleID.map { .identifier($0) }
        data["signedTransactionInfo"] = transaction.map { .string($0) }
        data["signedRenewalInfo"] = renewalInfo.map { .string($0) }
        var builder = notification(type, about: "data", data, signedDate: signedDate)
        builder.notificationSubtype = subtype
        return builder
    }

    /// Returns a builder for a notification with an object in the member `data`, `appData`, `summary` or
    /// `externalPurchaseToken`.
    public static func notification(
        _ type: NotificationType, about member: String, _ value: JSONValue, signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        JWSBuilder(
            payload: .object([
                .init("notificationType", .string(type.rawValue)),
                .init("notificationUUID", "00000000-0000-4000-8000-000000000001"), .init(member, value),
                .init("version", "2.0"), .init("signedDate", .integer(signedDate.millisecondsSince1970)),
            ]))
    }

    /// Returns a builder for a request for a retention message.
    public static func realtimeRequest(
        productID: String, originalTransactionID: String, appAppleID: String = "1234567890",
        environment: AppStoreEnvironment = .production, signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        JWSBuilder(
            payload: [
                "originalTransactionId": .string(originalTransactionID), "appAppleId": .identifier(appAppleID),
                "productId": .string(productID), "userLocale": "en-US",
                "requestIdentifier": "00000000-0000-4000-8000-000000000002",
                "environment": .string(environment.signedName),
                "signedDate": .integer(signedDate.millisecondsSince1970),
            ])
    }
}
