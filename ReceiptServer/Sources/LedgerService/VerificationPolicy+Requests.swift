@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import StrictText

extension VerificationPolicy {
    /// The environment of the server, if it has only one.
    var onlyEnvironment: AppStoreEnvironment? { acceptedEnvironments.count == 1 ? acceptedEnvironments.first : nil }

    /// The app of the server, if it has only one.
    var onlyBundleID: String? { bundleIDs?.count == 1 ? bundleIDs?.first : nil }

    /// Whether an app is one of the server's, compared byte for byte.
    func accepts(bundleID: String) -> Bool { bundleIDs?.contains(where: bundleID.hasSameBytes) ?? true }

    /// Returns the requested environment, or the server's only one.
    func environment(_ asked: AppStoreEnvironment?) throws(RequestFault) -> AppStoreEnvironment {
        guard let environment = asked ?? onlyEnvironment else {
            throw .invalid("'environment' is required: the server has several environments")
        }
        guard acceptedEnvironments.contains(environment) else {
            throw .invalid("'environment' is none of the server's")
        }
        return environment
    }

    /// Returns the requested app, or the server's only one.
    func bundleID(_ asked: String?) throws(RequestFault) -> String {
        guard let bundleID = asked ?? onlyBundleID else {
            throw .invalid("'bundle_id' is required: the server has several apps")
        }
        guard accepts(bundleID: bundleID) else { throw .invalid("'bundle_id' is none of the server's") }
        return bundleID
    }
}
