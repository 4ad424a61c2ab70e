// A code is compared with a code, and not with a text that can be misspelt.
import AppStoreReceipt

func isOfAnotherEnvironment(_ error: VerificationError) -> Bool {
    #if CONTROL
    error.code == .environmentMismatch
    #else
    // error: cannot convert value of type 'VerificationError.Code' to expected argument type 'String'
    error.code == "enviroment-mismatch"
    #endif
}
