import FuzzSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The numbers of agreements with libcrypto, and of disagreements by error code. They are printed at the end. Not
/// thread-safe.
final class Statistics: @unchecked Sendable {
    enum Outcome: String, CaseIterable {
        case bothRead = "both read it"
        case neitherReads = "neither reads it"
        /// A finding, except for those in ``Exceptions``.
        case readsLess = "libcrypto does not read what we read"
        case readsMore = "libcrypto reads what we refuse"
        case bothVerify = "both verify the receipt"
        case bothVerifyCMS = "both verify the message"
        case neitherVerifies = "neither verifies it"
        /// See `stripped` in FuzzDifferential.
        case verifiesLess = "libcrypto verifies what we verify only without what is not signed"
        case verifiesMore = "libcrypto verifies what we refuse"
    }

    static let shared = Statistics()

    private var counts: [Outcome: Int] = [:]
    private var codes: [Outcome: [String: Int]] = [:]
    private init() {
        // `libFuzzer` ends with `exit`.
        atexit { Statistics.shared.print() }
    }

    /// The inputs that only this library refuses, by error code. Each code needs a reason.
    func count(_ outcome: Outcome, ours code: String, of subject: String? = nil) {
        check(StricterCode.isExplained(code), "\(outcome.rawValue): no reason is documented for \(code)")
        count(outcome, subject.map { $0 + ": " + code } ?? code)
    }

    func count(_ outcome: Outcome, _ code: String? = nil) {
        counts[outcome, default: 0] += 1
        if let code { codes[outcome, default: [:]][code, default: 0] += 1 }
    }

    func print() {
        for outcome in Outcome.allCases {
            guard let count = counts[outcome] else { continue }
            Swift.print("differential: \(count) × \(outcome.rawValue)")
            for (code, count) in (codes[outcome] ?? [:]).sorted(by: { $0.value > $1.value }) {
                Swift.print("differential:     \(count) × \(code)")
            }
        }
        counts = [:]
        _ = fflush(nil)
    }
}
