import SpanASN1

/// An undecoded attribute of a receipt.
public struct ReceiptAttribute: Hashable, Sendable {
    /// The type of the attribute.
    public let type: AttributeType
    /// The version of the attribute. In Apple's receipts, it is 2 for attribute 4 and 1 for all others.
    public let version: Int64
    /// The contents of the OCTET STRING, usually the DER of one element.
    public let value: [UInt8]
}

/// The undecoded attributes of a receipt or of a purchase, in its order. Each is read on access.
public struct ReceiptAttributes: Sequence, Sendable {
    let storage: Receipt.Storage
    /// The contents of the SET, as a range of the storage's bytes.
    let range: Range<Int>

    /// The iterator over the attributes.
    public struct Iterator: IteratorProtocol {
        let bytes: [UInt8]
        var position: Int
        let end: Int

        public mutating func next() -> ReceiptAttribute? {
            guard position < end else { return nil }
            let rest = bytes[position..<end]
            var cursor = ASN1Cursor(rest.span)
            // The decoder has read every attribute. The table has no place for unknown ones, so they are read again, which cannot fail.
            guard let attribute = try? AttributeView(&cursor) else {
                position = end
                return nil
            }
            position = end - cursor.remainingCount
            return ReceiptAttribute(
                type: attribute.type, version: attribute.version, value: [UInt8](copying: attribute.value.content))
        }
    }

    public func makeIterator() -> Iterator {
        Iterator(bytes: storage.bytes, position: range.lowerBound, end: range.upperBound)
    }
}

extension Receipt.Storage {
    /// The contents of the payload's SET, as a range of `bytes`.
    var payloadContent: Range<Int> {
        payload.lowerBound + table.contentStart..<payload.upperBound
    }
}
