import AppStoreReceipt
import StrictText

/// `receipt decode`
struct DecodeCommand: Command {
    static let syntax = CommandSyntax(
        name: "decode",
        summary: "Shows the contents of receipts without verifying them",
        operands: "[FILE|-]...",
        options: [
            .init(
                name: "--format", value: "text|json|attributes",
                help:
                    "'json' and 'attributes' print one line for each input. 'attributes' lists\nall attributes by number."
            )
        ],
        notes: """
            Anyone can have written an unverified receipt. To verify one, use 'receipt verify'.
            Exit status: 0 if all inputs were decoded, 1 if one was refused, 2 for wrong usage or
            an unreadable file.
            """)

    private enum Format: String { case text, json, attributes }

    private let inputs: [FileInput]
    private let format: Format

    init(_ arguments: Arguments) throws(UsageError) {
        format = arguments["--format"].flatMap(Format.init) ?? .text
        inputs = try arguments.inputs()
    }

    func run(_ console: inout Console) -> ExitStatus {
        let report = TextReport(style: console.style, verification: nil)
        var writer = JSONWriter()
        var status = ExitStatus.passed
        for (index, input) in inputs.enumerated() {
            if index > 0, format == .text { console.print() }
            guard let bytes = input.read(asJSON: format != .text, &console, &status) else { continue }
            if TransactionReceiptInput.isTransactionReceipt(bytes.span) {
                status.formMaximum(decode(bytes, of: input, report, &console))
                continue
            }
            let result = Result { () throws(VerificationError) in try UnverifiedReceipt(decoding: bytes) }
            if case .failure(let error) = result { status.formMaximum(ExitStatus(error)) }
            switch (format, result) {
            case (.text, _):
                report.print(result, of: input, bytes, to: &console)
                continue
            case (.attributes, .success(let receipt)): writer.attributes(of: receipt.receipt, file: input.name)
            case (.attributes, .failure), (.json, _): writer.decoding(result, file: input.name, advice: \.commandAdvice)
            }
            console.print(utf8: writer.bytes)
            writer.removeAll()
        }
        return status
    }

    /// Shows a transaction receipt, which has no attributes with numbers: for `attributes`, it is as for `json`.
    private func decode(
        _ bytes: [UInt8], of input: FileInput, _ report: TextReport, _ console: inout Console
    ) -> ExitStatus {
        var writer = JSONWriter()
        do throws(VerificationError) {
            let receipt = try UnverifiedTransactionReceipt(decoding: bytes)
            if format == .text {
                report.print(receipt, of: input, to: &console)
                return .passed
            }
            writer.decoding(receipt, file: input.name)
            console.print(utf8: writer.bytes)
            return .passed
        } catch {
            if format == .text {
                report.print(
                    .failure(error) as Result<UnverifiedReceipt, VerificationError>, of: input, bytes, to: &console)
            } else {
                writer.decoding(.failure(error), file: input.name, advice: \.commandAdvice)
                console.print(utf8: writer.bytes)
            }
            return ExitStatus(error)
        }
    }
}
