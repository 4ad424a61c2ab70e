// A stored purchase is trusted only by a call that says so.
import AppStoreReceipt

func trusted(_ purchase: Purchase) -> StoredPurchase {
    #if CONTROL
    StoredPurchase(trusting: purchase)
    #else
    // error: missing argument label 'trusting:' in call
    StoredPurchase(purchase)
    #endif
}
