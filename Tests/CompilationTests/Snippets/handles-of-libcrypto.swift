// What is lent to other packages is digests and signatures, and not the handles by which chains are validated.
import LibcryptoHandles

#if CONTROL
let lent = DigestAlgorithm.sha256
#else
// error: cannot find type 'ChainValidator' in scope
let validator: ChainValidator? = nil
#endif
