import StrictText

extension ReceivedEvidence {
    /// What evidence is by its beginning. Nothing is decoded.
    package enum Beginning: Sendable {
        /// A receipt in DER or BER.
        case binary
        /// A text of this kind, in its armor.
        case text(EvidenceKind)
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
            case let kind?:
                let isRead = kind.canBeMember && input.count <= kind.maximumByteCount(limits)
                self = (isRead ? ReceiptText(input).startOfObject : nil).map { .object(start: $0) } ?? .text(kind)
            }
        }

        private static func ofAny(_ input: Span<UInt8>, _ limits: VerificationLimits) throws(InputError) -> Self {
            if !input.isElement() {
                var limit = limits.maximumReceiptByteCount
                for kind in EvidenceKind.recognizable { limit = max(limit, kind.maximumByteCount(limits)) }
                try ReceiptText.checkCount(of: input, limit)
                for kind in EvidenceKind.recognizable where kind.isBeginning(of: input) { return .text(kind) }
                // Not in `ofReceipt`, whose limit can be lower than that of other evidence.
                if let start = ReceiptText(input).startOfObject { return .object(start: start) }
            }
            return try ofReceipt(input, limits)
        }

        private static func ofReceipt(_ input: Span<UInt8>, _ limits: VerificationLimits) throws(InputError) -> Self {
            if input.isElement() {
                guard input.count <= limits.maximumReceiptByteCount else {
                    throw InputError(.inputTooLarge, armor: .binary, offset: limits.maximumReceiptByteCount)
                }
                return .binary
            }
            try ReceiptText.checkCount(of: input, limits.maximumReceiptByteCount)
            return ReceiptText(input).startOfObject.map { .object(start: $0) } ?? .text(.receipt)
        }
    }
}
