import AppStoreReceipt
import HTTPService
import Synchronization

/// Counts genuine notifications for other apps or environments than the server's. Any developer can enter this server's
/// URL in App Store Connect.
final class OtherNotificationCounts: Sendable {
    private let apps = Atomic<UInt64>(0)
    private let environments = Atomic<UInt64>(0)

    private static let appCode = VerificationError.Code.bundleIDMismatch
    private static let environmentCode = VerificationError.Code.environmentMismatch

    /// Counts such a notification and returns its answer, or returns `nil` if it was refused for another reason.
    func answer(to error: VerificationError, ignoringOtherApps: Bool) -> Response? {
        // The signature is verified before the policy. Errors in an embedded JWS are Apple's.
        guard error.part == nil else { return nil }
        if error.code == Self.appCode {
            apps.add(1, ordering: .relaxed)
            return ignoringOtherApps
                ? Response(body: Array(#"{"status":"ignored"}"#.utf8)) : Response(LedgerFault.otherApp, error.found)
        }
        // The app is compared first, so the notification is for this server's app.
        if error.code == Self.environmentCode {
            environments.add(1, ordering: .relaxed)
            return Response(LedgerFault.otherEnvironment, error.found)
        }
        return nil
    }

    /// The number of notifications by the verifier's code.
    var verdicts: [VerificationError.Code: UInt64] {
        [Self.appCode: apps.load(ordering: .relaxed), Self.environmentCode: environments.load(ordering: .relaxed)]
    }

    var metric: MetricFamily {
        var metric = MetricFamily(
            .counter, "receipt_server_other_notifications_total",
            "Genuine notifications for apps or environments that are none of the server's.")
        metric.add(apps.load(ordering: .relaxed), [("code", LedgerFault.otherApp.rawValue)])
        metric.add(environments.load(ordering: .relaxed), [("code", LedgerFault.otherEnvironment.rawValue)])
        return metric
    }
}
