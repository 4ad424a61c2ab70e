import StrictText

extension JSONWriter {
    /// The object `receipt` for a transaction receipt: all keys of `purchase-info` in their order, with `_` for `-`.
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
