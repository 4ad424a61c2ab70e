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
            .init("--out", "FILE", "Write the page to FILE. No file is overwritten. '-' is standard output."),
            .init(
                "--time-zone", "NAME",
                "Show dates in this time zone, too, such as Asia/Shanghai. The names are those of this system."),
            .init(
                "--language", Language.allCases.map(\.rawValue).joined(separator: "|"),
                "The language of the page. Codes and values are the same in all languages."),
        ] + CustomerEvidence.options,
        notes: """
            The page has the verdict, the checks, the signer, the purchases with what each gives at the date,
            and a timeline. It has no script, and requests nothing. All files are evidence of one customer.

            Exit status: 0 if all inputs were verified, 1 if one was refused (the page says why), 2 for wrong
            usage, an unreadable file, or a host whose libcrypto cannot verify receipts.
            """)

    private let evidence: CustomerEvidence
    private let language: Language
    private let timeZone: ReportTimeZone?
    private let output: String

    init(_ arguments: Arguments) throws(UsageError) {
        evidence = try CustomerEvidence(arguments)
        language = arguments["--language"].flatMap(Language.init) ?? .english
        timeZone = try arguments["--time-zone"].map { name throws(UsageError) in
            try TimeZoneDatabase.system.zone(named: name, option: "--time-zone")
        }
        guard let output = arguments["--out"] else { throw .missingOption("--out") }
        self.output = output
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let (decision, bytes, verifier) = evidence.decision(&console) else { return .unusable }
        var report = Report(decision, on: bytes, by: verifier, for: evidence.options.audience)
        report.language = language
        report.timeZone = timeZone
        guard !output.hasSameBytes(as: "-") else {
            console.write(report.html.span)
            return ExitStatus(decision)
        }
        do throws(SystemError) {
            try System.write(report.html.span, toNewFileOrDevice: output)
        } catch {
            console.report("\(output.printable): \(error)")
            return .unusable
        }
        return ExitStatus(decision)
    }
}
