import CGauges

/// The results of one task with one receipt.
struct Measurement {
    let task: String
    let purchases: Int
    /// The size of the binary receipt.
    let bytes: Int
    let medianNanoseconds: Double
    let minimumNanoseconds: Double
    /// The ratio of the medians.
    var ratioToFloor: Double?
    /// Calls of the allocator during one call.
    let allocations: Int
    /// The peak growth of the resident set during one call, which excludes its input.
    let peakResidentBytes: Int
}

/// How long to measure.
struct Effort {
    /// For all tasks with one number of purchases together.
    var nanosecondsPerWorkload: UInt64
    var minimumRounds: Int
    var maximumRounds: Int

    static let full = Effort(nanosecondsPerWorkload: 6_000_000_000, minimumRounds: 15, maximumRounds: 2000)
    static let smoke = Effort(nanosecondsPerWorkload: 0, minimumRounds: 2, maximumRounds: 2)
}

/// Measures tasks with one workload, in turns, so that other load affects all of them alike.
struct Measuring {
    let workload: Workload
    let tasks: [BenchmarkTask]
    /// The sum of all results, so that their work is not optimized away.
    private(set) var sink = 0
    private var states: [State]

    private struct State {
        /// Enough calls for a sample of 20 µs; reading a clock takes a thousandth of that.
        var callsPerSample = 1
        /// Enough samples for a turn of some milliseconds.
        var samplesPerTurn = 1
        var samples: [Double] = []
        var allocations = 0
        var peakResidentBytes = 0
    }

    init(_ workload: Workload, _ tasks: [BenchmarkTask]) {
        self.workload = workload
        self.tasks = tasks
        states = Array(repeating: State(), count: tasks.count)
    }

    mutating func run(_ effort: Effort) throws -> [Measurement] {
        for index in tasks.indices { try prepare(index) }
        let start = gauge_nanoseconds()
        var round = 0
        while round < effort.minimumRounds
            || round < effort.maximumRounds && gauge_nanoseconds() - start < effort.nanosecondsPerWorkload
        {
            for index in tasks.indices { try takeTurn(index) }
            round += 1
        }
        return results()
    }

    /// Warms up; measures what needs no repetition.
    private mutating func prepare(_ index: Int) throws {
        let task = tasks[index]
        for input in try workload.inputs(for: task, count: 2) { sink &+= try workload.call(task, input) }

        var counts: [Int] = []
        for input in try workload.inputs(for: task, count: 3) {
            let before = gauge_allocations()
            sink &+= try workload.call(task, input)
            counts.append(Int(gauge_allocations() - before))
        }
        states[index].allocations = counts.sorted()[1]

        var fastest = UInt64.max
        for input in try workload.inputs(for: task, count: 3) {
            let resident = gauge_reset_resident_peak()
            let start = gauge_nanoseconds()
            sink &+= try workload.call(task, input)
            fastest = min(fastest, gauge_nanoseconds() - start)
            states[index].peakResidentBytes = max(0, Int(gauge_resident_peak()) - Int(resident))
        }
        if !task.needsNewChains { states[index].callsPerSample = max(1, Int(20_000 / max(1, fastest))) }
        let sample = fastest * UInt64(states[index].callsPerSample)
        states[index].samplesPerTurn = max(1, min(100, Int(3_000_000 / max(1, sample))))
    }

    private mutating func takeTurn(_ index: Int) throws {
        let task = tasks[index]
        let calls = states[index].callsPerSample
        for input in try workload.inputs(for: task, count: states[index].samplesPerTurn) {
            let start = gauge_nanoseconds()
            for _ in 0..<calls { sink &+= try workload.call(task, input) }
            states[index].samples.append(Double(gauge_nanoseconds() - start) / Double(calls))
        }
    }

    private func results() -> [Measurement] {
        let floor = tasks.firstIndex(of: .floor).map { median(states[$0].samples) }
        return zip(tasks, states).map { task, state in
            Measurement(
                task: task.rawValue, purchases: workload.purchases, bytes: workload.receipt.count,
                medianNanoseconds: median(state.samples), minimumNanoseconds: state.samples.min() ?? 0,
                ratioToFloor: floor.map { median(state.samples) / $0 }, allocations: state.allocations,
                peakResidentBytes: state.peakResidentBytes)
        }
    }
}

func median(_ samples: [Double]) -> Double {
    let sorted = samples.sorted()
    guard let middle = sorted.indices.dropFirst(sorted.count / 2).first else { return 0 }
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
