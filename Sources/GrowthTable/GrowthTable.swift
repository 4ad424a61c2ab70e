#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Measures how the processor time of every operation on every filled place grows from n bytes to 8 n: linear growth
/// gives 8, quadratic 64, and 16 or more is a failure.
///
/// n is large enough to distinguish the time from noise, so that constant or linear time does not hide faster growth:
/// the first of a few sizes that takes long enough, minus the time for the smallest filling. An operation that costs
/// almost nothing at the largest size passes.
struct GrowthTable {
    /// Whether to print each row. Otherwise, only the fastest growing row of each operation on a place is printed.
    var printsAll = false
    /// Whether to measure larger inputs and longer times, which shows growth that linear work hides.
    var isThorough = false
    /// The words that the place, filling and operation of a row must contain.
    var filter: [String] = []
    /// Measures one of this many fillings, or all.
    var divisor: UInt64 = 1
    /// Chooses the fillings that are measured.
    var seed: UInt64 = 0

    private(set) var rowCount = 0
    private(set) var failures: [Row] = []
    /// The operations of each family that succeeded for at least one input, and all operations.
    private var completed: [String: Set<String>] = [:]
    private var operations: [String: Set<String>] = [:]
    /// The times of operations with the smallest input, if they are the same in all places.
    private var commonBases: [String: Int] = [:]

    private static let runCount = 5
    private static let attemptCount = 3
    private static let limit = 16.0
    /// Well below the limit. More runs are not needed, because they only reduce the time.
    private static let clearlyPassed = 10.0
    /// An operation that takes this long has failed, and is not measured again.
    private static let maximumTime = 2_000_000_000

    struct Row {
        let place, filling, operation: String
        let growth: Growth

        var hasPassed: Bool { growth.ratio < GrowthTable.limit }

        var text: String {
            let columns = [
                place, filling, operation, growth.outcome, "\(growth.n)", Self.text(growth.time),
                Self.text(growth.timeOf8n), "\((growth.ratio * 10).rounded() / 10)",
                hasPassed ? "passed" : "**FAILED**",
            ]
            return "| \(columns.joined(separator: " | ")) |"
        }

        static let head = """
            | place | filling | operation | outcome | n | time at n | time at 8 n | ratio | |
            | --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |
            """

        private static func text(_ nanoseconds: Int) -> String {
            nanoseconds < 1_000_000 ? "\(nanoseconds / 1000) µs" : "\(Double(nanoseconds / 10_000) / 100) ms"
        }
    }

    struct Growth {
        let n: Int
        /// The minimum processor times, in nanoseconds.
        let time, timeOf8n: Int
        let ratio: Double
        /// The result at 8 n.
        let outcome: String

        var isCompleted: Bool {
            ["accepted", "read", "asked", "hashed", "walked", "status 0", "exit 0"].contains(outcome)
        }
    }

    /// Measures and prints.
    mutating func add(_ place: Place) throws {
        var worst: [Row] = []
        for filling in place.slot.fillings(place.choice) where isChosen("\(place.name) | \(filling.name)") {
            for row in try rows(place, filling) {
                rowCount += 1
                if let family = place.family {
                    operations[family, default: []].insert(row.operation)
                    if row.growth.isCompleted { completed[family, default: []].insert(row.operation) }
                }
                if !row.hasPassed { failures.append(row) }
                if printsAll || !filter.isEmpty || !row.hasPassed {
                    print(row.text)
                } else if let index = worst.firstIndex(where: { $0.operation == row.operation }) {
                    if worst[index].growth.ratio < row.growth.ratio { worst[index] = row }
                } else {
                    worst.append(row)
                }
            }
        }
        for row in worst { print(row.text) }
    }

    /// FNV-1a: a filling is chosen in some places and not in others.
    private func isChosen(_ name: String) -> Bool {
        guard divisor > 1 else { return true }
        let hash = name.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return (hash >> 32) % divisor == 0
    }

    /// The operations that succeeded for no input: `family: operation`.
    var neverCompleted: [String] {
        operations.flatMap { family, operations in
            operations.subtracting(completed[family] ?? []).map { "\(family): \($0)" }
        }.sorted()
    }

    /// - Throws: the error from making an input.
    private mutating func rows(_ place: Place, _ filling: Filling) throws -> [Row] {
        func matches(_ operation: String) -> Bool {
            filter.allSatisfy { "\(place.name) | \(filling.name) | \(operation)".contains($0) }
        }
        var inputs = [1: try place.prepare(filling.make(1))]
        var rows: [Row] = []
        for (index, smallest) in (inputs[1] ?? []).enumerated() where matches(smallest.name) {
            let growth = try growth(smallest, place.sizes) { n in
                if let operations = inputs[n] { return operations[index] }
                let operations = try place.prepare(filling.make(n))
                inputs[n] = operations
                return operations[index]
            }
            rows.append(Row(place: place.name, filling: filling.name, operation: smallest.name, growth: growth))
            // The next operations may contain the same work, at sizes at which it would not end.
            guard rows.last?.hasPassed == true else { break }
        }
        return rows
    }

    private mutating func growth(
        _ smallest: Operation, _ sizes: [Int], _ operation: (_ n: Int) throws -> Operation
    ) throws -> Growth {
        var base = base(smallest)
        // The constant part is measured as exactly as the rest.
        let resolution = max(smallest.resolution, base / 2)
        let enough = (isThorough ? 64 : 4) * resolution
        // If that costs almost nothing, do not measure a larger one.
        let usualSize = min(isThorough ? 1 << 22 : 1 << 19, sizes.last ?? 0)
        for (n, next) in zip(sizes, sizes.dropFirst()) where n >= smallest.firstSize {
            let atN = try operation(n)
            // The first measurement. More runs would only reduce the time.
            var time = least(of: 1, atN)
            guard time - base >= enough || next >= usualSize else { continue }
            guard time <= Self.maximumTime else {
                return Growth(n: n, time: time, timeOf8n: time, ratio: .infinity, outcome: "")
            }
            time = min(time, least(of: Self.runCount - 1, atN))
            guard time - base >= enough || next >= usualSize else { continue }
            let at8n = try operation(next)
            var result = result(n, time, at8n, base, resolution)
            // More than twice the limit is not noise.
            for _ in 1..<Self.attemptCount
            where Self.limit..<2 * Self.limit ~= result.ratio && result.timeOf8n < Self.maximumTime {
                base = min(base, least(of: Self.runCount, smallest))
                time = least(of: Self.runCount, atN)
                let again = self.result(n, time, at8n, base, resolution)
                if again.ratio < result.ratio { result = again }
            }
            // The time at n was too short to measure, so n was too small.
            guard result.ratio < Self.limit || time - base >= enough || next == sizes.last else { continue }
            return result
        }
        return Growth(n: 0, time: 0, timeOf8n: 0, ratio: .infinity, outcome: "")
    }

    private mutating func base(_ smallest: Operation) -> Int {
        guard smallest.hasCommonBase else { return least(of: 2, smallest) }
        if let base = commonBases[smallest.name] { return base }
        let base = least(of: Self.runCount, smallest)
        commonBases[smallest.name] = base
        return base
    }

    private func result(_ n: Int, _ time: Int, _ at8n: Operation, _ base: Int, _ resolution: Int) -> Growth {
        let excess = Double(max(time - base, resolution))
        var timeOf8n = Int.max
        var outcome = ""
        for _ in 0..<Self.runCount {
            let run = at8n.measure()
            timeOf8n = min(timeOf8n, run.time)
            outcome = run.outcome
            guard Double(timeOf8n - base) > Self.clearlyPassed * excess, timeOf8n < Self.maximumTime else { break }
        }
        let ratio = Double(max(timeOf8n - base, 0)) / excess
        return Growth(
            n: n, time: time, timeOf8n: timeOf8n,
            ratio: timeOf8n < Self.maximumTime ? ratio : max(ratio, Self.limit), outcome: outcome)
    }

    /// The minimum of several runs, because other work of the machine only adds time.
    private func least(of count: Int, _ operation: Operation) -> Int {
        var time = operation.measure().time
        for _ in 1..<count where time <= Self.maximumTime { time = min(time, operation.measure().time) }
        return time
    }
}

extension GrowthTable {
    /// Measures everything, and prints it.
    ///
    /// - Parameters:
    ///   - program: the path of `receipt`.
    ///   - words: `--all`, `--thorough`, `--sample` with two numbers, and words that all rows must contain.
    /// - Returns: 1 if a row failed, or if the table does not detect quadratic work.
    static func run(_ program: String, _ words: [String]) throws -> CInt {
        var table = GrowthTable()
        table.printsAll = words.contains("--all")
        table.isThorough = words.contains("--thorough")
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--sample" {
                guard let divisor = rest.popFirst().flatMap({ UInt64($0) }), divisor > 0,
                    let seed = rest.popFirst().flatMap({ UInt64($0) })
                else {
                    Self.reportError("--sample takes two numbers: one filling in how many, and a seed")
                    return 2
                }
                (table.divisor, table.seed) = (divisor, seed)
            } else if !word.hasPrefix("--") {
                table.filter.append(word)
            }
        }
        guard try table.findsGrowth() else {
            Self.reportError(
                "What is quadratic does not look so, or what is linear does: nothing can be measured here.")
            return 1
        }
        print(Row.head)
        let groups: [(String, () throws -> [Place])] = [
            ("receipts", Place.receipts), ("messages", Place.messages), ("armor", Place.armor),
            ("clients", Place.clients),
            ("JWS", Place.jws), ("transaction receipts", Place.transactionReceipts),
            ("commands", { try Place.commands(program) }),
        ]
        for (name, places) in groups {
            let count = table.rowCount
            var failure: (any Error)?
            let time = processorTime(withChildren: true) {
                do { for place in try places() { try table.add(place) } } catch { failure = error }
            }
            if let failure { throw failure }
            Self.reportError("\(name): \(table.rowCount - count) rows, \(time / 1_000_000_000) s of processor time")
        }
        Self.reportError("\(table.rowCount) rows, \(table.failures.count) failed")
        for row in table.failures { Self.reportError(row.text) }
        // A word that is in no row is a mistake.
        guard table.filter.isEmpty && table.divisor == 1 else {
            return table.failures.isEmpty && table.rowCount > 0 ? 0 : 1
        }
        let neverCompleted = table.neverCompleted
        for operation in neverCompleted {
            Self.reportError("Refuses everything, so that nothing is measured: \(operation)")
        }
        return table.failures.isEmpty && neverCompleted.isEmpty ? 0 : 1
    }

    private static func reportError(_ message: String) {
        let line = Array((message + "\n").utf8)
        unsafe line.withUnsafeBytes { unsafe _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Whether the table detects quadratic work beside much linear work, and accepts linear work.
    private mutating func findsGrowth() throws -> Bool {
        func linear(_ bytes: [UInt8]) -> Int {
            var sum = 0
            for _ in 0..<16 { for byte in bytes { sum = sum &* 31 &+ Int(byte) } }
            return sum
        }
        func quadratic(_ bytes: [UInt8]) -> Int {
            var sum = linear(bytes)
            for index in stride(from: 0, to: bytes.count, by: 64) {
                for byte in bytes[..<index] { sum = sum &* 31 &+ Int(byte) }
            }
            return sum
        }
        func operation(_ work: @escaping ([UInt8]) -> Int, _ n: Int) -> Operation {
            let bytes = [UInt8](repeating: 1, count: n)
            return Operation("") { Work("", work(bytes)) }
        }
        func ratio(_ work: @escaping ([UInt8]) -> Int) throws -> Double {
            try growth(operation(work, 1), [1 << 10, 1 << 13, 1 << 16]) { operation(work, $0) }.ratio
        }
        return try ratio(quadratic) >= Self.limit && ratio(linear) < Self.limit
    }
}
