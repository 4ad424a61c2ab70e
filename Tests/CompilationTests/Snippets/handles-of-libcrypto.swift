// libcrypto's handles are nobody's outside the package.
#if CONTROL
import SignatureTrust

let anchor = TrustAnchor.appleRootCA
#else
import LibcryptoHandles

let digest = DigestAlgorithm.sha256  // error: cannot find 'DigestAlgorithm' in scope
#endif
