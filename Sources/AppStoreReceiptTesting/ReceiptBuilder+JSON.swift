import AppStoreReceipt
import SpanASN1
import StrictText

extension ReceiptBuilder {
    /// Creates a builder from JSON with the keys of `receipt decode --format json`.
    ///
    /// ```json
    /// {"bundle_id": "com.example.app", "in_app": [{"product_id": "com.example.app.pro", "transaction_id": "1000"}]}
    /// ```
    ///
    /// The output of that command is accepted unchanged. Dates are RFC 3339, and octets are hexadecimal. A field that
    /// is missing or `null` is not written, except that the type defaults to `Production`, and the creation date to the
    /// latest date of a purchase or a cancellation, but not before ``defaultCreationDate``. A product type is a number
    /// or a word such as `consumable`. Purchases and unknown attributes keep their order. A period of an auto-renewable
    /// subscription without the key `web_order_line_item_id` gets one made from its original transaction id, its
    /// product and its end, so that a restored copy gets the same.
    ///
    /// - Parameter json: The JSON text.
    /// - Throws: The first fault in the text.
    public init(json: [UInt8]) throws(ReceiptSpecificationError) { try self.init(json: json, defaultBundleID: nil) }

    /// Creates a builder from JSON.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - defaultBundleID: The bundle id for a text without the key `bundle_id`.
    package init(json: [UInt8], defaultBundleID: String?) throws(ReceiptSpecificationError) {
        self.init(bundleID: "", environment: .xcode)
        (appItemID, bundleID, applicationVersion, opaqueValue) = (nil, nil, nil, nil)
        (deviceIdentifier, expirationDate) = (nil, nil)
        (receiptType, creationDate) = (ReceiptType.production.rawValue, nil)
        encoding = .der

        var reader = SpecificationReader(receipt: self)
        do throws(JSONError) {
            let start = try SpecificationReader.receiptOffset(json.span)
            // The whole text is checked; only the receipt in it counts.
            try JSONCursor.decode(json.span) { (cursor) throws(JSONError) in _ = try cursor.skipValue() }
            var cursor = JSONCursor(json.span, from: start)
            try reader.read(&cursor)
        } catch {
            if let offset = reader.unknownKeyOffset {
                throw ReceiptSpecificationError(.unknownKey, offset: offset)
            }
            throw ReceiptSpecificationError(error, expected: reader.expected)
        }
        self = reader.receipt
        if !reader.hasBundleID { bundleID = defaultBundleID }
        creationDate =
            creationDate
            ?? purchases.flatMap { purchase in
                [purchase.purchaseDate, purchase.originalPurchaseDate, purchase.revocationDate].compactMap(\.self)
            }.reduce(Self.defaultCreationDate, max)
    }
}

extension ReceiptBuilder.Purchase {
    fileprivate mutating func addWebOrderLineItem() {
        guard productType == .autoRenewableSubscription, let original = originalTransactionID ?? transactionID,
            let productID
        else { return }
        webOrderLineItemID = WebOrderLineItem.identifier(original: original, productID: productID, end: expiresDate)
    }
}

private struct SpecificationReader {
    var receipt: ReceiptBuilder
    var unknownKeyOffset: Int?
    /// What the current value must be; `nil` outside of a field's value.
    var expected: String?
    var hasBundleID = false

    private static let receiptRows = byKey(AttributeType.receiptRows)
    private static let purchaseRows = byKey(AttributeType.purchaseRows)

    private static func byKey(_ rows: [AttributeType.Row]) -> [UTF8Bytes: AttributeType.Row] {
        Dictionary(uniqueKeysWithValues: rows.map { (UTF8Bytes("\($0.jsonKey)"), $0) })
    }

    /// The start of the receipt: the member `receipt`, as the command prints it, or the text.
    static func receiptOffset(_ json: Span<UInt8>) throws(JSONError) -> Int {
        var cursor = JSONCursor(json)
        var offset = 0
        try cursor.readObject { (cursor, name) throws(JSONError) in
            guard name == "receipt" else { return }
            offset = try cursor.skipValue().lowerBound
        }
        return offset
    }

    mutating func read(_ cursor: inout JSONCursor) throws(JSONError) {
        var receipt = receipt
        try read(
            &cursor, into: &receipt, Self.receiptRows, ReceiptBuilder.fields,
            unknown: \.additionalAttributes
        ) { (reader, cursor, receipt) throws(JSONError) in
            reader.expected = "an array of objects"
            try cursor.readArray { (cursor) throws(JSONError) in
                var purchase = ReceiptBuilder.Purchase()
                let keys = try reader.read(
                    &cursor, into: &purchase, Self.purchaseRows, ReceiptBuilder.Purchase.fields,
                    unknown: \.additionalAttributes)
                if !keys.contains(UTF8Bytes("web_order_line_item_id")) { purchase.addWebOrderLineItem() }
                receipt.purchases.append(purchase)
                reader.expected = "an array of objects"
            }
            reader.expected = nil
        }
        self.receipt = receipt
    }

    /// Returns the keys of the object.
    @discardableResult
    private mutating func read<Root>(
        _ cursor: inout JSONCursor, into root: inout Root, _ rows: [UTF8Bytes: AttributeType.Row],
        _ fields: [AttributeType: BuilderField<Root>], unknown: WritableKeyPath<Root, [ReceiptAttribute]>,
        purchases: (inout Self, inout JSONCursor, inout Root) throws(JSONError) -> Void = { (_, _, _) in }
    ) throws(JSONError) -> Set<UTF8Bytes> {
        var seen: Set<UTF8Bytes> = []
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let key = UTF8Bytes(name.bytes[...])
            guard seen.insert(key).inserted else { throw JSONError(.duplicateMember, offset: name.offset) }
            if name == "unknown_attributes" {
                return try cursor.readArray { (cursor) throws(JSONError) in
                    root[keyPath: unknown].append(try Self.attribute(&cursor))
                }
            }
            guard let row = rows[key] else {
                unknownKeyOffset = name.offset
                throw JSONError(.unexpectedValue, offset: name.offset)
            }
            let type = row.type
            if type == .bundleID { hasBundleID = true }
            if try cursor.readIfNull() { return }
            if type == .inAppPurchase { return try purchases(&self, &cursor, &root) }
            if let field = fields[type] {
                expected = field.expectation
                try field.read(&cursor, into: &root)
            } else {
                expected = row.valueType.expectation
                root[keyPath: unknown].append(try ReceiptAttribute(row, reading: &cursor))
            }
            expected = nil
        }
        return seen
    }

    /// `{"type":…,"version":…,"value":…}`
    private static func attribute(_ cursor: inout JSONCursor) throws(JSONError) -> ReceiptAttribute {
        enum Member: String, CaseIterable { case type, version, value }
        var start = cursor
        let offset = try start.skipValue().lowerBound
        var attribute = ReceiptAttribute(.init(rawValue: 0), value: [])
        var hasType = false
        try cursor.readObject(of: JSONMembers<Member>()) { (cursor, member) throws(JSONError) in
            switch member {
            case .type:
                attribute.type = .init(rawValue: try cursor.readInt64())
                hasType = true
            case .version: attribute.version = try cursor.readInt64()
            case .value: attribute.value = try cursor.readOctets()
            }
        }
        guard hasType else { throw JSONError(.missingMember, offset: offset) }
        return attribute
    }
}

extension ReceiptAttribute {
    /// Reads the value of an attribute for which the builder has no property, as outputs show it.
    init(_ row: AttributeType.Row, reading cursor: inout JSONCursor) throws(JSONError) {
        switch row.valueType {
        case .utf8String: self = .utf8String(row.type, try cursor.readString().value)
        case .ia5String: self = .ia5String(row.type, try cursor.readString().value)
        case .integer: self = .integer(row.type, try cursor.readInt64())
        case .boolean: self = .integer(row.type, try cursor.readBool() ? 1 : 0)
        case .date: self = .date(row.type, try cursor.readRFC3339())
        case .octets, .purchase: self.init(row.type, value: try cursor.readOctets())
        }
    }
}

extension BuilderField {
    /// Reads the value of a property.
    func read(_ cursor: inout JSONCursor, into root: inout Root) throws(JSONError) {
        switch self {
        case .text(let path): root[keyPath: path] = try cursor.readString().value
        case .integer(let path): root[keyPath: path] = try cursor.readInt64()
        case .identifier(let path): root[keyPath: path] = String(try cursor.readInt64())
        case .flag(let path): root[keyPath: path] = try cursor.readBool()
        case .octets(let path): root[keyPath: path] = try cursor.readOctets()
        case .date(let path): root[keyPath: path] = try cursor.readRFC3339()
        case .productType(let path): root[keyPath: path] = try cursor.readProductType()
        }
    }
}

extension JSONCursor {
    /// Reads Apple's number, or a word.
    fileprivate mutating func readProductType() throws(JSONError) -> ProductType {
        guard try peekType() == .string else { return ProductType(receiptNumber: try readInt64()) }
        let word = try readString()
        guard let type = ProductType.specified.first(where: { word == $0.word })?.type else {
            throw JSONError(.unexpectedValue, offset: word.offset)
        }
        return type
    }

    /// Reads a string of hexadecimal digits.
    fileprivate mutating func readOctets() throws(JSONError) -> [UInt8] {
        let string = try readString()
        let digits = string.bytes
        guard let octets = Hexadecimal.bytes(digits) else {
            throw JSONError(.unexpectedValue, offset: string.offset)
        }
        return octets
    }
}
