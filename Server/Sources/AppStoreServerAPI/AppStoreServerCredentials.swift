import AppStoreReceipt
import StrictText

/// Who asks: a key of the App Store Server API, and the app it asks about.
///
/// Source: Apple, "Generating JSON Web Tokens for API requests".
public struct AppStoreServerCredentials: Sendable, CustomStringConvertible {
    /// The id of the key, such as `2X9R4HXF34`.
    public let keyID: String
    /// The id of the team that has the key, which is a UUID.
    public let issuerID: String
    /// The bundle id of the app. One key serves all apps of a team.
    public let bundleID: String
    let key: AppStoreServerKey

    /// No description contains the key.
    public var description: String { "the key \(keyID) for \(bundleID)" }

    /// Creates credentials.
    ///
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/invalidArgument(_:)`` for an id that is empty or longer than 255 bytes.
    public init(
        keyID: String, issuerID: String, bundleID: String, key: AppStoreServerKey
    ) throws(AppStoreServerError) {
        for (id, argument) in [
            (keyID, AppStoreServerError.Argument.keyID), (issuerID, .issuerID), (bundleID, .bundleID),
        ] where !(1...255 ~= id.utf8.count) {
            throw AppStoreServerError(.invalidArgument(argument))
        }
        self.keyID = keyID
        self.issuerID = issuerID
        self.bundleID = bundleID
        self.key = key
    }

    /// How much earlier than now a token is dated: a clock may be so fast, and Apple refuses tokens of the future.
    static let clockTolerance = Duration.seconds(30)
    /// How long a token is valid, in seconds. Apple allows 60 minutes.
    static let tokenLifetime: Int64 = 600

    /// Returns a token for a request (RFC 7519), signed with ES256.
    func token(at now: Instant) throws(AppStoreServerError) -> String {
        let issued = (now - Self.clockTolerance).secondsSince1970
        let claims = claims(from: issued, to: issued + Self.tokenLifetime)
        let input = Base64.encode(header.span, urlSafe: true) + "." + Base64.encode(claims.span, urlSafe: true)
        let signature = try key.signature(of: Array(input.utf8))
        return input + "." + Base64.encode(signature.span, urlSafe: true)
    }

    private var header: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("alg")
        writer.string("ES256" as StaticString)
        writer.name("kid")
        writer.string(keyID)
        writer.name("typ")
        writer.string("JWT" as StaticString)
        writer.endObject()
        return writer.bytes
    }

    private func claims(from issued: Int64, to expiry: Int64) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("iss")
        writer.string(issuerID)
        writer.name("iat")
        writer.integer(issued)
        writer.name("exp")
        writer.integer(expiry)
        writer.name("aud")
        writer.string("appstoreconnect-v1" as StaticString)
        writer.name("bid")
        writer.string(bundleID)
        writer.endObject()
        return writer.bytes
    }
}
