// The plain value inside a verified receipt grants nothing either: it could be another's.
import AppStoreReceipt

func purchases(_ verified: VerifiedReceipt) -> Int {
    #if CONTROL
    verified.purchases.filter { $0.grants(at: .now) }.count
    #else
    // error: value of type 'Receipt' has no member 'purchases'
    verified.receipt.purchases.count
    #endif
}
