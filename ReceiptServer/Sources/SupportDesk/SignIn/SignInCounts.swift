import HTTPService
import Synchronization

/// The number of sign-in attempts by result.
final class SignInCounts: Sendable {
    enum Result: String, CaseIterable { case accepted, refused, limited }

    private let counts = Mutex<[Result: UInt64]>([:])

    func count(_ result: Result) { counts.withLock { $0[result, default: 0] += 1 } }

    func metrics(sessionCount: Int) -> [MetricFamily] {
        var all = MetricFamily(
            .counter, "receipt_server_support_sign_ins_total", "Attempts to sign in to the support desk, by result.")
        let counts = counts.withLock(\.self)
        for result in Result.allCases { all.add(counts[result] ?? 0, [("result", result.rawValue)]) }
        return [
            all,
            MetricFamily(
                .gauge, "receipt_server_support_sessions", "Sessions of the support desk.",
                value: UInt64(sessionCount)),
        ]
    }
}
