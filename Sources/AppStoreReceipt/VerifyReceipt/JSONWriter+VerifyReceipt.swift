import SpanASN1

// A receipt in the words of verifyReceipt, key by key in Apple's order: numbers where Apple has numbers, strings elsewhere, dates in three
// forms. What is absent in the receipt is absent here.
//
// An answer can have 10,000 purchases, so names and values go from the receipt's bytes into the answer's, with no string in between.
extension JSONWriter {
    /// The object `receipt`.
    mutating func verifyReceipt(_ receipt: Receipt, requestDate: Timestamp) {
        let storage = receipt.storage
        let table = storage.table
        beginObject()
        if table.has(.receiptType) { string("receipt_type", table.receiptType, storage) }
        if table.has(.appItemID) {
            number("adam_id", table.appItemID)
            number("app_item_id", table.appItemID)
        }
        if table.has(.bundleID) { string("bundle_id", table.bundleID, storage) }
        if table.has(.applicationVersion) { string("application_version", table.applicationVersion, storage) }
        if table.has(.downloadID) { number("download_id", table.downloadID) }
        if table.has(.versionExternalIdentifier) {
            number("version_external_identifier", table.versionExternalIdentifier)
        }
        // Apple's answer has the creation date of the original receipt, where there is one.
        if table.has(.originalCreationDate) {
            date("receipt_creation_date", table.originalCreationDate)
        } else if table.has(.creationDate) {
            date("receipt_creation_date", table.creationDate)
        }
        date("request_date", requestDate.millisecondsSince1970)
        if table.has(.originalPurchaseDate) { date("original_purchase_date", table.originalPurchaseDate) }
        if table.has(.originalApplicationVersion) {
            string("original_application_version", table.originalApplicationVersion, storage)
        }
        if table.has(.preorderDate) { date("preorder_date", table.preorderDate) }
        if table.has(.expirationDate) { date("expiration_date", table.expirationDate) }
        name("in_app")
        verifyReceiptPurchases(of: receipt, nil)
        endObject()
    }

    /// The array `in_app`, or `latest_receipt_info`.
    ///
    /// - Parameter indices: which purchases to write; `nil` for all.
    mutating func verifyReceiptPurchases(of receipt: Receipt, _ indices: [Int]?) {
        let storage = receipt.storage
        var dates = PurchaseDates()
        beginArray()
        if let indices {
            for index in indices { purchase(storage.table.purchases[index], storage, &dates) }
        } else {
            for entry in storage.table.purchases { purchase(entry, storage, &dates) }
        }
        endArray()
    }

    private struct PurchaseDates {
        var purchase = VerifyReceiptDate("purchase_date")
        var originalPurchase = VerifyReceiptDate("original_purchase_date")
        var expires = VerifyReceiptDate("expires_date")
        var cancellation = VerifyReceiptDate("cancellation_date")
    }

    private mutating func purchase(
        _ entry: PurchaseEntry, _ storage: Receipt.Storage, _ dates: inout PurchaseDates
    ) {
        beginObject()
        if let value = entry.number(.quantity) { digits("\"quantity\":\"", value) }
        if let value = entry.string(.productID) { string("product_id", value, storage) }
        if let value = entry.string(.transactionID) { string("transaction_id", value, storage) }
        if let value = entry.string(.originalTransactionID) {
            string("original_transaction_id", value, storage)
        }
        if let value = entry.number(.purchaseDate) { dates.purchase.write(value, to: &self) }
        if let value = entry.number(.purchaseOriginalPurchaseDate) {
            dates.originalPurchase.write(value, to: &self)
        }
        if let value = entry.number(.expiresDate) { dates.expires.write(value, to: &self) }
        // 0 for what is no subscription.
        if let value = entry.number(.webOrderLineItemID), value != 0 { digits("\"web_order_line_item_id\":\"", value) }
        if let value = entry.number(.isTrialPeriod) {
            literal(value != 0 ? "\"is_trial_period\":\"true\"" : "\"is_trial_period\":\"false\"")
        }
        if let value = entry.number(.isInIntroOfferPeriod) {
            literal(
                value != 0
                    ? "\"is_in_intro_offer_period\":\"true\"" : "\"is_in_intro_offer_period\":\"false\"")
        }
        if let value = entry.number(.cancellationDate) { dates.cancellation.write(value, to: &self) }
        if let value = entry.number(.cancellationReason) { digits("\"cancellation_reason\":\"", value) }
        if let value = entry.string(.promotionalOfferID) { string("promotional_offer_id", value, storage) }
        endObject()
    }

    // MARK: Members

    private mutating func string(_ name: StaticString, _ value: ByteRange, _ storage: Receipt.Storage) {
        self.name(name)
        let bytes = storage.bytes
        string(utf8: bytes.span.extracting(value.range.shifted(by: storage.payload.lowerBound)))
    }

    private mutating func number(_ name: StaticString, _ value: Int64) {
        self.name(name)
        integer(value)
    }

    /// A string of digits; `start` is the name and all that stands before the first digit.
    private mutating func digits(_ start: StaticString, _ value: Int64) {
        literal(start)
        appendDigits(of: value)
        append("\"")
    }

    private mutating func date(_ name: StaticString, _ milliseconds: Int64) {
        var date = VerifyReceiptDate(name)
        date.write(milliseconds, to: &self)
    }
}
