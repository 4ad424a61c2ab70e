import CLibcryptoShims

/// libcrypto's path validation (RFC 5280, 6) against one pinned anchor. May be shared by threads.
///
/// One alone, since of several anchors that fit libcrypto tries the first and no other.
package final class ChainValidator: Sendable {
    /// Which certificates of a path must be covered by a revocation list.
    package enum RevocationScope: Sendable { case leaf, chain }

    private let anchor: CertificateHandle
    private let isStrict: Bool
    private let store: Owned<StoreObject>

    /// Only an anchor that names itself as its issuer ends a path. The host's own certificates are never consulted.
    ///
    /// - Parameter isStrict: whether certificates must also keep the profile's lesser rules (RFC 5280, 4.2: key identifiers, which
    ///   extensions are critical). All chains that Apple signed do; home-made ones often do not.
    package init(anchor: CertificateHandle, isStrict: Bool = false) throws(LibcryptoError) {
        let store = try unsafe Owned<StoreObject>(X509_STORE_new())
        guard unsafe X509_STORE_add_cert(store.pointer, anchor.certificate.pointer) == 1 else {
            throw LibcryptoError(.operationFailed)
        }
        self.anchor = anchor
        self.isStrict = isStrict
        self.store = store
    }

    /// Looks for a path from `leaf` through `untrusted` to the anchor, and judges it at the given date.
    ///
    /// Checked are signatures, validity periods, `basicConstraints`, path lengths, `keyCertSign`, name constraints and that no critical
    /// extension is unknown. Not checked: algorithms and key sizes, and what the leaf may be used for.
    ///
    /// - Parameters:
    ///   - secondsSince1970: the date. As libcrypto has it, `notAfter` itself is too late by a second.
    ///   - revocationLists: none means that revocation is not checked.
    ///   - maximumIntermediates: how many certificates may stand between leaf and anchor; at most 100.
    package func validate(
        leaf: CertificateHandle, untrusted: [CertificateHandle], secondsSince1970: Int64,
        revocationLists: [RevocationList] = [], revocationScope: RevocationScope = .chain,
        maximumIntermediates: Int
    ) throws(LibcryptoError) -> ChainResult {
        let certificates = try unsafe Owned<CertificateStack>(receipt_certificates_new())
        for certificate in untrusted {
            guard unsafe receipt_certificates_push(certificates.pointer, certificate.certificate.pointer) == 1 else {
                throw LibcryptoError(.allocationFailed)
            }
        }
        let lists = try unsafe Owned<RevocationListStack>(receipt_crls_new())
        for list in revocationLists {
            guard unsafe receipt_crls_push(lists.pointer, list.list.pointer) == 1 else {
                throw LibcryptoError(.allocationFailed)
            }
        }
        let context = try unsafe Owned<StoreContextObject>(X509_STORE_CTX_new())
        guard
            unsafe X509_STORE_CTX_init(
                context.pointer, store.pointer, leaf.certificate.pointer, certificates.pointer) == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(context.pointer),
            unsafe X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY) == 1
        else { throw LibcryptoError(.operationFailed) }

        var flags = X509_V_FLAG_TRUSTED_FIRST
        if isStrict { flags |= X509_V_FLAG_X509_STRICT }
        if !revocationLists.isEmpty {
            flags |= X509_V_FLAG_CRL_CHECK
            if revocationScope == .chain { flags |= X509_V_FLAG_CRL_CHECK_ALL }
            unsafe X509_STORE_CTX_set0_crls(context.pointer, lists.pointer)
        }
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(flags))
        // Levels fit nobody: 1 refuses SHA-1 chains that Apple signed, 0 accepts MD5. Whoever calls has a list of its own.
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 0)
        // libcrypto knows the years 1900 to 9999; beyond them it calls a certificate broken, not expired or not yet valid.
        let time = min(max(secondsSince1970, -2_208_988_800), 253_402_300_799)
        unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(time))
        // Two more than allowed: libcrypto counts an untrusted root, and would call a path without an anchor too long.
        let maximum = min(max(maximumIntermediates, 0), 100)
        unsafe X509_VERIFY_PARAM_set_depth(parameters, Int32(maximum + 2))

        let result = unsafe X509_verify_cert(context.pointer)
        let code = unsafe X509_STORE_CTX_get_error(context.pointer)
        if result == 1, code == X509_V_OK {
            let path = try path(in: context, leaf, untrusted)
            return path.count > maximum + 2 ? .invalid(.chainTooLong, depth: maximum + 1) : .valid(path: path)
        }
        try LibcryptoError.drain()
        switch code {
        case X509_V_OK, X509_V_ERR_UNSPECIFIED, X509_V_ERR_INVALID_CALL: throw LibcryptoError(.operationFailed)
        case X509_V_ERR_OUT_OF_MEM: throw LibcryptoError(.allocationFailed)
        default:
            return .invalid(
                ChainFault(code: code), depth: unsafe Int(X509_STORE_CTX_get_error_depth(context.pointer)))
        }
    }

    /// The path that libcrypto found holds the very objects it was given.
    private func path(
        in context: borrowing Owned<StoreContextObject>, _ leaf: CertificateHandle, _ untrusted: [CertificateHandle]
    ) throws(LibcryptoError) -> [ChainLink] {
        defer { ERR_clear_error() }
        let chain = unsafe X509_STORE_CTX_get0_chain(context.pointer)
        var path: [ChainLink] = []
        for index in 0..<max(0, unsafe receipt_certificates_count(chain)) {
            let pointer = unsafe receipt_certificates_at(chain, index)
            if unsafe anchor.certificate.pointer == pointer {
                path.append(.anchor)
            } else if unsafe leaf.certificate.pointer == pointer {
                path.append(.leaf)
            } else if let index = untrusted.firstIndex(where: { unsafe $0.certificate.pointer == pointer }) {
                path.append(.untrusted(index))
            } else {
                throw LibcryptoError(.operationFailed)
            }
        }
        return path
    }
}
