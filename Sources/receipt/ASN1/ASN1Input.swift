@_spi(Surfaces) import AppStoreReceipt
import StrictText

/// The binary contents of a file, without the text around them.
enum ASN1Input {
    struct Part {
        /// What the bytes were decoded from; `nil` if they are those of the file.
        let source: String?
        let bytes: [UInt8]
    }

    static func parts(of received: [UInt8]) throws(ASN1InputError) -> [Part] {
        guard !received.isEmpty else { throw .empty }
        guard received.count < FileInput.maximumFileByteCount else { throw .tooLarge }
        do throws(PEMFileError) {
            if let file = try PEMFile(received) { return file.blocks.map { Part(source: $0.label, bytes: $0.bytes) } }
        } catch {
            throw .pem(error)
        }
        if isBase64(received), let bytes = try? Base64.decode(received.span, as: .transported), !bytes.isEmpty {
            return [Part(source: "base64", bytes: bytes)]
        }
        if received.first(where: { !isWhitespace($0) }) == UInt8(ascii: "{") {
            var limits = VerificationLimits()
            limits.maximumReceiptByteCount = received.count
            do throws(VerificationError) {
                let binary = try ReceivedEvidence(received, as: .receipt, limits).binary()
                return [Part(source: "receipt-data in JSON", bytes: binary)]
            } catch {
                throw .json(error)
            }
        }
        return [Part(source: nil, bytes: received)]
    }

    /// Returns whether the whole text is base64. The tags of SEQUENCE and SET are base64 digits; their base64 begins
    /// with neither.
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
    /// A file that is too large to be read to its end.
    case tooLarge
    case pem(PEMFileError)
    case json(VerificationError)
    /// A JWS without readable certificates.
    case jws(VerificationError)
}

extension ASN1InputError: CustomStringConvertible {
    var code: String {
        switch self {
        case .empty: InputError.Kind.emptyInput.rawValue
        case .tooLarge: InputError.Kind.inputTooLarge.rawValue
        case .pem: InputError.Kind.invalidPEM.rawValue
        case .json(let error), .jws(let error): error.code.rawValue
        }
    }

    var description: String {
        switch self {
        case .empty: InputError.Kind.emptyInput.fault.explanation
        case .tooLarge: InputError.Kind.inputTooLarge.fault.explanation
        case .pem(let error): error.description
        case .json(let error): error.description
        case .jws(let error): "\(error); 'receipt decode' shows the header and the payload"
        }
    }
}
