import Foundation

/// The rate of `receipt batch`, and of one process for each processor that verifies the same receipts and does nothing
/// else, or also reads and writes the same.
@main
enum BatchRate {
    static func main() {
        do {
            let words = CommandLine.arguments.dropFirst()
            if words.first == Part.word {
                var part = try Part(words.dropFirst())
                return try part.run()
            }
            try compare(Options(words))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n\(Options.usage)\n".utf8))
            exit(1)
        }
    }

    private static func compare(_ options: Options) throws {
        print(
            "| purchases | output | rows/s of the batch | of processes that verify | ratio: median, all | batch: rows per second of a processor | ratio: median, all | of processes that read, verify and write | ratio: median, all |"
        )
        print("| ---: | --- | ---: | ---: | --- | ---: | --- | ---: | --- |")
        for purchases in options.purchases {
            let fixture = try Fixture(purchases: purchases, seconds: options.seconds)
            // The first run of each brings the files into memory.
            for output in Output.allCases { _ = try Pair(fixture, output, options, batchFirst: true) }
            var pairs: [Output: [Pair]] = [:]
            for round in 0..<options.rounds {
                for output in Output.allCases {
                    pairs[output, default: []]
                        .append(try Pair(fixture, output, options, batchFirst: round.isMultiple(of: 2)))
                }
            }
            for output in Output.allCases { report(pairs[output] ?? [], purchases, output) }
        }
    }

    private static func report(_ pairs: [Pair], _ purchases: Int, _ output: Output) {
        let columns = [
            String(purchases), output.rawValue, String(Int(median(pairs.map(\.batch.rowsPerSecond)))),
            String(Int(median(pairs.map(\.parts.rowsPerSecond)))),
            ratios(pairs.map { $0.batch.rowsPerSecond / $0.parts.rowsPerSecond }),
            String(Int(median(pairs.map(\.batch.rowsPerProcessorSecond)))),
            ratios(pairs.map { $0.batch.rowsPerProcessorSecond / $0.parts.rowsPerProcessorSecond }),
            String(Int(median(pairs.map(\.wholeParts.rowsPerSecond)))),
            ratios(pairs.map { $0.batch.rowsPerSecond / $0.wholeParts.rowsPerSecond }),
        ]
        print("| \(columns.joined(separator: " | ")) |")
    }

    private static func ratios(_ values: [Double]) -> String {
        func text(_ value: Double) -> String { String(format: "%.2f", value) }
        return "**\(text(median(values)))**: \(values.map(text).joined(separator: ", "))"
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}

/// What is written for each receipt.
enum Output: String, CaseIterable {
    /// The batch writes brief verdicts, and its parts nothing.
    case brief
    /// Both write the whole JSON.
    case json
}

struct Options {
    static let usage = """
        usage: batch-rate RECEIPT [--purchases COUNT]… [--rounds N] [--jobs N] [--seconds S] [--to-null]
          RECEIPT      the command, built in release mode
          --purchases  receipts of so many purchases; 1, 10 and 100 by default
          --rounds     the number of pairs; 5 by default
          --jobs       the number of threads and of processes; by default that of the processors
          --seconds    how long a run takes, roughly; 2 by default
          --to-null    write to /dev/null instead of a file
        """

    let receipt: String
    private(set) var purchases: [Int] = []
    private(set) var rounds = 5
    private(set) var jobs = ProcessInfo.processInfo.activeProcessorCount
    private(set) var seconds = 2.0
    private(set) var writesToNull = false

    init(_ words: ArraySlice<String>) throws {
        var words = words
        guard let receipt = words.popFirst() else { throw BatchRateError.usage }
        self.receipt = receipt
        func next<Value: LosslessStringConvertible & Comparable>(from minimum: Value) throws -> Value {
            guard let value = words.popFirst().flatMap(Value.init), value >= minimum else { throw BatchRateError.usage }
            return value
        }
        while let word = words.popFirst() {
            switch word {
            case "--purchases": purchases.append(try next(from: 0))
            case "--rounds": rounds = try next(from: 1)
            case "--jobs": jobs = try next(from: 1)
            case "--seconds": seconds = try next(from: 0.1)
            case "--to-null": writesToNull = true
            default: throw BatchRateError.usage
            }
        }
        if purchases.isEmpty { purchases = [1, 10, 100] }
    }
}

enum BatchRateError: Error {
    case usage
    /// A process ended with another status than 0.
    case failed(String, Int32)
    /// A part of the batch cannot read its files.
    case unreadable(String)
}
