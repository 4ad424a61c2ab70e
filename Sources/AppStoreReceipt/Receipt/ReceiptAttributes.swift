import SpanASN1

/// An undecoded attribute of a receipt, with any value.
///
/// `ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`
public struct ReceiptAttribute: Hashable, Sendable {
    /// The type of the attribute.
    public var type: AttributeType
    /// The version of the attribute. In Apple's receipts, it is 2 for attribute 4 and 1 for all others. A verifier
    /// ignores it.
    public var version: Int64
    /// The content of the OCTET STRING, usually the DER of one element.
    public var value: [UInt8]

    /// Creates an attribute with any value.
    public init(_ type: AttributeType, version: Int64 = 1, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }
}

/// The undecoded attributes of a receipt or of a purchase, in its order. Each is read on access.
struct ReceiptAttributes: Sequence, Sendable {
    let storage: Receipt.Storage
    /// The contents of the SET, as a range of the storage's bytes.
    let range: Range<Int>

    struct Iterator: IteratorProtocol {
        let bytes: [UInt8]
        var position: Int
        let end: Int

        mutating func next() -> ReceiptAttribute? {
            guard position < end else { return nil }
            let rest = bytes[position..<end]
            var cursor = ASN1Cursor(rest.span)
            // The decoder has read every attribute. The table has no place for unknown ones, so they are read again,
            // which cannot fail.
            guard let attribute = try? AttributeView(&cursor) else {
                position = end
                return nil
            }
            position = end - cursor.remainingCount
            return ReceiptAttribute(
                attribute.type, version: attribute.version, value: [UInt8](copying: attribute.value.content))
        }
    }

    func makeIterator() -> Iterator {
        Iterator(bytes: storage.bytes, position: range.lowerBound, end: range.upperBound)
    }
}

extension Receipt.Storage {
    /// The contents of the payload's SET, as a range of `bytes`.
    var payloadContent: Range<Int> {
        payload.lowerBound + table.contentStart..<payload.upperBound
    }
}
