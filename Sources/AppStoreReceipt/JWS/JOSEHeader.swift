import SignatureTrust
import StrictText

/// The header of a JWS (RFC 7515, 4). It uses `alg` and `x5c`, refuses members that refer to another key, and ignores
/// the rest.
enum JOSEHeader {
    /// All names in RFC 7515 to 7518, 7797 and 8725. None may be repeated (RFC 7515, 4).
    private enum Member: String, CaseIterable {
        case alg, jku, jwk, kid, x5u, x5c, x5t, typ, cty, crit, b64, enc, zip
        case x5tS256 = "x5t#S256"
    }

    private static let members = JSONMembers<Member>()

    /// Makes the table of names before its first use.
    static func makeTable() { _ = members }

    static func certificates(in header: [UInt8], count: Int) throws(VerificationError) -> CertificateSequence {
        // A syntax error precedes all other faults; of those, the first is reported.
        var fault: VerificationError.Reason?
        var hasAlgorithm = false
        var certificates: [[UInt8]]?
        do throws(JSONError) {
            try JSONCursor.decode(header.span) { (cursor) throws(JSONError) in
                try cursor.readObject(of: members) { (cursor, member) throws(JSONError) in
                    guard fault == nil else { return }
                    let offset = cursor.offset
                    switch member {
                    case .alg:
                        hasAlgorithm = true
                        let algorithm = try cursor.readString()
                        if !(algorithm == "ES256") { fault = .header(.unsupportedAlgorithm, offset: offset) }
                    case .x5c:
                        (certificates, fault) = try readCertificates(&cursor, maximumCount: count)
                    case .crit, .b64: fault = .header(.criticalHeader, offset: offset)
                    case .jku, .jwk, .x5u: fault = .header(.foreignKey, offset: offset)
                    case .kid, .x5t, .x5tS256, .typ, .cty, .enc, .zip: break
                    }
                }
            }
        } catch {
            throw VerificationError(.headerSyntax(error))
        }
        if let fault { throw VerificationError(fault) }
        guard hasAlgorithm else { throw VerificationError(.header(.missingAlgorithm, offset: 0)) }
        guard let certificates else { throw VerificationError(.header(.missingCertificates, offset: 0)) }
        guard certificates.count == count else {
            throw VerificationError(
                .header(.certificateCount, offset: 0, CertificateCount(found: certificates.count, expected: count)))
        }
        return CertificateSequence(certificates)
    }

    /// Reads `x5c` of a header that may have faults elsewhere.
    static func allCertificates(in header: [UInt8], maximumCount: Int) throws(VerificationError) -> [[UInt8]] {
        var fault: VerificationError.Reason?
        var certificates: [[UInt8]] = []
        do throws(JSONError) {
            try JSONCursor.decode(header.span) { (cursor) throws(JSONError) in
                try cursor.readObject(of: members) { (cursor, member) throws(JSONError) in
                    guard member == .x5c else { return }
                    (certificates, fault) = try readCertificates(&cursor, maximumCount: maximumCount)
                }
            }
        } catch {
            throw VerificationError(.headerSyntax(error))
        }
        if let fault { throw VerificationError(fault) }
        guard !certificates.isEmpty else { throw VerificationError(.header(.missingCertificates, offset: 0)) }
        return certificates
    }

    /// Reads `x5c`, an array of base64 strings. Strings beyond the accepted number are only counted.
    private static func readCertificates(
        _ cursor: inout JSONCursor, maximumCount: Int
    ) throws(JSONError) -> (certificates: [[UInt8]], fault: VerificationError.Reason?) {
        var certificates: [[UInt8]] = []
        var count = 0
        var fault: (kind: HeaderFault, offset: Int)?
        try cursor.readArray { (cursor) throws(JSONError) in
            count += 1
            guard fault == nil else { return }
            guard certificates.count < maximumCount else {
                fault = (.certificateCount, cursor.offset)
                return
            }
            let string = try cursor.readString()
            do throws(Base64Error) {
                // JSON may write a slash as `\/`, the only escape of a character that base64 has.
                certificates.append(
                    string.hasEscapes
                        ? try Base64.decode(string.bytes.span, as: .strict)
                        : try Base64.decode(string.raw, as: .strict))
            } catch {
                fault = (.malformedCertificates, string.offset + 1 + error.offset)
            }
        }
        let counts = CertificateCount(found: count, expected: maximumCount)
        return (
            certificates,
            fault.map { .header($0.kind, offset: $0.offset, $0.kind == .certificateCount ? counts : nil) }
        )
    }
}

/// The faults of the header of a JWS.
package enum HeaderFault: String, Sendable, CaseIterable {
    /// The header has no `alg`.
    case missingAlgorithm = "missing-algorithm"
    /// `alg` is not `ES256` but, for example, `none` or an HMAC with a public key as its secret.
    case unsupportedAlgorithm = "unsupported-algorithm"
    /// The header has `crit` (RFC 7515, 4.1.11). No extension is supported.
    case criticalHeader = "critical-header"
    /// The header has `jku`, `jwk` or `x5u`, which name a key outside the chain.
    case foreignKey = "foreign-key"
    /// The header has no `x5c`, and so no key.
    case missingCertificates = "missing-certificates"
    /// The header does not have three certificates or, with StoreKit Testing trust, one.
    case certificateCount = "certificate-count"
    /// A certificate in `x5c` is not base64, padded and without line breaks (RFC 7515, 4.1.6).
    case malformedCertificates = "malformed-certificates"
}

/// The number of certificates in a header, and the number that it must have.
package struct CertificateCount: Hashable, Sendable {
    let found, expected: Int
}
