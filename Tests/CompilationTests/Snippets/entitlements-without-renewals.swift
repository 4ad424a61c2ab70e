// Passing purchases requires their renewals, so that none is forgotten.
import AppStoreReceipt

func items(_ evidence: VerifiedEvidence) -> Int {
    #if CONTROL
    Entitlements(purchases: evidence.purchases, renewals: evidence.renewals, at: .now).items.count
    #else
    // error: missing argument for parameter 'renewals' in call
    Entitlements(purchases: evidence.purchases, at: .now).items.count
    #endif
}
