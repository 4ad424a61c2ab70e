// A verified receipt comes from a verifier; no initialiser makes one.
import AppStoreReceipt

func forge(
    _ decoded: UnverifiedReceipt, _ trust: SignerVerification, _ verifier: AppStoreVerifier, _ bytes: [UInt8]
) throws -> VerifiedReceipt {
    #if CONTROL
    try verifier.verifyReceipt(bytes)
    #else
    // error: 'VerifiedReceipt' initializer is inaccessible due to 'internal' protection level
    VerifiedReceipt(receipt: decoded.receipt, trust: trust)
    #endif
}
