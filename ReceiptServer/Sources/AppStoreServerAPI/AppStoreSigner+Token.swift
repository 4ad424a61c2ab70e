package import AppStoreReceipt
@_spi(Surfaces) package import AppStoreSigning
import StrictText

extension AppStoreSigner {
    /// How much earlier than now a token is dated: a clock may be so fast, and Apple refuses tokens of the future.
    static let clockTolerance = Duration.seconds(30)
    /// How long a token is valid, in seconds. Apple allows 60 minutes.
    static let tokenLifetime: Int64 = 600

    /// Returns a bearer token for a request (RFC 7519), signed with ES256.
    ///
    /// Source: Apple, "Generating JSON Web Tokens for API requests".
    package func token(at now: Instant) throws(AppStoreServerError) -> String {
        let issued = (now - Self.clockTolerance).secondsSince1970
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("iss", issuerID)
        writer.member("iat", issued)
        writer.member("exp", issued + Self.tokenLifetime)
        writer.member("aud", "appstoreconnect-v1" as StaticString)
        writer.member("bid", bundleID)
        writer.endObject()
        do throws(SigningError) {
            return try signJWS(claims: writer.bytes)
        } catch {
            throw AppStoreServerError(.signingFailed)
        }
    }
}
