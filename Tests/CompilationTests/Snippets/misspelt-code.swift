// A misspelt code is no code.
import AppStoreReceipt

func isOfAnotherEnvironment(_ error: VerificationError) -> Bool {
    #if CONTROL
    error.code == .environmentMismatch
    #else
    // error: type 'VerificationError.Code' has no member 'enviromentMismatch'
    error.code == .enviromentMismatch
    #endif
}
