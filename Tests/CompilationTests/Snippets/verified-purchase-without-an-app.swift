// The app and the environment of a verified purchase are never missing.
import AppStoreReceipt

func key(of purchase: VerifiedPurchase) -> String {
    let environment: AppStoreEnvironment = purchase.environment
    #if CONTROL
    return "\(environment) \(purchase.bundleID) \(purchase.transactionID)"
    #else
    // error: value of optional type 'String?' must be unwrapped
    let bundleID: String = purchase.purchase.bundleID
    return "\(environment) \(bundleID) \(purchase.transactionID)"
    #endif
}
