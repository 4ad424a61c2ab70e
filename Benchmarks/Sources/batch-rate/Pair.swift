import Foundation

/// The rates of the batch and of its parts, one right after the other.
struct Pair {
    let batch: Rate
    /// Of processes that only verify.
    let parts: Rate
    /// Of processes that also read the lines and write.
    let wholeParts: Rate

    init(_ fixture: Fixture, _ output: Output, _ options: Options, batchFirst: Bool) throws {
        func file(_ name: String) -> String {
            options.writesToNull ? "/dev/null" : fixture.folder.appending(path: name).path
        }
        func batchRate() throws -> Rate {
            let words = ["batch", "--root", fixture.root, "--jobs", String(options.jobs), "--quiet"]
            return try Self.rate(
                of: fixture.lineCount,
                [(options.receipt, words + (output == .brief ? ["--brief"] : []) + [fixture.lines], file("batch"))])
        }
        func partsRate(_ work: Part.Work) throws -> Rate {
            let each = fixture.lineCount / options.jobs
            let (input, count) =
                work == .verifies ? (fixture.receipts, each) : (fixture.lines, options.jobs)
            return try Self.rate(
                of: work == .verifies ? each * options.jobs : fixture.lineCount,
                (0..<options.jobs).map { index in
                    let words = [
                        Part.word, fixture.root, work.rawValue, input, String(index), String(count), output.rawValue,
                    ]
                    return (CommandLine.arguments[0], words, file("part\(index)"))
                })
        }
        if batchFirst {
            batch = try batchRate()
            parts = try partsRate(.verifies)
            wholeParts = try partsRate(.readsAndWrites)
        } else {
            wholeParts = try partsRate(.readsAndWrites)
            parts = try partsRate(.verifies)
            batch = try batchRate()
        }
    }

    /// Runs the commands at once, each with a file for its output, and measures until the last one has ended.
    private static func rate(
        of count: Int, _ commands: [(program: String, words: [String], output: String)]
    ) throws -> Rate {
        let processes = try commands.map { command in
            if command.output != "/dev/null" {
                guard FileManager.default.createFile(atPath: command.output, contents: nil) else {
                    throw BatchRateError.unreadable(command.output)
                }
            }
            let process = Process()
            process.executableURL = URL(filePath: command.program)
            process.arguments = command.words
            process.standardOutput = try FileHandle(forWritingTo: URL(filePath: command.output))
            return process
        }
        let (start, processorStart) = (ContinuousClock.now, processorTimeOfChildren())
        for process in processes { try process.run() }
        for process in processes { process.waitUntilExit() }
        let duration = ContinuousClock.now - start
        for (process, command) in zip(processes, commands) where process.terminationStatus != 0 {
            throw BatchRateError.failed(command.words[0], process.terminationStatus)
        }
        return Rate(
            rowsPerSecond: Double(count) / (duration / .seconds(1)),
            rowsPerProcessorSecond: Double(count) / ((processorTimeOfChildren() - processorStart) / .seconds(1)))
    }

    /// The processor time of all processes that have ended.
    private static func processorTimeOfChildren() -> Duration {
        var usage = rusage()
        _ = unsafe getrusage(CInt(RUSAGE_CHILDREN.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(.zero) {
            $0 + .seconds($1.tv_sec) + .microseconds($1.tv_usec)
        }
    }
}

struct Rate {
    let rowsPerSecond: Double
    /// Less affected by other load.
    let rowsPerProcessorSecond: Double
}
