import CLibcryptoShims

/// A certificate revocation list (RFC 5280, 5.1), for chain validation.
package final class RevocationList: Sendable {
    let list: Owned<RevocationListObject>

    /// - Throws: `malformedRevocationList`, also for bytes after the list.
    package init(der bytes: Span<UInt8>) throws(LibcryptoError) {
        list = try unsafe bytes.decode(as: RevocationListObject.self, orThrow: .malformedRevocationList) {
            unsafe d2i_X509_CRL(nil, $0, $1)
        }
    }
}
