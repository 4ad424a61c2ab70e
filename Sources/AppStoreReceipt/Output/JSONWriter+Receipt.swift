import Instants
import SpanASN1
import StrictText

// A receipt as JSON, with verifyReceipt's keys if it has them: dates in RFC 3339, ids as in the receipt (a number stays
// a number), octets in hexadecimal. A field that is absent has no key. Strings go from the payload into the text
// without a copy between.
extension JSONWriter {
    /// The object `receipt`.
    package mutating func receipt(_ receipt: Receipt) {
        let storage = receipt.storage
        let table = storage.table
        beginObject()
        for row in AttributeType.receiptRows { field(row, of: table, storage) }
        unknownAttributes(of: storage, in: storage.payloadContent) { $0 != .inAppPurchase && !table.shows($0) }
        name("in_app")
        beginArray()
        for entry in table.purchases { purchase(entry, storage) }
        endArray()
        endObject()
    }

    /// One element of `in_app`.
    private mutating func purchase(_ entry: PurchaseEntry, _ storage: Receipt.Storage) {
        beginObject()
        for row in AttributeType.purchaseRows { field(row, of: entry, storage) }
        let record = entry.record.range.shifted(by: storage.payload.lowerBound)
        unknownAttributes(of: storage, in: record) { !entry.shows($0) }
        endObject()
    }

    /// A member for an attribute, if it has a value.
    private mutating func field(
        _ row: AttributeType.Row, of values: borrowing some AttributeValues, _ storage: Receipt.Storage
    ) {
        guard let bits = values.bits(row.type) else { return }
        name(row.jsonKey)
        switch row.valueType {
        case .utf8String, .ia5String: string(utf8: storage.octets(ByteRange(bits: bits)).span)
        case .octets: hex(storage.octets(ByteRange(bits: bits)).span)
        case .integer: integer(Int64(bitPattern: bits))
        case .boolean: bool(bits != 0)
        case .date: date(Instant(millisecondsSince1970: Int64(bitPattern: bits)))
        case .purchase: null()
        }
    }

    /// `"unknown_attributes":[{"type":…,"version":…,"value":…},…]`, if there are any.
    private mutating func unknownAttributes(
        of storage: Receipt.Storage, in range: Range<Int>, where isUnknown: (AttributeType) -> Bool
    ) {
        let bytes = storage.bytes
        var cursor = ASN1Cursor(bytes.span.extracting(range))
        var isFirst = true
        // The decoder has read every attribute. The table has no place for unknown ones, so they are read again, which
        // cannot fail.
        while !cursor.isAtEnd, let attribute = try? AttributeView(&cursor) {
            guard isUnknown(attribute.type) else { continue }
            if isFirst {
                name("unknown_attributes")
                beginArray()
                isFirst = false
            }
            beginObject()
            member("type", attribute.type.rawValue)
            member("version", attribute.version)
            name("value")
            hex(attribute.value.content)
            endObject()
        }
        if !isFirst { endArray() }
    }
}
