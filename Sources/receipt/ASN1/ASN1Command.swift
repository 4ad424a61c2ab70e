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
                if let form = part.form {
                    console.print(console.style(.dim, "\(form.printable), offsets count from the decoded bytes"))
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
        guard let text = try? UnverifiedJWS.text(in: received) else { return nil }
        do throws(VerificationError) {
            let certificates = try UnverifiedJWS(text).certificates()
            return certificates.enumerated().map { index, bytes in
                ASN1Input.Part(form: "x5c[\(index)] of a JWS", bytes: bytes)
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

/// The binary contents of a file, without the text around them.
enum ASN1Input {
    struct Part {
        /// The form from which the bytes were decoded; `nil` if they are those of the file.
        let form: String?
        let bytes: [UInt8]
    }

    static func parts(of received: [UInt8]) throws(ASN1InputError) -> [Part] {
        guard !received.isEmpty else { throw .empty }
        do throws(PEMFileError) {
            if let file = try PEMFile(received) { return file.blocks.map { Part(form: $0.label, bytes: $0.bytes) } }
        } catch {
            throw .pem(error)
        }
        if isBase64(received), let bytes = try? Base64.decode(received.span, as: .transported), !bytes.isEmpty {
            return [Part(form: "base64", bytes: bytes)]
        }
        if received.first(where: { !isWhitespace($0) }) == UInt8(ascii: "{") {
            do throws(InputError) {
                let input = try ReceiptInput(received.span, maximumByteCount: received.count)
                return [Part(form: "receipt-data in JSON", bytes: [UInt8](copying: input.binary(in: received.span)))]
            } catch {
                throw .json(error)
            }
        }
        return [Part(form: nil, bytes: received)]
    }

    /// Returns whether the whole text is base64. A SEQUENCE or a SET begins with a digit of base64, but the base64 of one never does.
    private static func isBase64(_ text: [UInt8]) -> Bool {
        guard text[0] != 0x30, text[0] != 0x31 else { return false }
        return text.allSatisfy { octet in
            switch octet {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "="), UInt8(ascii: "\\"):
                true
            default: isWhitespace(octet)
            }
        }
    }

    private static func isWhitespace(_ octet: UInt8) -> Bool {
        octet == 0x20 || 0x09...0x0D ~= octet
    }
}

enum ASN1InputError: Error, Hashable {
    case empty
    case pem(PEMFileError)
    case json(InputError)
    /// A JWS without readable certificates.
    case jws(VerificationError)
}

extension ASN1InputError: CustomStringConvertible {
    var code: String {
        switch self {
        case .empty: InputError.Kind.emptyInput.rawValue
        case .pem: InputError.Kind.invalidPEM.rawValue
        case .json(let error): error.kind.rawValue
        case .jws(let error): error.code
        }
    }

    var description: String {
        switch self {
        case .empty: InputError.Kind.emptyInput.explanation
        case .pem(let error): error.description
        case .json(let error): error.description
        case .jws(let error): "\(error); 'receipt decode' shows the header and the payload"
        }
    }
}
