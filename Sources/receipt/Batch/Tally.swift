import AppStoreReceipt
import StrictText

/// The result of a line, for the tally.
enum LineResult: Sendable {
    case verified
    case refused(code: String, ExitStatus)

    init(_ result: Result<VerifiedEvidence, VerificationError>) {
        switch result {
        case .success: self = .verified
        case .failure(let error): self = .refused(code: error.code.rawValue, ExitStatus(amongOthers: error))
        }
    }
}

extension LineResult {
    /// Whether the verdict is printed. The verdict on evidence that this host could not check is no refusal, and is
    /// always printed.
    func isPrinted(by only: BatchWorker.Verdict?) -> Bool {
        switch (self, only) {
        case (_, nil), (.verified, .verified), (.refused, .refused), (.refused(_, .unusable), _): true
        default: false
        }
    }
}

/// The number of verdicts, by code.
struct Tally {
    private(set) var verifiedCount = 0
    /// The number of refused lines with each code.
    private var refusedCounts: [UTF8Bytes: Int] = [:]
    /// The worst status of a line.
    private(set) var status = ExitStatus.passed

    var refusedCount: Int { refusedCounts.values.reduce(0, +) }

    /// Adds verdicts whose codes are not known.
    mutating func add(verifiedCount: Int, refusedCount: Int) {
        self.verifiedCount += verifiedCount
        guard refusedCount > 0 else { return }
        refusedCounts[UTF8Bytes("(in an earlier run)"), default: 0] += refusedCount
        status.formMaximum(.refused)
    }

    mutating func add(_ other: Tally) {
        verifiedCount += other.verifiedCount
        refusedCounts.merge(other.refusedCounts, uniquingKeysWith: +)
        status.formMaximum(other.status)
    }

    mutating func add(_ results: some Sequence<LineResult>) {
        for result in results {
            switch result {
            case .verified: verifiedCount += 1
            case .refused(let code, let status):
                refusedCounts[UTF8Bytes(code), default: 0] += 1
                self.status.formMaximum(status)
            }
        }
    }

    /// The counts, with the most frequent code first.
    var summary: String {
        let codes = refusedCounts.map { (code: $0.key.string, count: $0.value) }.sorted { first, second in
            first.count == second.count
                ? first.code.utf8.lexicographicallyPrecedes(second.code.utf8) : first.count > second.count
        }
        let width = codes.first.map { String($0.count).count } ?? 0
        let head = "\(verifiedCount + refusedCount) lines: \(verifiedCount) verified, \(refusedCount) refused"
        return ([head] + codes.map { "  \(String($0.count).paddedFront(to: width))  \($0.code)" }).joined(
            separator: "\n")
    }
}

extension String {
    fileprivate func paddedFront(to width: Int) -> String {
        String(repeating: " ", count: max(width - count, 0)) + self
    }
}
