import Instants
import StrictText

/// Signs what the App Store requires from a developer's server, for one app.
///
/// ```swift
/// let key = try InAppPurchaseKey(file: "/etc/example/SubscriptionKey_2X9R4HXF34.p8")
/// let signer = try AppStoreSigner(
///     keyID: "2X9R4HXF34", issuerID: "57246542-96fe-1a63-e053-0824d011072a", bundleID: "com.example.app", key: key)
/// ```
///
/// It signs what it is asked to. <doc:SigningOffers> says what a server must check before. A signature cannot be
/// withdrawn, and names no environment.
///
/// Make one when the server starts. It is thread-safe, makes no request, and each signature has a new nonce.
public struct AppStoreSigner: Sendable, CustomStringConvertible {
    /// The id of the key, such as `2X9R4HXF34`.
    public let keyID: String
    /// The id of the team that has the key, which is a UUID.
    public let issuerID: String
    /// The bundle id of the app. One key serves all apps of a team.
    public let bundleID: String
    let key: InAppPurchaseKey

    /// No description contains the key.
    public var description: String { "the key \(keyID) for \(bundleID)" }

    /// Creates a signer.
    ///
    /// - Throws: ``SigningError/Reason-swift.enum/invalidArgument(_:)`` for an id that is empty, is longer than 255
    ///   bytes, or contains U+2063.
    public init(keyID: String, issuerID: String, bundleID: String, key: InAppPurchaseKey) throws(SigningError) {
        try Self.check(keyID, .keyID)
        try Self.check(issuerID, .issuerID)
        try Self.check(bundleID, .bundleID)
        self.keyID = keyID
        self.issuerID = issuerID
        self.bundleID = bundleID
        self.key = key
    }

    /// U+2063, which separates the signed parts of the original form: one in a part would divide it.
    static let separator: [UInt8] = [0xE2, 0x81, 0xA3]

    /// Checks an argument that becomes a part of what is signed.
    static func check(_ text: String, _ argument: SigningError.Argument) throws(SigningError) {
        let bytes = Array(text.utf8)
        let hasSeparator = bytes.indices.dropLast(2).contains { bytes[$0...].starts(with: separator) }
        guard 1...255 ~= bytes.count, !hasSeparator else { throw SigningError(.invalidArgument(argument)) }
    }
}

// MARK: JSON Web Signatures

extension AppStoreSigner {
    /// Signs claims as a JSON Web Signature in compact form, with ES256 (RFC 7515, 7.1).
    ///
    /// - Parameter claims: A JSON object.
    @_spi(Surfaces)
    public func signJWS(claims: [UInt8]) throws(SigningError) -> String {
        let input = Base64.encode(header.span, urlSafe: true) + "." + Base64.encode(claims.span, urlSafe: true)
        let signature = try input.withUTF8Bytes { (bytes) throws(SigningError) in
            try key.es256Signature(of: bytes)
        }
        return input + "." + Base64.encode(signature.span, urlSafe: true)
    }

    private var header: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("alg", "ES256" as StaticString)
        writer.member("kid", keyID)
        writer.member("typ", "JWT" as StaticString)
        writer.endObject()
        return writer.bytes
    }

    /// Signs a request for one feature. Apple derives from `iat` how long it is valid.
    ///
    /// Source: Apple, "Generating JWS to sign App Store requests".
    func signRequest(
        for audience: StaticString, at date: Instant, _ writeClaims: (inout JSONWriter) -> Void
    ) throws(SigningError) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("iss", issuerID)
        writer.member("iat", date.secondsSince1970)
        writer.member("aud", audience)
        writer.member("bid", bundleID)
        writer.member("nonce", UUIDText.random())
        writeClaims(&writer)
        writer.endObject()
        return try signJWS(claims: writer.bytes)
    }
}
