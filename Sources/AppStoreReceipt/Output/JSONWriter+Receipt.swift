import SpanASN1

// A receipt as JSON, in verifyReceipt's vocabulary where it has one: dates in RFC 3339, ids as they stand in the receipt (a number stays a
// number), octets in hexadecimal. A field that is absent has no key.
extension JSONWriter {
    /// The object `receipt`.
    package mutating func receipt(_ receipt: some ReceiptContents) {
        beginObject()
        field(.receiptType, receipt.receiptType)
        field(.appItemID, receipt.appItemID)
        field(.bundleID, receipt.bundleID)
        field(.applicationVersion, receipt.applicationVersion)
        field(.opaqueValue, receipt.opaqueValue)
        field(.sha1Hash, receipt.sha1Hash)
        field(.originalCreationDate, receipt.originalCreationDate)
        field(.serverBuild, receipt.serverBuild)
        field(.ageRating, receipt.ageRating)
        field(.sellerID, receipt.sellerID)
        field(.creationDate, receipt.creationDate)
        field(.clientVersion, receipt.clientVersion)
        field(.downloadID, receipt.downloadID)
        field(.versionExternalIdentifier, receipt.versionExternalIdentifier)
        field(.originalPurchaseDate, receipt.originalPurchaseDate)
        field(.originalApplicationVersion, receipt.originalApplicationVersion)
        field(.expirationDate, receipt.expirationDate)
        field(.platform, receipt.platform)
        field(.preorderDate, receipt.preorderDate)
        unknownAttributes(receipt.unknownAttributes)
        key(.inAppPurchase)
        beginArray()
        for purchase in receipt.inAppPurchases { self.purchase(purchase) }
        endArray()
        endObject()
    }

    /// One element of `in_app`.
    private mutating func purchase(_ purchase: InAppPurchase) {
        beginObject()
        field(.quantity, purchase.quantity)
        field(.productID, purchase.productID)
        field(.transactionID, purchase.transactionID)
        field(.purchaseDate, purchase.purchaseDate)
        field(.originalTransactionID, purchase.originalTransactionID)
        field(.purchaseOriginalPurchaseDate, purchase.originalPurchaseDate)
        field(.productType, purchase.productType?.rawValue)
        field(.expiresDate, purchase.expiresDate)
        field(.itemID, purchase.itemID)
        field(.webOrderLineItemID, purchase.webOrderLineItemID)
        field(.cancellationDate, purchase.cancellationDate)
        field(.isTrialPeriod, purchase.isTrialPeriod)
        field(.isInIntroOfferPeriod, purchase.isInIntroOfferPeriod)
        field(.cancellationReason, purchase.cancellationReason)
        field(.promotionalOfferID, purchase.promotionalOfferID)
        unknownAttributes(purchase.unknownAttributes)
        endObject()
    }

    private mutating func unknownAttributes(_ attributes: [ReceiptAttribute]) {
        guard !attributes.isEmpty else { return }
        name("unknown_attributes")
        beginArray()
        for attribute in attributes {
            beginObject()
            name("type")
            integer(attribute.type.rawValue)
            name("version")
            integer(attribute.version)
            name("value")
            hex(attribute.value.span)
            endObject()
        }
        endArray()
    }
}

// MARK: - Fields

extension JSONWriter {
    private mutating func key(_ type: AttributeType) {
        if let key = type.jsonKey { name(key) }
    }

    private mutating func field(_ type: AttributeType, _ value: String?) {
        guard let value else { return }
        key(type)
        string(value)
    }

    private mutating func field(_ type: AttributeType, _ value: Int64?) {
        guard let value else { return }
        key(type)
        integer(value)
    }

    private mutating func field(_ type: AttributeType, _ value: Bool?) {
        guard let value else { return }
        key(type)
        bool(value)
    }

    private mutating func field(_ type: AttributeType, _ value: Timestamp?) {
        guard let value else { return }
        key(type)
        date(value)
    }

    private mutating func field(_ type: AttributeType, _ value: [UInt8]?) {
        guard let value else { return }
        key(type)
        hex(value.span)
    }

    /// A string in RFC 3339, with milliseconds only where there are any.
    mutating func date(_ value: Timestamp) { string(value.description) }

    /// A string of lower-case hexadecimal digits.
    mutating func hex(_ octets: Span<UInt8>, prefix: StaticString = "") {
        var digits: [UInt8] = []
        digits.reserveCapacity(octets.count * 2)
        for index in octets.indices {
            for nibble in [octets[index] >> 4, octets[index] & 0xF] {
                digits.append(nibble < 10 ? nibble + UInt8(ascii: "0") : nibble - 10 + UInt8(ascii: "a"))
            }
        }
        literal("\"")
        append(prefix)
        append(digits.span)
        append("\"")
    }
}
