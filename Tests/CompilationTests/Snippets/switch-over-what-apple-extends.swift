// A switch over what Apple may extend has a way for what is not known yet, so that a new case breaks no user's build.
import AppStoreReceipt

func name(_ environment: AppStoreEnvironment) -> String {
    // error: switch covers known cases, but 'AppStoreEnvironment' may have additional unknown values
    switch environment {
    case .production: "production"
    case .sandbox: "sandbox"
    case .xcode, .localTesting: "a test"
    #if CONTROL
    @unknown default: "another"
    #endif
    }
}
