@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import StrictText

extension VerificationPolicy {
    /// The environment of the server, if it has only one.
    var onlyEnvironment: AppStoreEnvironment? { acceptedEnvironments.count == 1 ? acceptedEnvironments.first : nil }

    /// Returns the requested app, or the server's only one.
    func bundleID(_ asked: String?) throws(RequestFault) -> String {
        let known = bundleIDs?.map(UTF8Bytes.init)
        guard let bundleID = asked ?? (known?.count == 1 ? known?.first?.string : nil) else {
            throw .invalid("'bundle_id' is required: the server has not one app")
        }
        guard known?.contains(UTF8Bytes(bundleID)) ?? true else {
            throw .invalid("'bundle_id' is none of the server's")
        }
        return bundleID
    }
}
