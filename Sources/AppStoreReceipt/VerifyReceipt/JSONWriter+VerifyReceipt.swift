import Instants
import StrictText

// A receipt with the keys of verifyReceipt in Apple's order: numbers where Apple has numbers, strings elsewhere, dates
// in three formats. Keys without a value in the receipt are missing, except for ids that Apple writes as 0.
extension JSONWriter {
    /// The object `receipt`.
    mutating func verifyReceipt(_ receipt: Receipt, of environment: AppStoreEnvironment, requestDate: Instant) {
        let storage = receipt.storage
        var dates = VerifyReceiptDates()
        beginObject()
        string("receipt_type", .receiptType, of: storage)
        id("adam_id", storage.number(.appItemID), of: environment)
        id("app_item_id", storage.number(.appItemID), of: environment)
        string("bundle_id", .bundleID, of: storage)
        string("application_version", .applicationVersion, of: storage)
        id("download_id", storage.number(.downloadID), of: environment)
        if environment == .production, storage.number(.downloadID) == nil {
            name("download_id")
            null()
        }
        id("version_external_identifier", storage.number(.versionExternalIdentifier), of: environment)
        // Apple's answer has the creation date of the original receipt, if there is one.
        date(.receiptCreation, storage.number(.originalCreationDate) ?? storage.number(.creationDate), &dates)
        date(.request, requestDate.millisecondsSince1970, &dates)
        date(.originalPurchase, storage.number(.originalPurchaseDate), &dates)
        string("original_application_version", .originalApplicationVersion, of: storage)
        date(.preorder, storage.number(.preorderDate), &dates)
        date(.expiration, storage.number(.expirationDate), &dates)
        name("in_app")
        verifyReceiptPurchases(of: receipt, nil)
        endObject()
    }

    // Not inlined: the compiler (Swift 6.3.1, CopyPropagation) crashes on the function that they would become.

    @inline(never)
    private mutating func string(_ name: StaticString, _ type: AttributeType, of storage: Receipt.Storage) {
        guard let value = storage.table.bytes(type) else { return }
        self.name(name)
        string(utf8: storage.octets(value).span)
    }

    /// In the sandbox all ids are 0.
    @inline(never)
    private mutating func id(_ name: StaticString, _ value: Int64?, of environment: AppStoreEnvironment) {
        guard let value = value ?? (environment == .sandbox ? 0 : nil) else { return }
        self.name(name)
        integer(value)
    }

    @inline(never)
    private mutating func date(_ name: VerifyReceiptDateName, _ value: Int64?, _ dates: inout VerifyReceiptDates) {
        guard let value else { return }
        raw(capacity: VerifyReceiptDates.maximumByteCount) { output in
            output.write { text in dates.append(value, name, to: &text) }
            output.removeLast(1)
        }
    }

    /// The array `in_app`, or `latest_receipt_info`.
    ///
    /// - Parameter indices: the indices of the purchases to write; `nil` for all.
    mutating func verifyReceiptPurchases(of receipt: Receipt, _ indices: [Int]?) {
        let storage = receipt.storage
        let bytes = storage.bytes
        let payload = storage.payload
        var dates = VerifyReceiptDates()
        beginArray()
        let count = indices?.count ?? storage.table.purchases.count
        for position in 0..<count {
            let entry = storage.table.purchases[indices?[position] ?? position]
            raw(capacity: entry.maximumVerifyReceiptByteCount) { output in
                output.write { text in text.append(entry, bytes.span.extracting(payload), &dates) }
                // Each member ends with a comma. The brace replaces the last one.
                if output[output.count - 1] == UInt8(ascii: ",") { output.removeLast(1) }
                output.append(UInt8(ascii: "}"))
            }
        }
        endArray()
    }
}

extension Receipt.Storage {
    fileprivate func number(_ type: AttributeType) -> Int64? { table.number(type) }
}

extension PurchaseEntry {
    /// The maximum size of a purchase in an answer, with all characters of its strings escaped. (Its record contains
    /// the strings.)
    fileprivate var maximumVerifyReceiptByteCount: Int {
        6 * Int(record.count) + 4 * VerifyReceiptDates.maximumByteCount + 512
    }
}

// An answer can have 10,000 purchases. They are copied from the receipt's bytes without intermediate values.
extension TextWriter {
    /// One purchase without the brace at the end. Each member ends with a comma.
    fileprivate mutating func append(
        _ entry: PurchaseEntry, _ payload: Span<UInt8>, _ dates: inout VerifyReceiptDates
    ) {
        append("{")
        if let value = entry.number(.quantity) { append("\"quantity\":\"", digits: value) }
        if let value = entry.bytes(.productID) { append("\"product_id\":\"", payload.extracting(value.range)) }
        if let value = entry.bytes(.transactionID) { append("\"transaction_id\":\"", payload.extracting(value.range)) }
        if let value = entry.bytes(.originalTransactionID) {
            append("\"original_transaction_id\":\"", payload.extracting(value.range))
        }
        if let value = entry.number(.purchaseDate) { dates.append(value, .purchase, to: &self) }
        if let value = entry.number(.purchaseOriginalPurchaseDate) {
            dates.append(value, .originalPurchase, to: &self)
        }
        if let value = entry.number(.expiresDate) { dates.append(value, .expires, to: &self) }
        // 0 if the purchase is not a subscription.
        if let value = entry.number(.webOrderLineItemID), value != 0 {
            append("\"web_order_line_item_id\":\"", digits: value)
        }
        if let value = entry.number(.isTrialPeriod) {
            append(value != 0 ? "\"is_trial_period\":\"true\"," : "\"is_trial_period\":\"false\",")
        }
        if let value = entry.number(.isInIntroOfferPeriod) {
            append(value != 0 ? "\"is_in_intro_offer_period\":\"true\"," : "\"is_in_intro_offer_period\":\"false\",")
        }
        if let value = entry.number(.revocationDate) { dates.append(value, .cancellation, to: &self) }
        if let value = entry.number(.revocationReason) { append("\"cancellation_reason\":\"", digits: value) }
        if let value = entry.bytes(.promotionalOfferID) {
            append("\"promotional_offer_id\":\"", payload.extracting(value.range))
        }
    }

    /// A member: all text up to the first digit, and a number as a string.
    @inline(__always)
    private mutating func append(_ start: StaticString, digits value: Int64) {
        append(start)
        appendDigits(of: value)
        append("\",")
    }

    /// A member: all text up to the first character, and a string from its UTF-8.
    @inline(__always)
    private mutating func append(_ start: StaticString, _ value: Span<UInt8>) {
        append(start)
        if !appendIfPlain(value) { appendEscaped(value) }
        append("\",")
    }

    @inline(never)
    private mutating func appendEscaped(_ value: Span<UInt8>) {
        var writer = JSONWriter()
        writer.string(utf8: value)
        let quoted = writer.bytes
        append(quoted.span.extracting(1..<quoted.count - 1))
    }
}
