import SpanASN1

/// An attribute as it stands in the receipt.
public struct ReceiptAttribute: Hashable, Sendable {
    /// The attribute's number; ``AttributeType/name`` says what it is called, where that is known.
    public let type: AttributeType
    /// 1 in Apple's receipts, but 2 for attribute 4.
    public let version: Int64
    /// The content of the OCTET STRING; usually DER of one element.
    public let value: [UInt8]
}

/// The attributes of a receipt or of a purchase, in its order; each is read when it is asked for.
public struct ReceiptAttributes: Sequence, Sendable {
    let storage: Receipt.Storage
    /// The content of the SET, as a range of the storage's bytes.
    let range: Range<Int>

    public struct Iterator: IteratorProtocol {
        let bytes: [UInt8]
        var position: Int
        let end: Int

        public mutating func next() -> ReceiptAttribute? {
            guard position < end else { return nil }
            let rest = bytes[position..<end]
            var cursor = ASN1Cursor(rest.span)
            // The decoder has read every attribute before: this one can be read again.
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
    /// The content of the payload's SET, as a range of `bytes`.
    var payloadContent: Range<Int> {
        payload.lowerBound + table.contentStart..<payload.upperBound
    }
}
