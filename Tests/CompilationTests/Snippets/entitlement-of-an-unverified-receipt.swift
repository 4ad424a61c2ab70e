// Entitlements are those of verified receipts.
import AppStoreReceipt

func isEntitled(_ verified: VerifiedReceipt, _ decoded: UnverifiedReceipt, at date: Instant) -> Bool {
    #if CONTROL
    verified.isActive(productIDs: ["com.example.pro"], at: date)
    #else
    // error: value of type 'UnverifiedReceipt' has no member 'isActive'
    decoded.isActive(productIDs: ["com.example.pro"], at: date)
    #endif
}
