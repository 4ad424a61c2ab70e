import AppStoreReceipt
import SpanASN1
import StrictText

/// `receipt asn1`
struct ASN1Command: Command {
    static let syntax = CommandSyntax(
        name: "asn1",
        summary: "Shows the structure of any BER or DER file, with the names of receipt attributes",
        operands: "[FILE|-]",
        maximumOperandCount: 1,
        options: Style.options,
        notes: """
            Each line has the offset of an element, the number of bytes of its header and of its content
            ('indef' for an indefinite length), its type, and its value. If a string contains such a
            structure, that is shown too.
            The file is binary, PEM with any labels, base64, or JSON with 'receipt-data'. Of a JWS, the
            certificates of its header are shown; 'receipt decode' shows the rest, which is JSON.

            Exit status: 0, 1 if the structure is malformed (the elements before the fault are shown),
            2 for wrong usage or an unreadable file.
            """)

    private let input: FileInput

    init(_ arguments: Arguments) throws(UsageError) {
        input = try arguments.inputs().first ?? .standardInput
    }

    func run(_ console: inout Console) -> ExitStatus {
        let received: [UInt8]
        do throws(SystemError) {
            received = try input.read()
        } catch {
            input.report(error, asJSON: false, &console)
            return .unusable
        }
        do throws(ASN1InputError) {
            var status = ExitStatus.passed
            let parts = if let parts = try certificates(received) { parts } else { try ASN1Input.parts(of: received) }
            for (index, part) in parts.enumerated() {
                if index > 0 { console.print() }
                if let source = part.source {
                    console.print(console.style(.dim, "\(source.printable), offsets count from the decoded bytes"))
                }
                status.formMaximum(list(part.bytes, &console))
            }
            return status
        } catch {
            return refuse("\(error.code): \(error)", &console)
        }
    }

    /// Returns the certificates in the header of a JWS; `nil` for anything else.
    private func certificates(_ received: [UInt8]) throws(ASN1InputError) -> [ASN1Input.Part]? {
        let evidence = ReceivedEvidence(received, VerificationLimits())
        guard evidence.kind == .jws else { return nil }
        do throws(VerificationError) {
            let certificates = try UnverifiedJWS(evidence.text(in: received.span)).certificates()
            return certificates.enumerated().map { index, bytes in
                ASN1Input.Part(source: "x5c[\(index)] of a JWS", bytes: bytes)
            }
        } catch {
            throw .jws(error)
        }
    }

    private func list(_ bytes: [UInt8], _ console: inout Console) -> ExitStatus {
        do throws(ASN1DecodingError) {
            try ASN1Listing(style: console.style, byteCount: bytes.count).print(bytes.span, to: &console)
            return .passed
        } catch {
            return refuse("\(error.kind.rawValue): \(error)", &console)
        }
    }

    private func refuse(_ message: String, _ console: inout Console) -> ExitStatus {
        console.print("\(console.style(.red, "MALFORMED"))  \(message)")
        return .refused
    }
}
