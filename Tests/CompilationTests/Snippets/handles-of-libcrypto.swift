// libcrypto's handles are nobody's outside the package.
#if CONTROL
import SignatureTrust

let anchor = TrustAnchor.appleRootCA
#else
import LibcryptoHandles

// error: cannot find 'DigestAlgorithm' in scope
let digest = DigestAlgorithm.sha256
#endif
