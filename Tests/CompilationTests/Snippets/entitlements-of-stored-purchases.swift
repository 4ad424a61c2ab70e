// A stored purchase is trusted only by a call that says so.
import AppStoreReceipt

func items(_ stored: [Purchase]) -> Int {
    #if CONTROL
    Entitlements(trustingStored: stored, at: .now).items.count
    #else
    // error: no exact matches in call to initializer
    Entitlements(stored, at: .now).items.count
    #endif
}
