// Signed data of StoreKit 2 is verified by a verifier; no initialiser says so of a payload.
import AppStoreReceipt

func forge(
    _ genuine: Verified<TransactionInfo>, _ verifier: AppStoreVerifier, _ jws: String
) throws -> Verified<TransactionInfo> {
    #if CONTROL
    try verifier.verifyTransaction(jws)
    #else
    // error: 'Verified<Payload>' initializer is inaccessible due to 'internal' protection level
    Verified(payload: genuine.payload, verification: genuine.verification)
    #endif
}
