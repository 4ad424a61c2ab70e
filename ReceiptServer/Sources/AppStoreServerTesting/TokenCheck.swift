import AppStoreReceipt
import LibcryptoHandles
@_spi(Surfaces) import SpanPKCS7
import StrictText

/// Checks bearer tokens as Apple documents: ES256, `kid`, `iss`, `aud`, `bid`, and an expiry at most 60 minutes after
/// `iat` or, without `iat`, after now.
///
/// Source: Apple, "Generating JSON Web Tokens for API requests".
final class TokenCheck: Sendable {
    private let keyID: String
    private let issuerID: String
    private let bundleID: String
    private let publicKey: PublicKey

    /// - Parameter publicKey: A `SubjectPublicKeyInfo`.
    init?(keyID: String, issuerID: String, bundleID: String, publicKey: [UInt8]) {
        self.keyID = keyID
        self.issuerID = issuerID
        self.bundleID = bundleID
        guard let key = try? PublicKey(subjectPublicKeyInfo: publicKey.span) else { return nil }
        self.publicKey = key
    }

    private static let scheme = "Bearer "
    private static let maximumLifetime = Duration.seconds(3600)

    /// Returns whether an `Authorization` header allows a request.
    func allows(_ authorization: String?, at now: Instant) -> Bool {
        guard let authorization, authorization.utf8.starts(with: Self.scheme.utf8) else { return false }
        let token = Array(authorization.utf8.dropFirst(Self.scheme.utf8.count))
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
        guard parts.count == 3 else { return false }
        do throws(Base64Error) {
            let decoded = try parts.map { (part) throws(Base64Error) in try Base64.decode(part.span, as: .jws) }
            let input = token.dropLast(parts[2].count + 1)
            return isHeaderValid(decoded[0]) && areClaimsValid(decoded[1], at: now)
                && isSignature(decoded[2], of: Array(input))
        } catch {
            return false
        }
    }

    private func isHeaderValid(_ json: [UInt8]) -> Bool {
        guard let header = FlatJSON(json) else { return false }
        return header.string("alg")?.hasSameBytes(as: "ES256") ?? false
            && header.string("kid")?.hasSameBytes(as: keyID) ?? false
    }

    private func areClaimsValid(_ json: [UInt8], at now: Instant) -> Bool {
        guard let claims = FlatJSON(json), let expiry = claims.integer("exp") else { return false }
        let end = Instant(millisecondsSince1970: 0) + .seconds(min(max(expiry, 0), 1 << 40))
        var start = now
        if let issued = claims.integer("iat") {
            start = Instant(millisecondsSince1970: 0) + .seconds(min(max(issued, 0), 1 << 40))
        }
        return claims.string("iss")?.hasSameBytes(as: issuerID) ?? false
            && claims.string("aud")?.hasSameBytes(as: "appstoreconnect-v1") ?? false
            && claims.string("bid")?.hasSameBytes(as: bundleID) ?? false
            && start <= now && now < end && end - start <= Self.maximumLifetime
    }

    /// - Parameter signature: r and s, of 32 bytes each (RFC 7518, 3.4).
    private func isSignature(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        guard signature.count == 64 else { return false }
        let encoded = ECDSASignatureValue.encoded(fixedLength: signature.span)
        do throws(LibcryptoError) {
            let digest = try DigestAlgorithm.sha256.digest(of: bytes.span)
            return try publicKey.verify(signature: encoded.span, digest: digest, scheme: .ecdsa)
        } catch {
            return false
        }
    }
}

/// An object whose members are strings, integers, Booleans, and arrays of strings.
struct FlatJSON {
    enum Value {
        case string(String)
        case integer(Int64)
        case boolean(Bool)
        case strings([String])
    }

    private(set) var members: [(name: String, value: Value)] = []

    /// - Returns: `nil` if the text isn't such an object, or has a repeated name. Members that are `null` are omitted.
    init?(_ json: [UInt8]) {
        var members: [(name: String, value: Value)] = []
        do throws(JSONError) {
            try JSONCursor.decode(json.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    let text = name.value
                    guard !members.contains(where: { $0.name.hasSameBytes(as: text) }) else {
                        throw JSONError(.duplicateMember, offset: name.offset)
                    }
                    switch try cursor.peekType() {
                    case .string: members.append((text, .string(try cursor.readString().value)))
                    case .number: members.append((text, .integer(try cursor.readInt64())))
                    case .boolean: members.append((text, .boolean(try cursor.readBool())))
                    case .null: _ = try cursor.readIfNull()
                    case .array:
                        var strings: [String] = []
                        try cursor.readArray { (cursor) throws(JSONError) in
                            strings.append(try cursor.readString().value)
                        }
                        members.append((text, .strings(strings)))
                    case .object: throw JSONError(.unexpectedType, offset: cursor.offset)
                    }
                }
            }
        } catch {
            return nil
        }
        self.members = members
    }

    private func value(_ name: String) -> Value? { members.first { $0.name.hasSameBytes(as: name) }?.value }

    func has(_ name: String) -> Bool { value(name) != nil }

    func string(_ name: String) -> String? {
        if case .string(let value)? = value(name) { value } else { nil }
    }

    func integer(_ name: String) -> Int64? {
        if case .integer(let value)? = value(name) { value } else { nil }
    }

    func boolean(_ name: String) -> Bool? {
        if case .boolean(let value)? = value(name) { value } else { nil }
    }

    func strings(_ name: String) -> [String]? {
        if case .strings(let value)? = value(name) { value } else { nil }
    }
}
