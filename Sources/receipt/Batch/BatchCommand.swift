@_spi(Surfaces) import AppStoreReceipt
import StrictText

/// `receipt batch`
struct BatchCommand: Command {
    static let syntax = CommandSyntax(
        name: "batch",
        summary: "Verifies many receipts, one on each line, on all processors",
        operands: "[FILE|-]",
        maximumOperandCount: 1,
        options: VerifierOptions.options + [
            .init("--jobs", "N", "The number of threads; by default one for each processor."),
            .init(
                "--brief",
                "Print only the verdict, the bundle id, the environment and the transaction ids, including those of expired and revoked purchases."
            ),
            .init(
                "--only", "refused|verified",
                "Print only the verdicts on these lines, and on those that this host cannot check. Each has the number of its line as \"line\"."
            ),
            .init(
                "--from-line", "N",
                "Skip the lines before line N, for example those that an interrupted run has answered."),
            .init(
                "--continue", "FILE",
                "Append the verdicts to FILE instead of printing them, from the first line that has none. FILE is created if it does not exist."
            ),
            .init(
                "--max-line", "BYTES",
                "The length of the longest accepted line; \(defaultMaximumLineByteCount) by default. It and --jobs limit the memory, whatever the length of the input."
            ),
            .init(
                "--allow-refused", "Exit with 0 even if lines were refused. Other failures still have another status."),
            .init(
                "--summary",
                "At the end, print the number of verified lines and of refused lines by code to standard error, and after an interruption the line to go on from. Lines whose verdicts were not written do not count."
            ),
            .init("--quiet", "Do not show the progress."),
        ],
        notes: """
            A line is a receipt or a transaction receipt in base64, a JWS, or a JSON object with 'receipt-data',
            'signedPayload', 'signedTransactionInfo', 'signedRenewalInfo' or
            'signedAppTransactionInfo', and any other members.

            Each line, including an empty one, results in one line of output, in the same order: the
            object of 'receipt verify --format json' without 'file'. The other members of the line
            are in its first member, such as "input":{"id":17}. Nothing in "input" is verified.

            SIGINT and SIGTERM end the work after a complete line, or within a line if the output is
            not read for a second. The exit status is then 130. It is 141 if the output is a pipe
            that was closed. Otherwise it is that of 'receipt verify'.

            A run with --continue can be interrupted at any moment, also by SIGKILL. Run the same command
            again, with the same input and the same options:
              receipt batch --continue verdicts lines

            It counts the verdicts in FILE, removes the last one if it was cut off, and goes on after
            it. The exit status and the summary are those of all lines, also of earlier runs. A FILE that
            has anything else, or more verdicts than the input has lines, is refused, and so is one to
            which another process is writing with --continue.
            """)

    /// The size of a receipt of about 35,000 purchases.
    static let defaultMaximumLineByteCount = 16 << 20

    private let input: FileInput
    private let verifierOptions: VerifierOptions
    private let jobs: Int?
    private let isBrief: Bool
    private let only: BatchWorker.Verdict?
    private let firstNumber: Int
    /// The file for the verdicts, which may contain some.
    private let file: String?
    private let maximumLineByteCount: Int
    private let allowsRefused: Bool
    private let hasSummary: Bool
    private let isQuiet: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        verifierOptions = try VerifierOptions(arguments)
        jobs = try arguments.number("--jobs", in: 1...1024)
        isBrief = arguments["--brief"] != nil
        only = arguments["--only"].flatMap(BatchWorker.Verdict.init)
        firstNumber = try arguments.number("--from-line", in: 1...Int.max) ?? 1
        file = arguments["--continue"]
        if file != nil, arguments["--from-line"] != nil { throw .conflictingOptions("--continue", "--from-line") }
        maximumLineByteCount =
            try arguments.number("--max-line", in: 1...(1 << 31)) ?? Self.defaultMaximumLineByteCount
        allowsRefused = arguments["--allow-refused"] != nil
        hasSummary = arguments["--summary"] != nil
        isQuiet = arguments["--quiet"] != nil
        input = try arguments.inputs()[0]
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let verifier = verifierOptions.makeVerifier(&console) else { return .unusable }
        let descriptor: CInt
        do throws(SystemError) {
            descriptor = try input.open()
        } catch {
            console.report("\(input.name.printable): \(error)")
            return .unusable
        }
        guard let file else { return run(verifier, on: descriptor, from: firstNumber, Tally(), &console) }
        do throws(VerdictFileError) {
            let verdicts = try VerdictFile.open(file, only: only, jobs: jobs)
            defer { System.close(verdicts.descriptor) }
            console.redirectOutput(to: verdicts.descriptor, name: file)
            return run(verifier, on: descriptor, from: verdicts.nextNumber, verdicts.tally, &console)
        } catch {
            console.report("\(file.printable): \(error)")
            return .unusable
        }
    }

    /// - Parameters:
    ///   - descriptor: The input.
    ///   - firstNumber: The number of the first line to verify.
    ///   - tally: The verdicts of earlier runs.
    private func run(
        _ verifier: AppStoreVerifier, on descriptor: CInt, from firstNumber: Int, _ tally: Tally,
        _ console: inout Console
    ) -> ExitStatus {
        let pool = BlockPool()
        let lines = LineBlocks(
            descriptor: descriptor, maximumLineByteCount: maximumLineByteCount, firstNumber: firstNumber, pool: pool)
        let worker = BatchWorker(
            verifier: verifier, audience: verifierOptions.audience, isBrief: isBrief, only: only,
            maximumLineByteCount: maximumLineByteCount)
        let results = BatchSequence(lines, concurrency: jobs) { block in
            if case .success(let block) = block { worker.work(block) }
            return block
        }.makeIterator()

        let interruption = Interruption(output: console.writtenByteCount, results.cancel)
        defer { interruption.end() }
        var progress = TerminalProgress(totalByteCount: System.byteCount(of: descriptor), isHidden: isQuiet)
        var tally = tally
        var status = ExitStatus.passed
        var nextNumber = firstNumber
        while console.isOpen, !interruption.hasHappened, let result = results.next() {
            progress.makeRoom()
            switch result {
            case .success(let block):
                block.withContents { contents in
                    if contents.firstNumber == firstNumber, contents.beginsBinary { reportBinary(&console) }
                    let answeredCount = write(contents, to: &console, interruption)
                    tally.add(contents.results.prefix(answeredCount))
                    nextNumber = contents.firstNumber + answeredCount
                    progress.advance(lineCount: contents.lines.count, byteCount: contents.receivedByteCount)
                }
                pool.give(block)
            case .failure(let error):
                console.report("\(input.name.printable): \(error)")
                status = .unusable
            }
        }
        progress.end()
        if let file, status == .passed, !interruption.hasHappened, lines.skippedCount.value < firstNumber - 1 {
            console.report(
                """
                \(file.printable): has verdicts on \(firstNumber - 1) lines, and the input has only \
                \(lines.skippedCount.value): they are on another input
                """)
            return .unusable
        }
        if hasSummary {
            console.report(tally.summary)
            let unchecked = verifierOptions.unchecked
            if !unchecked.isEmpty { console.report("not checked: \(unchecked.joined(separator: ", "))") }
        }
        guard !interruption.hasHappened else {
            let advice = file == nil ? "pass --from-line \(nextNumber)" : "run the same command again"
            if hasSummary { console.report("interrupted; to go on, \(advice)") }
            return .interrupted
        }
        if !allowsRefused || tally.status > .refused { status.formMaximum(tally.status) }
        return status
    }

    /// Writes the verdicts of a block, and returns the number of lines whose verdict is written: all, unless the work
    /// was interrupted or the output failed.
    private func write(
        _ block: borrowing LineBlock.Contents, to console: inout Console, _ interruption: Interruption
    ) -> Int {
        let output = block.output.bytes.span
        var end = 0
        while end < output.count, console.isOpen, !interruption.hasHappened {
            // In parts that end with a line, because a write can take as long as its reader.
            let next = min(
                System.indexOfLineFeed(in: output, from: min(end + Self.partByteCount, output.count)) + 1,
                output.count)
            end += console.write(output.extracting(end..<next))
        }
        guard end < output.count else { return block.lines.count }
        var (writtenCount, position) = (0, 0)
        while true {
            position = System.indexOfLineFeed(in: output, from: position) + 1
            guard position <= end else { break }
            writtenCount += 1
        }
        return only == nil ? writtenCount : block.shown[writtenCount]
    }

    /// The number of bytes that a pipe takes at once.
    private static let partByteCount = 1 << 16

    private func reportBinary(_ console: inout Console) {
        console.report(
            "\(input.name.printable): this begins like a binary receipt, and 'receipt batch' reads one text a line. For a binary file, use 'receipt verify'."
        )
    }
}
