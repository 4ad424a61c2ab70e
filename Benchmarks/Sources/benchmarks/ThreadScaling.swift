import CGauges
import Dispatch

/// Receipts per second with one verifier that all threads share, beside the floor with one key that all threads share.
enum ThreadScaling {
    static let taskName = "threads"
    static let purchases = 10

    /// Nanoseconds per receipt, all threads together.
    static func measure(_ workload: Workload, _ effort: Effort) throws -> [Measurement] {
        let threadCounts = [1, 2]
        let tasks: [BenchmarkTask] = [.floor, .verify]
        var samples: [[Double]] = Array(repeating: [], count: threadCounts.count * tasks.count)
        for _ in 0..<max(2, min(effort.maximumRounds, 25)) {
            for (row, task) in tasks.enumerated() {
                for (column, threads) in threadCounts.enumerated() {
                    samples[row * threadCounts.count + column].append(try time(workload, task, threads: threads))
                }
            }
        }
        var results: [Measurement] = []
        for (row, task) in tasks.enumerated() {
            for (column, threads) in threadCounts.enumerated() {
                let own = samples[row * threadCounts.count + column]
                let name = task == .floor ? "floor-\(taskName)-\(threads)" : "\(taskName)-\(threads)"
                results.append(
                    Measurement(
                        task: name, purchases: workload.purchases, bytes: workload.receipt.count,
                        medianNanoseconds: median(own), minimumNanoseconds: own.min() ?? 0,
                        ratioToFloor: median(own) / median(samples[column]),
                        allocations: try allocations(workload, task), peakResidentBytes: 0))
            }
        }
        return results
    }

    private static func time(_ workload: Workload, _ task: BenchmarkTask, threads: Int) throws -> Double {
        let callsPerThread = 2000
        let input = try workload.inputs(for: task, count: 1)[0]
        // Nothing in a workload changes once it is made.
        nonisolated(unsafe) let workload = workload
        let start = gauge_nanoseconds()
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            for _ in 0..<callsPerThread where (try? unsafe workload.call(task, input)) != nil {}
        }
        return Double(gauge_nanoseconds() - start) / Double(callsPerThread * threads)
    }

    private static func allocations(_ workload: Workload, _ task: BenchmarkTask) throws -> Int {
        let input = try workload.inputs(for: task, count: 1)[0]
        _ = try workload.call(task, input)
        let before = gauge_allocations()
        _ = try workload.call(task, input)
        return Int(gauge_allocations() - before)
    }
}
