import StrictText

extension JSONWriter {
    /// The object `receipt` for a transaction receipt: all of `purchase-info`, in its order, with `_` for `-` in the keys. Nothing is added.
    mutating func verifyReceipt(_ receipt: TransactionReceipt) {
        let text = receipt.info.text
        beginObject()
        for entry in receipt.info.list.entries {
            let key = text[entry.key].map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0 }
            name(utf8: key.span)
            string(utf8: text.span.extracting(entry.value))
        }
        endObject()
    }
}
