import SpanASN1
import StrictText

// The attributes of a receipt by number.
extension JSONWriter {
    /// `{"file":…,"outer":{"0":"Production",…},"in_app":[{"1701":1,…},…],"content_bytes":505}`.
    ///
    /// An INTEGER of at most 64 bits is a number; a UTF8String or an IA5String is text; the opaque attributes 4–7 and
    /// every other value are `hex:` and the octets of the value. An attribute that is repeated has an array of its
    /// values, in the receipt's order.
    package mutating func attributes(of receipt: Receipt, file: String) {
        beginObject()
        member("file", file)
        name("outer")
        attributes(receipt.attributes.lazy.filter { $0.type != .inAppPurchase }, opaque: 4...7)
        name("in_app")
        beginArray()
        for purchase in receipt.inAppPurchases { attributes(purchase.attributes) }
        endArray()
        member("content_bytes", Int64(receipt.storage.payload.count))
        endObject()
    }

    private mutating func attributes(
        _ attributes: some Sequence<ReceiptAttribute>, opaque: ClosedRange<Int64>? = nil
    ) {
        // In the order in which each number first occurs.
        var groups: [(type: Int64, values: [[UInt8]])] = []
        var groupsByType: [Int64: Int] = [:]
        for attribute in attributes {
            let type = attribute.type.rawValue
            if let group = groupsByType[type] {
                groups[group].values.append(attribute.value)
            } else {
                groupsByType[type] = groups.count
                groups.append((type, [attribute.value]))
            }
        }
        beginObject()
        for (type, values) in groups {
            String(type).withUTF8Bytes { name(utf8: $0) }
            let isOpaque = opaque?.contains(type) ?? false
            if values.count > 1 { beginArray() }
            for value in values { attributeValue(value.span, isOpaque: isOpaque) }
            if values.count > 1 { endArray() }
        }
        endObject()
    }

    private mutating func attributeValue(_ value: Span<UInt8>, isOpaque: Bool) {
        // What is neither a text nor an integer is written in hexadecimal.
        if !isOpaque, (try? readableValue(value)) != nil { return }
        hex(value, prefix: "hex:")
    }

    /// Writes the only element of an attribute's value. If it throws an error, nothing is written.
    private mutating func readableValue(_ value: Span<UInt8>) throws(ASN1DecodingError) {
        var cursor = ASN1Cursor(value)
        let element = try cursor.read()
        try cursor.finish()
        switch element.tag {
        case .integer: integer(try element.integer(as: Int64.self))
        case .utf8String: string(utf8: try element.validatedUTF8())
        default: string(utf8: try element.validatedIA5())
        }
    }
}
