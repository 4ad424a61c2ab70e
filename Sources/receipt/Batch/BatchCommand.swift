import AppStoreReceipt
import StrictText

/// `receipt batch`
struct BatchCommand: Command {
    static let syntax = CommandSyntax(
        name: "batch",
        summary: "Verifies many receipts, one on each line, on all processors",
        operands: "[FILE|-]",
        maximumOperandCount: 1,
        options: VerifierOptions.options + [
            .init(name: "--jobs", value: "N", help: "The number of threads; by default one for each processor."),
            .init(
                name: "--brief", value: "",
                help:
                    "Print only the verdict, the bundle id, the environment and the transaction ids, including those of expired and revoked purchases."
            ),
            .init(
                name: "--max-line", value: "BYTES",
                help:
                    "The length of the longest accepted line; \(defaultMaximumLineByteCount) by default. It and --jobs limit the memory, whatever the length of the input."
            ),
            .init(name: "--quiet", value: "", help: "Do not show the progress."),
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
            """)

    /// The size of a receipt of about 35,000 purchases.
    static let defaultMaximumLineByteCount = 16 << 20

    private let input: FileInput
    private let verifierOptions: VerifierOptions
    private let jobs: Int?
    private let isBrief: Bool
    private let isQuiet: Bool
    private let maximumLineByteCount: Int

    init(_ arguments: Arguments) throws(UsageError) {
        verifierOptions = try VerifierOptions(arguments)
        jobs = try arguments.number("--jobs", in: 1...1024)
        isBrief = arguments["--brief"] != nil
        isQuiet = arguments["--quiet"] != nil
        maximumLineByteCount =
            try arguments.number("--max-line", in: 1...(1 << 31)) ?? Self.defaultMaximumLineByteCount
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
        let lines = LineBlocks(descriptor: descriptor, maximumLineByteCount: maximumLineByteCount)
        let worker = BatchWorker(
            verifier: verifier, given: verifierOptions.given, isBrief: isBrief,
            maximumLineByteCount: maximumLineByteCount)
        let results = BatchSequence(lines, concurrency: jobs) { block in
            block.map { worker.work($0) }
        }.makeIterator()

        let interruption = Interruption(output: console.writeCounter, results.cancel)
        defer { interruption.end() }
        var progress = TerminalProgress(totalByteCount: System.byteCount(of: descriptor), isHidden: isQuiet)
        var status = ExitStatus.passed
        var isFirst = true
        while console.isOpen, !interruption.hasHappened, let result = results.next() {
            switch result {
            case .success(let block):
                progress.makeRoom()
                if isFirst, block.beginsBinary {
                    console.report(
                        "\(input.name.printable): this begins like a binary receipt, and 'receipt batch' reads one text a line. For a binary file, use 'receipt verify'."
                    )
                }
                isFirst = false
                for part in WholeLines(of: block.output) where !interruption.hasHappened { console.write(part) }
                progress.advance(lineCount: block.lineCount, byteCount: block.byteCount)
                status.formMaximum(block.status)
            case .failure(let error):
                progress.makeRoom()
                console.report("\(input.name.printable): \(error)")
                status.formMaximum(.unusable)
            }
        }
        progress.end()
        return interruption.hasHappened ? .interrupted : status
    }
}

/// A text in parts that end with a line, because a write can take as long as its reader.
private struct WholeLines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    /// The number of bytes that a pipe takes at once.
    private static let byteCount = 1 << 16

    init(of text: [UInt8]) { rest = text[...] }

    mutating func next() -> ArraySlice<UInt8>? {
        guard !rest.isEmpty else { return nil }
        let lineEnd = rest.dropFirst(Self.byteCount - 1).firstIndex(of: UInt8(ascii: "\n"))
        let part = rest[..<(lineEnd.map { $0 + 1 } ?? rest.endIndex)]
        rest = rest[part.endIndex...]
        return part
    }
}

/// Verifies the lines of a block.
private struct BatchWorker: Sendable {
    let verifier: AppStoreVerifier
    let given: GivenOptions
    let isBrief: Bool
    let maximumLineByteCount: Int

    func work(_ block: LineBlock) -> Result {
        var writer = JSONWriter()
        var status = ExitStatus.passed
        let bytes = block.bytes.span
        for line in block.lines {
            let verdict: BatchVerdict
            if line.count <= maximumLineByteCount {
                verdict = verifier.verdict(on: bytes.extracting(line))
            } else {
                verdict = BatchVerdict(
                    .failure(.input(InputError(.inputTooLarge, form: nil, offset: maximumLineByteCount))))
            }
            writer.verdict(verdict, isBrief: isBrief, advice: { $0.commandAdvice(given) })
            status.formMaximum(ExitStatus(verdict.result))
            writer.endLine()
        }
        return Result(
            output: writer.bytes, lineCount: block.lines.count, byteCount: block.receivedByteCount, status: status,
            beginsBinary: bytes.count > 1 && bytes[0] == 0x30 && bytes[1] >= 0x80)
    }

    struct Result: Sendable {
        /// A line for each of the block.
        let output: [UInt8]
        let lineCount: Int
        /// The number of bytes that were read for it.
        let byteCount: Int
        let status: ExitStatus
        /// Whether the block begins with the tag of a SEQUENCE and a length that is no character of a text.
        let beginsBinary: Bool
    }
}
