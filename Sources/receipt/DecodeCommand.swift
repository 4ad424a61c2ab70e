@_spi(Surfaces) import AppStoreReceipt
import StrictText

/// `receipt decode`
struct DecodeCommand: Command {
    static let syntax = CommandSyntax(
        name: "decode",
        summary: "Shows the contents of receipts and StoreKit 2 data without verifying them",
        operands: "[FILE|-]...",
        options: [
            .init(
                "--format", "text|json|attributes",
                "'json' and 'attributes' print one line for each input. 'attributes' lists all attributes of a receipt by number."
            ),
            Style.wideOption, Style.quietOption,
        ] + Style.options,
        notes: """
            Anyone can have written what is not verified. To verify it, use 'receipt verify'.
            Of a JWS, the header and the payload are shown, and the signed parts of a notification.
            'receipt asn1' shows its certificates.

            Exit status: 0 if all inputs were decoded, 1 if one was refused, 2 for wrong usage or
            an unreadable file.
            """)

    private enum Format: String { case text, json, attributes }

    private let inputs: [FileInput]
    private let format: Format
    private let isQuiet: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        format = arguments["--format"].flatMap(Format.init) ?? .text
        isQuiet = arguments["--quiet"] != nil
        inputs = try arguments.inputs()
    }

    func run(_ console: inout Console) -> ExitStatus {
        let report = TextReport(style: console.style, verification: nil)
        var writer = JSONWriter()
        var status = ExitStatus.passed
        for input in inputs {
            guard let bytes = input.read(asJSON: format != .text, &console, &status) else { continue }
            let result = Result { () throws(VerificationError) in
                var received = ReceivedEvidence(bytes, VerificationLimits())
                // Only receipts have attributes: a JWS is refused as one.
                if format == .attributes, received.kind == .jws {
                    received = ReceivedEvidence(bytes, as: .receipt, VerificationLimits())
                }
                return try UnverifiedEvidence(received, in: bytes.span)
            }
            status.formMaximum(ExitStatus(result))
            if isQuiet, case .success = result { continue }
            if format == .text {
                report.separate(&console)
                report.print(result, of: input, bytes, to: &console)
                continue
            }
            if format == .attributes, let receipt = try? result.get().receipt {
                writer.attributes(of: receipt.receipt, file: input.name)
            } else {
                writer.decoding(result, from: .file(input.name), for: .user(of: .command))
            }
            console.print(utf8: writer.bytes)
            writer.removeAll()
        }
        return status
    }
}
