package import AppStoreReceipt
@_spi(Surfaces) package import AppStoreSigning
import StrictText

extension AppStoreSigner {
    /// The time by which tokens are backdated, because Apple refuses tokens from a clock that is ahead.
    static let clockTolerance = Duration.seconds(30)
    /// The time in seconds that a token is valid. Apple allows 60 minutes.
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
