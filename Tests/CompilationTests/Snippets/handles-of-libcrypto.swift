// The handles by which chains are validated are nobody's outside the package.
#if CONTROL
import SignatureTrust

let anchor = TrustAnchor.appleRootCA
#else
import LibcryptoHandles

// error: cannot find type 'ChainValidator' in scope
let validator: ChainValidator? = nil
#endif
