import AppStoreReceipt
import SignatureTrust
import SpanASN1
import StrictText

extension ReceiptBuilder {
    /// Returns the payload to sign, which is a SET OF ReceiptAttribute.
    ///
    /// - Throws: `algorithm-unavailable` if libcrypto does not compute SHA-1, which attribute 5 requires, and
    ///   `inexpressible-value` if an id that is written as an INTEGER is not a decimal number of 64 bits.
    public func payload() throws(MintingError) -> [UInt8] {
        var builder = self
        if builder.sha1Hash == nil { builder.sha1Hash = try deviceHash() }
        let isXcode = receiptType?.hasSameBytes(as: ReceiptType.xcode.rawValue) == true
        var record = RecordWriter()
        var empty = writesEmptyAttributes ? Self.emptyAttributes[...] : []
        for row in AttributeType.receiptRows {
            record.add(&empty, before: row)
            switch row.type {
            case .inAppPurchase: try addPurchases(to: &record)
            case .opaqueValue: try record.add(row, of: builder, Self.fields, version: isXcode ? 1 : 2)
            // Xcode, too, writes this one empty.
            case .originalCreationDate: try record.add(row, of: builder, Self.fields, isWrittenEmpty: true)
            default: try record.add(row, of: builder, Self.fields)
            }
        }
        for attribute in additionalAttributes { record.add(attribute) }

        var payload: [UInt8] = []
        record.write(to: &payload, order: attributeOrder)
        return payload
    }

    private func addPurchases(to record: inout RecordWriter) throws(MintingError) {
        var purchaseRecord = RecordWriter()
        for (index, purchase) in purchases.enumerated() {
            purchaseRecord.removeAll()
            try add(purchase, to: &purchaseRecord)
            var order = purchaseAttributeOrder
            if case .shuffled(let seed) = order { order = .shuffled(seed: seed &+ UInt64(index)) }
            record.add(.inAppPurchase, purchaseRecord, order: order)
        }
    }

    /// Apple's attributes without information, by number.
    private static let emptyAttributes: [ReceiptAttribute] = [
        ReceiptAttribute(.unknownOpaque6, value: Array(filler.prefix(62))),
        ReceiptAttribute(.unknownOpaque7, value: Array(filler.suffix(56))), .integer(.unknownInteger14, 207),
        .utf8String(.unknownString20, ""),
    ]

    /// Those of a purchase.
    private static let emptyPurchaseAttributes: [ReceiptAttribute] =
        ([1709] + Array(1714...1718)).map { .utf8String(AttributeType(rawValue: $0), "") }
        + [.integer(AttributeType(rawValue: 1722), 0)]

    /// SHA-1(device identifier ‖ opaque value ‖ encoded bundle id), as Apple documents it.
    private func deviceHash() throws(MintingError) -> [UInt8]? {
        guard let deviceIdentifier, let opaqueValue, let bundleID else { return nil }
        return try SignatureDigest.sha1.digest(
            of: deviceIdentifier + opaqueValue + ReceiptAttribute.utf8String(.bundleID, bundleID).value)
    }

    private func add(_ purchase: Purchase, to record: inout RecordWriter) throws(MintingError) {
        var empty = writesEmptyAttributes ? Self.emptyPurchaseAttributes[...] : []
        for row in AttributeType.purchaseRows {
            record.add(&empty, before: row)
            let isWrittenEmpty = writesEmptyAttributes && [.expiresDate, .revocationDate].contains(row.type)
            try record.add(row, of: purchase, Purchase.fields, isWrittenEmpty: isWrittenEmpty)
        }
        for attribute in empty { record.add(attribute) }
        for attribute in purchase.additionalAttributes { record.add(attribute) }
    }
}

extension RecordWriter {
    /// Adds the attributes numbered below a row.
    fileprivate mutating func add(
        _ attributes: inout ArraySlice<ReceiptAttribute>, before row: AttributeType.Row
    ) {
        while let attribute = attributes.first, attribute.type.rawValue < row.type.rawValue {
            add(attribute)
            attributes.removeFirst()
        }
    }
}
