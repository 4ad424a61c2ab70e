import CLibcryptoShims

/// A certificate revocation list (RFC 5280, 5.1), for chain validation.
package final class RevocationList: Sendable {
    let list: Owned<RevocationListObject>

    /// - Throws: `malformedRevocationList`, also for bytes after the list, and for a scope that libcrypto cannot read,
    ///   because libcrypto would take the list for one that covers everything.
    package init(der bytes: Span<UInt8>) throws(LibcryptoError) {
        let list = try unsafe bytes.decode(as: RevocationListObject.self, orThrow: .malformedRevocationList) {
            unsafe d2i_X509_CRL(nil, $0, $1)
        }
        try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            guard Self.hasReadableScope(list) else { throw LibcryptoError(.malformedRevocationList) }
        }
        self.list = list
    }

    /// Whether the list has no `IssuingDistributionPoint` (RFC 5280, 5.2.5), or one that is readable.
    private static func hasReadableScope(_ list: borrowing Owned<RevocationListObject>) -> Bool {
        var criticality: Int32 = -1
        guard
            let scope = unsafe X509_CRL_get_ext_d2i(
                list.pointer, NID_issuing_distribution_point, &criticality, nil)
        else { return criticality == -1 }
        unsafe receipt_issuing_distribution_point_free(scope)
        return true
    }
}
