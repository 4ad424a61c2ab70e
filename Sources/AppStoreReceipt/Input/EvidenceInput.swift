import StrictText

/// The kind of an input, by its beginning. Nothing is decoded.
enum EvidenceInput {
    /// A JSON object, with the position of its first byte.
    case object(start: Int)
    /// A JWS, possibly with whitespace around it.
    case jws
    /// A transaction receipt.
    case transactionReceipt
    /// A receipt, or an input of unknown kind.
    case receipt

    /// - Throws: `input-too-large` for a text that is too large for any evidence. (A binary receipt has its own limit.)
    init(_ input: Span<UInt8>, _ limits: VerificationLimits) throws(VerificationError) {
        guard !ReceiptInput.isBinary(input) else {
            self = .receipt
            return
        }
        do throws(InputError) {
            try ReceiptInput.checkCount(
                ofText: input,
                max(limits.maximumByteCount, limits.maximumJWSByteCount, limits.maximumTransactionReceiptByteCount))
        } catch {
            throw .input(error)
        }
        if TransactionReceiptInput.isTransactionReceipt(input) {
            self = .transactionReceipt
        } else if let start = ReceiptInput.startOfObject(in: input) {
            self = .object(start: start)
        } else if Self.isJWS(input) {
            self = .jws
        } else {
            self = .receipt
        }
    }

    /// Returns whether a text is a JWS: three parts of base64url, separated by dots.
    ///
    /// The base64url of most headers begins with `e`, like that of `{"`. The base64 of a receipt always begins with `M`, and PEM with `-`; these are not searched for dots.
    static func isJWS(_ input: Span<UInt8>) -> Bool {
        let trimmed = input.trimmedRange
        guard !trimmed.isEmpty else { return false }
        return switch input[trimmed.lowerBound] {
        case UInt8(ascii: "e"): !TransactionReceiptInput.isBase64(input)
        case UInt8(ascii: "M"), UInt8(ascii: "-"): false
        default: hasTwoDots(input.extracting(trimmed))
        }
    }

    private static func hasTwoDots(_ text: Span<UInt8>) -> Bool {
        var dotCount = 0
        for index in text.indices {
            if text[index] == UInt8(ascii: ".") {
                dotCount += 1
                if dotCount == 2 { return true }
            } else if !text[index].isBase64URL {
                return false
            }
        }
        return false
    }
}

extension UInt8 {
    fileprivate var isBase64URL: Bool {
        self &- UInt8(ascii: "0") < 10 || (self | 0x20) &- UInt8(ascii: "a") < 26 || self == UInt8(ascii: "-")
            || self == UInt8(ascii: "_")
    }
}
