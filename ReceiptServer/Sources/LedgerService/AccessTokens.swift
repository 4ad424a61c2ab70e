package import HTTPService
package import LibcryptoHandles
package import PurchaseLedger
import Synchronization

/// The access that a token allows.
package enum TokenScope: String, CaseIterable, Sendable {
    /// `POST /v1/redeem`
    case redeem
    /// `GET /v1/accounts/{id}/entitlements`, `/history` and `/tokens`, `GET
    /// /v1/transactions/{environment}/{bundle_id}/{id}`
    case read
    /// `GET /v1/events/dead`, `GET /v1/events/unowned` and `POST /v1/events/{id}/send`
    case events
    /// `POST /v1/accounts/{id}/transfer`
    case transfer
    /// `DELETE /v1/accounts/{id}`
    case delete
    /// `POST /v1/accounts/{id}/adjust`
    case adjust
    /// The support desk: reads everything
    case support
    /// `POST /v1/recover`
    case recover

    /// The scopes of a line that lists none.
    static let standard: Set<TokenScope> = [.redeem, .read, .events]
}

/// The tokens of a file: one per line, as `TOKEN` or `TOKEN scope,scope`. Empty lines and lines that begin with `#` are
/// ignored.
package final class AccessTokens: Sendable {
    /// The minimum size of a token. A shorter one could be guessed.
    static let minimumByteCount = 16

    private let file: String
    /// The scopes, by the SHA-256 of their token. Digests are compared, so the time of a comparison reveals nothing
    /// about a token.
    private let scopes: Mutex<[DigestValue: Set<TokenScope>]>

    package init(file: String) throws(ConfigurationError) {
        self.file = file
        scopes = Mutex(try Self.read(file))
    }

    /// Reloads the file. If it is invalid, the current tokens stay in force.
    package func reload() throws(ConfigurationError) {
        let new = try Self.read(file)
        scopes.withLock { $0 = new }
    }

    /// Returns the answer to a request without the scope, or `nil` if the request has it.
    ///
    /// - Parameter authorization: The value of the `Authorization` header.
    /// - Throws: An error if this host can't compute a digest, because the token may be valid.
    func refusal(of authorization: String?, scope: TokenScope) throws(LedgerError) -> Response? {
        let scheme = "bearer ".utf8
        // RFC 9110, 11.1: the name of a scheme is case-insensitive.
        var allowed: Set<TokenScope>?
        if let header = authorization.map({ Array($0.utf8) }), header.count > scheme.count,
            zip(header, scheme).allSatisfy({ $0 == $1 || 0x41...0x5A ~= $0 && $0 + 0x20 == $1 })
        {
            allowed = scopes(of: try Self.digest(of: header.span.extracting(droppingFirst: scheme.count)))
        }
        guard let allowed else {
            var response = Response(LedgerFault.unauthorized)
            response.headers = [("WWW-Authenticate", "Bearer")]
            return response
        }
        if allowed.contains(scope) { return nil }
        return Response(LedgerFault.forbidden, "'\(scope.rawValue)'")
    }

    /// Returns the SHA-256 of a token, which identifies it.
    package static func digest(of token: String) throws(LedgerError) -> DigestValue {
        try token.withUTF8Bytes { (token) throws(LedgerError) in try digest(of: token) }
    }

    package static func digest(of token: Span<UInt8>) throws(LedgerError) -> DigestValue {
        do throws(LibcryptoError) {
            return try DigestAlgorithm.sha256.digest(of: token)
        } catch {
            throw LedgerError(error)
        }
    }

    /// Returns the scopes of the token with a digest, or `nil` if there is no such token now.
    package func scopes(of digest: DigestValue) -> Set<TokenScope>? { scopes.withLock { $0[digest] } }

    /// Returns whether any token allows a scope.
    package func hasToken(for scope: TokenScope) -> Bool {
        scopes.withLock { scopes in scopes.values.contains { $0.contains(scope) } }
    }

    private static func read(_ file: String) throws(ConfigurationError) -> [DigestValue: Set<TokenScope>] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try System.readFile(file, maximumByteCount: 1 << 20)
        } catch {
            throw ConfigurationError("\(file): \(error)")
        }
        var tokens: [DigestValue: Set<TokenScope>] = [:]
        let lines = bytes.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: "\n") }
        for (number, line) in lines.enumerated() {
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
            guard let token = words.first, token.first != UInt8(ascii: "#") else { continue }
            // No message quotes any part of a token.
            let place = "\(file), line \(number + 1)"
            guard token.count >= minimumByteCount else {
                throw ConfigurationError("\(place): a token must have at least \(minimumByteCount) bytes")
            }
            guard words.count <= 2 else {
                throw ConfigurationError("\(place): a token, and scopes that are separated by commas, and nothing else")
            }
            var scopes = TokenScope.standard
            if words.count == 2 {
                scopes = []
                for word in words[1].split(separator: UInt8(ascii: ",")) {
                    guard let scope = TokenScope(rawValue: String(decoding: word, as: UTF8.self)) else {
                        let known = TokenScope.allCases.map(\.rawValue).joined(separator: ", ")
                        throw ConfigurationError("\(place): an unknown scope; there are \(known)")
                    }
                    scopes.insert(scope)
                }
            }
            let digest: DigestValue
            do throws(LibcryptoError) {
                digest = try DigestAlgorithm.sha256.digest(of: token.span)
            } catch {
                throw ConfigurationError("this host cannot compute SHA-256")
            }
            guard tokens.updateValue(scopes, forKey: digest) == nil else {
                throw ConfigurationError("\(place): the token is there twice")
            }
        }
        guard !tokens.isEmpty else { throw ConfigurationError("\(file): no token") }
        return tokens
    }
}
