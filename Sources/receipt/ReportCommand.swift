@_spi(Surfaces) import AppStoreReceipt
@_spi(Surfaces) import ReceiptReport
import StrictText

/// `receipt report`
struct ReportCommand: Command {
    static let syntax = CommandSyntax(
        name: "report",
        summary: "Verifies evidence of one customer and explains it on an HTML page",
        operands: "[FILE|-]...",
        options: [
            .init(name: "--out", value: "FILE", help: "Write the page to FILE. No file is overwritten."),
            .init(
                name: "--at", value: "DATE",
                help: "Decide for this date, such as 2025-01-31T12:00:00Z; now without it."),
            .init(
                name: "--time-zone", value: "NAME",
                help: "Show dates in this time zone, too, such as Asia/Shanghai. The names are those of this system."),
            .init(
                name: "--language", value: Language.allCases.map(\.rawValue).joined(separator: "|"),
                help: "The language of the page. Codes and values are the same in all languages."),
        ] + VerifierOptions.options.filter { !$0.name.hasSameBytes(as: "--at") } + VerifierOptions.decisionOptions,
        notes: """
            The page has the verdict, the checks, the signer, the purchases with what each gives at the date,
            and a timeline. It has no script, and requests nothing. All files are evidence of one customer.

            Exit status: 0 if all inputs were verified, 1 if one was refused (the page says why), 2 for wrong
            usage, an unreadable file, or a host whose libcrypto cannot verify receipts.
            """)

    private let inputs: [FileInput]
    private let verifierOptions: VerifierOptions
    private let date: Instant
    private let language: Language
    private let timeZone: ReportTimeZone?
    private let output: String

    init(_ arguments: Arguments) throws(UsageError) {
        verifierOptions = try VerifierOptions(arguments, hasValidationDate: false)
        date =
            try arguments["--at"].map { text throws(UsageError) in
                try Instant(option: "--at", text, orOneOf: [])
            } ?? .now
        language = arguments["--language"].flatMap(Language.init) ?? .english
        timeZone = try arguments["--time-zone"].map { name throws(UsageError) in
            try TimeZoneDatabase.system.zone(named: name, option: "--time-zone")
        }
        guard let output = arguments["--out"] else { throw .missingOption("--out") }
        self.output = output
        inputs = try arguments.inputs()
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let verifier = verifierOptions.makeVerifier(&console) else { return .unusable }
        var pieces: [Decision.Piece] = []
        var evidence: [[UInt8]] = []
        for input in inputs {
            let outcome: Decision.Piece.Outcome
            do throws(SystemError) {
                evidence.append(try input.read())
                outcome = .init(verifying: evidence[evidence.count - 1], by: verifier)
            } catch {
                input.report(error, asJSON: false, &console)
                evidence.append([])
                outcome = .unreadable(message: error.description)
            }
            pieces.append(Decision.Piece(.file(input.name), outcome))
        }
        let decision = Decision(pieces, at: date, productTypes: verifierOptions.productTypes)
        var report = Report(decision, on: evidence, by: verifier, for: verifierOptions.audience)
        report.language = language
        report.timeZone = timeZone
        do throws(SystemError) {
            try System.write(report.html.span, toNewFileOrDevice: output)
        } catch {
            console.report("\(output.printable): \(error)")
            return .unusable
        }
        return ExitStatus(decision)
    }
}
