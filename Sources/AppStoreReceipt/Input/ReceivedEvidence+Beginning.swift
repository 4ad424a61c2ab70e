import StrictText

extension ReceivedEvidence {
    /// What evidence is by its beginning. Nothing is decoded.
    package enum Beginning: Sendable {
        /// A receipt in DER or BER.
        case binary
        /// A receipt in base64 or PEM, or a text of unknown kind.
        case receiptText
        /// A JWS in its compact serialization, possibly with whitespace around it.
        case jws
        /// A transaction receipt: its property list, or the base64 of it.
        case transactionReceipt
        /// A JSON object, with the position of its first byte.
        case object(start: Int)

        /// - Parameter kind: The only kind that the caller accepts; `nil` for any.
        /// - Throws: `input-too-large` for more bytes than evidence can have.
        package init(
            _ input: Span<UInt8>, as kind: EvidenceKind? = nil, _ limits: VerificationLimits
        ) throws(InputError) {
            switch kind {
            case nil: self = try Self.ofAny(input, limits)
            case .receipt: self = try Self.ofReceipt(input, limits)
            case .transactionReceipt: self = .transactionReceipt
            case .jws:
                let start = input.count <= limits.maximumJWSByteCount ? ReceiptText(input).startOfObject : nil
                self = start.map { .object(start: $0) } ?? .jws
            }
        }

        private static func ofAny(_ input: Span<UInt8>, _ limits: VerificationLimits) throws(InputError) -> Self {
            if !isBinary(input) {
                try ReceiptText.checkCount(
                    of: input,
                    max(
                        limits.maximumReceiptByteCount, limits.maximumJWSByteCount,
                        limits.maximumTransactionReceiptByteCount)
                )
                if TransactionReceiptText.isBeginning(of: input) { return .transactionReceipt }
                if let start = ReceiptText(input).startOfObject { return .object(start: start) }
                if isJWS(input) { return .jws }
            }
            return try ofReceipt(input, limits)
        }

        private static func ofReceipt(_ input: Span<UInt8>, _ limits: VerificationLimits) throws(InputError) -> Self {
            if isBinary(input) {
                guard input.count <= limits.maximumReceiptByteCount else {
                    throw InputError(.inputTooLarge, armor: .binary, offset: limits.maximumReceiptByteCount)
                }
                return .binary
            }
            try ReceiptText.checkCount(of: input, limits.maximumReceiptByteCount)
            return ReceiptText(input).startOfObject.map { .object(start: $0) } ?? .receiptText
        }

        /// Whether the input begins with a SEQUENCE whose length is in the long or indefinite form, or is that of the input. (A text
        /// could also begin with `0`.)
        private static func isBinary(_ input: Span<UInt8>) -> Bool {
            guard input.count >= 2, input[0] == 0x30 else { return false }
            return input[1] >= 0x80 || Int(input[1]) == input.count - 2
        }

        /// Returns whether a text is a JWS: three parts of base64url, separated by dots.
        ///
        /// The base64url of most headers begins with `e`, like that of `{"`. The base64 of a receipt always begins with `M`, and PEM with `-`; these are not searched for dots.
        static func isJWS(_ input: Span<UInt8>) -> Bool {
            let trimmed = input.trimmedRange
            guard !trimmed.isEmpty else { return false }
            return switch input[trimmed.lowerBound] {
            case UInt8(ascii: "e"): !TransactionReceiptText.isBase64(input)
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
}

extension UInt8 {
    fileprivate var isBase64URL: Bool {
        self &- UInt8(ascii: "0") < 10 || (self | 0x20) &- UInt8(ascii: "a") < 26 || self == UInt8(ascii: "-")
            || self == UInt8(ascii: "_")
    }
}
