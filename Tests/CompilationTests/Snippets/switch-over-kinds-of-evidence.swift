// A switch over the kinds of evidence has a way for one that Apple does not sign yet.
import AppStoreReceipt

func isReceipt(_ evidence: VerifiedEvidence) -> Bool {
    // error: switch covers known cases, but 'VerifiedEvidence' may have additional unknown values
    switch evidence {
    case .receipt: true
    case .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest, .transactionReceipt: false
    #if CONTROL
    @unknown default: false
    #endif
    }
}
