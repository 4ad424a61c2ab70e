// The plain value inside a verified receipt grants nothing either: it could be another's.
import AppStoreReceipt

func purchases(_ verified: VerifiedReceipt) -> Int {
    #if CONTROL
    Entitlements(verified.purchases, at: .now).items.count
    #else
    // error: value of type 'Receipt' has no member 'purchases'
    Entitlements(verified.receipt.purchases, at: .now).items.count
    #endif
}
