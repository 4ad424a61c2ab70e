import CGauges
import Foundation

@main
enum Benchmarks {
    static func main() {
        do {
            try run(Options(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n\(Options.usage)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ options: Options) throws {
        let fixture = try Fixture()
        var report = Report(measurements: [])
        var sink = 0
        for purchases in options.purchases {
            let tasks = BenchmarkTask.allCases.filter { $0 == .floor || options.includes($0.rawValue) }
            // Only the floor: there is nothing to compare with it.
            guard tasks.count > 1 || options.includes(BenchmarkTask.floor.rawValue) else { break }
            var measuring = Measuring(try Workload(purchases: purchases, fixture: fixture), tasks)
            report.measurements += try measuring.run(options.effort)
            sink &+= measuring.sink
        }
        if options.includes(ThreadScaling.taskName) {
            let workload = try Workload(purchases: ThreadScaling.purchases, fixture: fixture)
            report.measurements += try ThreadScaling.measure(workload, options.effort)
        }
        if SignedDataTask.allCases.contains(where: { options.includes($0.rawValue) }) {
            report.measurements += try SignedDataTiming().measure(options.effort)
        }
        switch options.format {
        case .table: print(report.table(), "\n\(Report.machine); checksum \(sink)")
        case .json: print(try report.json())
        }
        guard options.checksAllocations else { return }
        let violations = try Thresholds(contentsOf: Thresholds.file).violations(report.measurements)
        guard violations.isEmpty else { throw BenchmarkError.tooManyAllocations(violations) }
    }
}

struct Options {
    enum Format { case table, json }

    static let usage = """
        usage: benchmarks [--json] [--filter TASK]… [--purchases COUNT]… [--smoke] [--check]
          --filter     measure this task (and the floor); may be repeated
          --purchases  with receipts of so many purchases; may be repeated
          --smoke      few repetitions, up to 10,000 purchases
          --check      fail if a task allocates more often than allocations.txt allows
        tasks: \(taskNames.joined(separator: " "))
        """

    private static let taskNames =
        BenchmarkTask.allCases.map(\.rawValue) + [ThreadScaling.taskName] + SignedDataTask.allCases.map(\.rawValue)

    private(set) var format = Format.table
    private(set) var effort = Effort.full
    private(set) var checksAllocations = false
    private(set) var purchases: [Int] = []
    private var filters: [String] = []

    init(_ arguments: ArraySlice<String>) throws {
        var arguments = arguments
        var purchaseCounts = [0, 1, 10, 100, 1000, 10_000, 100_000]
        while let argument = arguments.popFirst() {
            switch argument {
            case "--json": format = .json
            case "--check": checksAllocations = true
            case "--smoke":
                effort = .smoke
                purchaseCounts.removeLast()
            case "--filter":
                guard let task = arguments.popFirst(), Self.taskNames.contains(task) else {
                    throw BenchmarkError.usage
                }
                filters.append(task)
            case "--purchases":
                guard let count = arguments.popFirst().flatMap(Int.init), count >= 0 else { throw BenchmarkError.usage }
                purchases.append(count)
            default: throw BenchmarkError.usage
            }
        }
        if purchases.isEmpty { purchases = purchaseCounts }
    }

    func includes(_ task: String) -> Bool { filters.isEmpty || filters.contains(task) }
}
