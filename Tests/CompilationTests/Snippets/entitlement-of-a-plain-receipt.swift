// The plain value inside a verified receipt grants nothing either: it could be another's.
import AppStoreReceipt

func purchases(_ verified: VerifiedReceipt) -> Int {
    #if CONTROL
    Entitlements(purchases: verified.purchases, renewals: [], at: .now).items.count
    #else
    // error: value of type 'Receipt' has no member 'purchases'
    Entitlements(purchases: verified.receipt.purchases, renewals: [], at: .now).items.count
    #endif
}
