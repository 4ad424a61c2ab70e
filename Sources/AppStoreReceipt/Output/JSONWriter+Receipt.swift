import SpanASN1
import StrictText

// A receipt as JSON, in verifyReceipt's vocabulary where it has one: dates in RFC 3339, ids as they stand in the receipt (a number stays a
// number), octets in hexadecimal. A field that is absent has no key. Strings go from the payload into the text without a copy between.
extension JSONWriter {
    /// The object `receipt`.
    package mutating func receipt(_ receipt: Receipt) {
        let storage = receipt.storage
        let table = storage.table
        beginObject()
        if table.has(.receiptType) { text(.receiptType, table.receiptType, storage) }
        if table.has(.appItemID) { number(.appItemID, table.appItemID) }
        if table.has(.bundleID) { text(.bundleID, table.bundleID, storage) }
        if table.has(.applicationVersion) { text(.applicationVersion, table.applicationVersion, storage) }
        if table.has(.opaqueValue) { octets(.opaqueValue, table.opaqueValue, storage) }
        if table.has(.sha1Hash) { octets(.sha1Hash, table.sha1Hash, storage) }
        if table.has(.originalCreationDate) { date(.originalCreationDate, table.originalCreationDate) }
        if table.has(.serverBuild) { number(.serverBuild, table.serverBuild) }
        if table.has(.ageRating) { text(.ageRating, table.ageRating, storage) }
        if table.has(.sellerID) { number(.sellerID, table.sellerID) }
        if table.has(.creationDate) { date(.creationDate, table.creationDate) }
        if table.has(.clientVersion) { number(.clientVersion, table.clientVersion) }
        if table.has(.downloadID) { number(.downloadID, table.downloadID) }
        if table.has(.versionExternalIdentifier) {
            number(.versionExternalIdentifier, table.versionExternalIdentifier)
        }
        if table.has(.originalPurchaseDate) { date(.originalPurchaseDate, table.originalPurchaseDate) }
        if table.has(.originalApplicationVersion) {
            text(.originalApplicationVersion, table.originalApplicationVersion, storage)
        }
        if table.has(.expirationDate) { date(.expirationDate, table.expirationDate) }
        if table.has(.platform) { number(.platform, table.platform) }
        if table.has(.preorderDate) { date(.preorderDate, table.preorderDate) }
        unknownAttributes(of: storage, in: storage.payloadContent) { $0 != .inAppPurchase && !table.shows($0) }
        key(.inAppPurchase)
        beginArray()
        for entry in table.purchases { purchase(entry, storage) }
        endArray()
        endObject()
    }

    /// One element of `in_app`.
    private mutating func purchase(_ entry: PurchaseEntry, _ storage: Receipt.Storage) {
        beginObject()
        if let value = entry.number(.quantity) { number(.quantity, value) }
        if let value = entry.string(.productID) { text(.productID, value, storage) }
        if let value = entry.string(.transactionID) { text(.transactionID, value, storage) }
        if let value = entry.number(.purchaseDate) { date(.purchaseDate, value) }
        if let value = entry.string(.originalTransactionID) { text(.originalTransactionID, value, storage) }
        if let value = entry.number(.purchaseOriginalPurchaseDate) {
            date(.purchaseOriginalPurchaseDate, value)
        }
        if let value = entry.number(.productType) { number(.productType, value) }
        if let value = entry.number(.expiresDate) { date(.expiresDate, value) }
        if let value = entry.number(.itemID) { number(.itemID, value) }
        if let value = entry.number(.webOrderLineItemID) { number(.webOrderLineItemID, value) }
        if let value = entry.number(.revocationDate) { date(.revocationDate, value) }
        flag(.isTrialPeriod, entry)
        flag(.isInIntroOfferPeriod, entry)
        if let value = entry.number(.revocationReason) { number(.revocationReason, value) }
        if let value = entry.string(.promotionalOfferID) { text(.promotionalOfferID, value, storage) }
        let record = entry.record.range.shifted(by: storage.payload.lowerBound)
        unknownAttributes(of: storage, in: record) { !entry.shows($0) }
        endObject()
    }

    /// `"unknown_attributes":[{"type":…,"version":…,"value":…},…]`, where there are any.
    private mutating func unknownAttributes(
        of storage: Receipt.Storage, in range: Range<Int>, where isUnknown: (AttributeType) -> Bool
    ) {
        let bytes = storage.bytes
        var cursor = ASN1Cursor(bytes.span.extracting(range))
        var isFirst = true
        // The decoder has read every attribute before: each can be read again.
        while !cursor.isAtEnd, let attribute = try? AttributeView(&cursor) {
            guard isUnknown(attribute.type) else { continue }
            if isFirst {
                name("unknown_attributes")
                beginArray()
                isFirst = false
            }
            beginObject()
            name("type")
            integer(attribute.type.rawValue)
            name("version")
            integer(attribute.version)
            name("value")
            hex(attribute.value.content)
            endObject()
        }
        if !isFirst { endArray() }
    }
}

// MARK: - Fields

extension JSONWriter {
    private mutating func key(_ type: AttributeType) {
        if let key = type.jsonKey { name(key) }
    }

    private mutating func text(_ type: AttributeType, _ value: ByteRange, _ storage: Receipt.Storage) {
        key(type)
        string(utf8: storage.octets(value).span)
    }

    private mutating func octets(_ type: AttributeType, _ value: ByteRange, _ storage: Receipt.Storage) {
        key(type)
        hex(storage.octets(value).span)
    }

    private mutating func number(_ type: AttributeType, _ value: Int64) {
        key(type)
        integer(value)
    }

    private mutating func date(_ type: AttributeType, _ millisecondsSince1970: Int64) {
        key(type)
        date(Instant(millisecondsSince1970: millisecondsSince1970))
    }

    private mutating func flag(_ type: AttributeType, _ entry: PurchaseEntry) {
        guard let value = entry.number(type) else { return }
        key(type)
        bool(value != 0)
    }
}
