@_spi(Surfaces) import AppStoreReceipt
import SignatureTrust
import StrictText

/// `receipt verify`
struct VerifyCommand: Command {
    static let syntax = CommandSyntax(
        name: "verify",
        summary: "Verifies receipts and StoreKit 2 data offline and shows their contents",
        operands: "[FILE|-]...",
        options: VerifierOptions.options + [
            .init(
                "--format", "text|json|verify-receipt",
                "'json' prints one line for each input. 'verify-receipt' prints the answer of Apple's verifyReceipt, for --environment or for both environments."
            ),
            Style.wideOption, Style.quietOption,
        ] + Style.options,
        notes: """
            A receipt is binary, base64, PEM, or JSON with 'receipt-data'. StoreKit 2 data is a JWS in
            its compact serialization: a transaction, renewal information, an app transaction, a notification
            (its signed parts are verified too), or a real-time request. A transaction receipt of
            iOS 3 to 6 is a property list or its base64. '-' is standard input.

            Exit status: 0 if all inputs were verified, 1 if one was refused, 2 for wrong usage,
            an unreadable file, or a host whose libcrypto cannot verify receipts.
            """)

    private enum Format: String {
        case text, json
        case verifyReceipt = "verify-receipt"
    }

    private let inputs: [FileInput]
    private let verifierOptions: VerifierOptions
    private let format: Format
    private let isQuiet: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        verifierOptions = try VerifierOptions(arguments)
        format = arguments["--format"].flatMap(Format.init) ?? .text
        isQuiet = arguments["--quiet"] != nil
        inputs = try arguments.inputs()
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let verifier = verifierOptions.makeVerifier(&console) else { return .unusable }
        return format == .verifyReceipt ? answer(verifier, &console) : report(verifier, &console)
    }

    private func report(_ verifier: AppStoreVerifier, _ console: inout Console) -> ExitStatus {
        let report = TextReport(console.style, of: verifier, verifierOptions)
        var writer = JSONWriter()
        var status = ExitStatus.passed
        for input in inputs {
            guard let bytes = input.read(asJSON: format == .json, &console, &status) else { continue }
            let result = Result { () throws(VerificationError) in try verifier.verify(bytes) }
            status.formMaximum(ExitStatus(result))
            if isQuiet, case .success = result { continue }
            if format == .json {
                writer.verdict(result, from: .file(input.name), for: verifierOptions.audience)
                console.print(utf8: writer.bytes)
                writer.removeAll()
            } else {
                report.separate(&console)
                report.print(result, of: input, bytes, to: &console)
            }
        }
        return status
    }

    /// Prints the answers of verifyReceipt.
    private func answer(_ verifier: AppStoreVerifier, _ console: inout Console) -> ExitStatus {
        let responder: VerifyReceiptResponder
        do throws(VerificationError) {
            responder = try VerifyReceiptResponder(policy: verifier.policy, trust: verifier.trust)
        } catch {
            console.report("\(error.code): \(error)")
            return .unusable
        }
        var status = ExitStatus.passed
        for input in inputs {
            guard let bytes = input.read(asJSON: false, &console, &status) else { continue }
            let answer = responder.answer(toAnyReceipt: bytes)
            status.formMaximum(ExitStatus(answer.result))
            if isQuiet, case .success = answer.result { continue }
            console.print(utf8: answer.body)
        }
        return status
    }
}
