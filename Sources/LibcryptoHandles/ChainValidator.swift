import CLibcryptoShims

/// libcrypto's path validation (RFC 5280, 6) against one pinned anchor. It is thread-safe.
///
/// There is only one anchor, because libcrypto tries only the first of several that match.
package final class ChainValidator: Sendable {
    /// The certificates of a path that a revocation list must cover.
    package enum RevocationScope: Sendable { case leaf, chain }

    /// RFC 5280, 4.2.1.4: 2.5.29.32.0.
    private static let anyPolicy: [UInt8] = [0x55, 0x1D, 0x20, 0x00]

    private let anchor: CertificateHandle
    private let isStrict: Bool
    private let store: Owned<StoreObject>

    /// Only an anchor whose subject is also its issuer ends a path. The certificates of the host are never used.
    ///
    /// - Parameter isStrict: whether certificates must also follow the profile's minor rules (RFC 5280, 4.2: key
    ///   identifiers, which extensions are critical). All chains of Apple do; private ones often do not.
    package init(anchor: CertificateHandle, isStrict: Bool = false) throws(LibcryptoError) {
        store = try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            let store = try unsafe Owned<StoreObject>(X509_STORE_new())
            guard unsafe X509_STORE_add_cert(store.pointer, anchor.certificate.pointer) == 1 else {
                throw LibcryptoError(.operationFailed)
            }
            return store
        }
        self.anchor = anchor
        self.isStrict = isStrict
    }

    /// Finds a path from `leaf` through `untrusted` to the anchor, and validates it at the given date.
    ///
    /// Checks signatures, validity periods, `basicConstraints`, path lengths, `keyCertSign`, name constraints, and that
    /// no critical extension is unknown. It checks neither algorithms and key sizes nor the purpose of the leaf.
    ///
    /// - Parameters:
    ///   - secondsSince1970: the date. A certificate is valid through the second of `notAfter` (RFC 5280, 4.1.2.5).
    ///   - revocationLists: the lists; if there are none, revocation is not checked.
    ///   - certificatePolicies: the object identifiers (contents octets). The path must be valid for one of them. If
    ///     there are none, any or no policy is enough unless a certificate requires one. `nil` ignores policies and
    ///     their constraints.
    ///   - maximumIntermediates: the maximum number of certificates between leaf and anchor; at most 100.
    package func validate(
        leaf: CertificateHandle, untrusted: [CertificateHandle], secondsSince1970: Int64,
        revocationLists: [RevocationList] = [], revocationScope: RevocationScope = .chain,
        certificatePolicies: [[UInt8]]? = nil, maximumIntermediates: Int
    ) throws(LibcryptoError) -> ChainResult {
        var (leaf, untrusted) = (leaf, untrusted)
        var isRepetition = false
        return try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            // If memory ran out when libcrypto first read the policies of a certificate, it keeps them as invalid.
            if isRepetition {
                leaf = try leaf.copy()
                for index in untrusted.indices { untrusted[index] = try untrusted[index].copy() }
            }
            isRepetition = true
            func validate(at seconds: Int64) throws(LibcryptoError) -> ChainResult {
                try validateUnwatched(
                    leaf, untrusted, seconds, revocationLists, revocationScope, certificatePolicies,
                    maximumIntermediates)
            }
            let result = try validate(at: secondsSince1970)
            // For libcrypto, a certificate has expired at `notAfter`. A certificate that libcrypto accepts a second
            // earlier is valid now.
            guard case .invalid(.expired, _) = result,
                case .valid(let path) = try validate(at: secondsSince1970 &- 1)
            else { return result }
            return .valid(path: path)
        }
    }

    private func validateUnwatched(
        _ leaf: CertificateHandle, _ untrusted: [CertificateHandle], _ secondsSince1970: Int64,
        _ revocationLists: [RevocationList], _ revocationScope: RevocationScope,
        _ certificatePolicies: [[UInt8]]?, _ maximumIntermediates: Int
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
        if let certificatePolicies {
            flags |= X509_V_FLAG_POLICY_CHECK
            // RFC 5280, 6.1.1: without initial-explicit-policy, a path without policies would be valid for all of them.
            if !certificatePolicies.isEmpty { flags |= X509_V_FLAG_EXPLICIT_POLICY }
            for policy in certificatePolicies.isEmpty ? [Self.anyPolicy] : certificatePolicies {
                guard
                    unsafe policy.withUnsafeBufferPointer({
                        unsafe receipt_add_policy(parameters, $0.baseAddress, Int32($0.count))
                    }) == 1
                else { throw LibcryptoError(.allocationFailed) }
            }
        }
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(flags))
        // DANGEROUS: level 0 also accepts a certificate that MD5 signed, and an RSA key of 512 bits. No other level
        // fits: 1 and above refuse the SHA-1 chains of most receipts. So every caller checks each certificate's key and
        // signature algorithm by `AlgorithmPolicy`; without those checks, this line accepts forgeries.
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 0)
        // libcrypto supports the years 1900 to 9999. For other years, it reports a malformed certificate, not an
        // expired or not yet valid one.
        let time = min(max(secondsSince1970, -2_208_988_800), 253_402_300_799)
        unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(time))
        // Two more than allowed: libcrypto counts an untrusted root, and would otherwise report a path without an
        // anchor as too long.
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

    /// The path that libcrypto found contains the same objects that it was given.
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
