// Entitlements are those of verified receipts.
import AppStoreReceipt

func isEntitled(_ verified: VerifiedReceipt, _ decoded: UnverifiedReceipt, at date: Instant) -> Bool {
    #if CONTROL
    verified.entitlements(at: date).isActive("com.example.pro")
    #else
    // error: value of type 'UnverifiedReceipt' has no member 'entitlements'
    decoded.entitlements(at: date).isActive("com.example.pro")
    #endif
}
