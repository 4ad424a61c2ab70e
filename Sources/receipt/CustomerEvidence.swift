@_spi(Surfaces) import AppStoreReceipt
import StrictText

/// The evidence of one customer in files, and the date to decide for.
struct CustomerEvidence {
    static let options =
        [
            CommandSyntax.Option(
                "--at", "DATE",
                "Decide for this date, such as 2025-01-31T12:00:00Z; now without it. 2025-01-31 is its first moment in UTC."
            )
        ] + VerifierOptions.options.filter { !$0.name.hasSameBytes(as: "--at") } + VerifierOptions.decisionOptions

    let inputs: [FileInput]
    let options: VerifierOptions
    private let date: Instant

    init(_ arguments: Arguments) throws(UsageError) {
        options = try VerifierOptions(arguments, hasValidationDate: false)
        date =
            try arguments["--at"].map { text throws(UsageError) in
                try Instant(option: "--at", text, orOneOf: [])
            } ?? .now
        inputs = try arguments.inputs()
    }

    /// Returns the decision, the bytes of each input, and the verifier; `nil` if there is no verifier, which is
    /// reported. A file that cannot be read is reported, too.
    func decision(_ console: inout Console) -> (decision: Decision, bytes: [[UInt8]], verifier: AppStoreVerifier)? {
        guard let verifier = options.makeVerifier(&console) else { return nil }
        var pieces: [Decision.Piece] = []
        var evidence: [[UInt8]] = []
        for input in inputs {
            var bytes: [UInt8] = []
            let outcome: Decision.Piece.Outcome
            do throws(SystemError) {
                bytes = try input.read()
                outcome = .init(verifying: bytes, by: verifier)
            } catch {
                input.report(error, asJSON: false, &console)
                outcome = .unreadable(message: error.description)
            }
            evidence.append(bytes)
            pieces.append(Decision.Piece(.file(input.name), outcome))
        }
        return (Decision(pieces, at: date, productTypes: options.productTypes), evidence, verifier)
    }
}
