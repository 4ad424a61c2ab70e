// A switch over the environments of evidence has a case for each.
import AppStoreReceipt

func isPaid(_ evidence: EnvironmentEvidence) -> Bool {
    // error: switch must be exhaustive
    switch evidence {
    case .production: true
    #if CONTROL
    case .sandbox: false
    #endif
    }
}
