import Synchronization
import Testing

/// A kind of change: how many were tried, and where those were that did not matter.
struct TamperingRow: Sendable {
    let change: String
    var count: Int
    /// By the region outside what is signed.
    var harmless: [String: Int] = [:]

    init(_ change: String, count: Int = 0) {
        self.change = change
        self.count = count
    }

    /// Adds the row to the table of its suite. Tests share the work on one kind of change.
    func record() { TamperingTable.current?.add(self) }

    fileprivate var text: String {
        let verified = harmless.values.reduce(0, +)
        let regions = harmless.sorted { $0.key < $1.key }.map { "\($0.value) in \($0.key)" }.joined(separator: ", ")
        return "| \(change) | \(count) | \(count - verified) | \(regions.isEmpty ? "none" : regions) |"
    }
}

/// The rows of a suite. SECURITY.md names the regions.
final class TamperingTable: Sendable {
    @TaskLocal static var current: TamperingTable?
    private let rows = Mutex<[String: TamperingRow]>([:])

    func add(_ row: TamperingRow) {
        rows.withLock { rows in
            var sum = rows[row.change] ?? TamperingRow(row.change)
            sum.count += row.count
            sum.harmless.merge(row.harmless, uniquingKeysWith: +)
            rows[row.change] = sum
        }
    }

    var text: String {
        let rows = rows.withLock { $0.values.sorted { $0.change < $1.change } }
        return
            ([
                "| change | tried | refused | verified all the same, with the same content |",
                "| --- | ---: | ---: | --- |",
            ]
            + rows.map(\.text)).joined(separator: "\n")
    }
}

/// Prints the table of a suite when all of its tests have run.
struct TamperingTableTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let table = TamperingTable()
        try await TamperingTable.$current.withValue(table) { try await function() }
        print(table.text)
    }
}

extension Trait where Self == TamperingTableTrait {
    static var tamperingTable: Self { Self() }
}
