// A verifier of both environments names that of the evidence, so that no sandbox is taken for production.
import AppStoreReceipt

func purchases(_ body: String, _ verifier: BothEnvironmentsVerifier) throws -> [VerifiedPurchase] {
    #if CONTROL
    switch try verifier.verify(body) {
    case .production(let evidence): evidence.purchases
    case .sandbox: []
    }
    #else
    // error: value of type 'EnvironmentEvidence' has no member 'purchases'
    try verifier.verify(body).purchases
    #endif
}
