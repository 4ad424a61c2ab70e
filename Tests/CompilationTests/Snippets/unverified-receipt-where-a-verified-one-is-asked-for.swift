// What grants something asks for a verified receipt, and a decoded one is of another type.
import AppStoreReceipt

func grant(_ receipt: VerifiedReceipt) {}

func answer(_ bytes: [UInt8], _ verifier: AppStoreVerifier) throws {
    #if CONTROL
    grant(try verifier.verifyReceipt(bytes))
    #else
    // error: cannot convert value of type 'UnverifiedReceipt' to expected argument type 'VerifiedReceipt'
    grant(try UnverifiedReceipt(decoding: bytes))
    #endif
}
