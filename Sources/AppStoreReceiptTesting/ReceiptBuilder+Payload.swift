import AppStoreReceipt
import SpanASN1
import StrictText

extension ReceiptBuilder {
    /// The payload, a SET OF ReceiptAttribute: what is signed.
    ///
    /// - Throws: `algorithm-unavailable` where libcrypto lacks SHA-1, for attribute 5.
    public func payload() throws(MintingError) -> [UInt8] {
        let hash = sha1Hash == nil ? try deviceHash() : sha1Hash
        var record = RecordWriter()
        record.addText(.receiptType, receiptType)
        record.addInteger(.appItemID, appItemID)
        record.addText(.bundleID, bundleID)
        record.addText(.applicationVersion, applicationVersion)
        record.addOctets(
            .opaqueValue, version: receiptType?.hasSameBytes(as: ReceiptType.xcode.rawValue) == true ? 1 : 2,
            opaqueValue)
        record.addOctets(.sha1Hash, hash)
        if writesEmptyAttributes {
            record.addOctets(.unknownOpaque6, Array(Self.filler.prefix(62)))
            record.addOctets(.unknownOpaque7, Array(Self.filler.suffix(56)))
        }
        // Xcode, too, writes this one empty.
        record.addDate(.originalCreationDate, originalCreationDate, isWrittenEmpty: true)
        record.addInteger(.serverBuild, serverBuild)
        record.addText(.ageRating, ageRating, tag: 0x16)
        record.addInteger(.sellerID, sellerID)
        record.addDate(.creationDate, creationDate)
        record.addInteger(.clientVersion, clientVersion)
        if writesEmptyAttributes { record.addInteger(.unknownInteger14, 207) }
        record.addInteger(.downloadID, downloadID)
        record.addInteger(.versionExternalIdentifier, versionExternalIdentifier)
        var purchaseRecord = RecordWriter()
        for (index, purchase) in purchases.enumerated() {
            purchaseRecord.removeAll()
            add(purchase, to: &purchaseRecord)
            var order = purchaseAttributeOrder
            if case .shuffled(let seed) = order { order = .shuffled(seed: seed &+ UInt64(index)) }
            record.add(.inAppPurchase, purchaseRecord, order: order)
        }
        record.addDate(.originalPurchaseDate, originalPurchaseDate)
        record.addText(.originalApplicationVersion, originalApplicationVersion)
        if writesEmptyAttributes { record.addText(.unknownString20, "") }
        record.addDate(.expirationDate, expirationDate)
        record.addInteger(.platform, platform)
        record.addDate(.preorderDate, preorderDate)
        for attribute in additionalAttributes { record.add(attribute) }

        var payload: [UInt8] = []
        record.write(to: &payload, order: attributeOrder)
        return payload
    }

    /// SHA-1(device identifier ‖ opaque value ‖ encoded bundle id), as Apple documents it.
    private func deviceHash() throws(MintingError) -> [UInt8]? {
        guard let deviceIdentifier, let opaqueValue, let bundleID else { return nil }
        return try SigningDigest.sha1.digest(
            of: deviceIdentifier + opaqueValue + Attribute.utf8String(.bundleID, bundleID).value)
    }

    private func add(_ purchase: Purchase, to record: inout RecordWriter) {
        record.addInteger(.quantity, purchase.quantity)
        record.addText(.productID, purchase.productID)
        record.addText(.transactionID, purchase.transactionID)
        record.addDate(.purchaseDate, purchase.purchaseDate)
        record.addText(.originalTransactionID, purchase.originalTransactionID)
        record.addDate(.purchaseOriginalPurchaseDate, purchase.originalPurchaseDate)
        record.addInteger(.productType, purchase.productType)
        record.addDate(.expiresDate, purchase.expiresDate, isWrittenEmpty: writesEmptyAttributes)
        if writesEmptyAttributes { record.addText(AttributeType(rawValue: 1709), "") }
        record.addInteger(.itemID, purchase.itemID)
        record.addInteger(.webOrderLineItemID, purchase.webOrderLineItemID)
        record.addDate(.revocationDate, purchase.revocationDate, isWrittenEmpty: writesEmptyAttributes)
        record.addInteger(.isTrialPeriod, purchase.isTrialPeriod.map { $0 ? 1 : 0 })
        if writesEmptyAttributes {
            for type in 1714...1718 { record.addText(AttributeType(rawValue: Int64(type)), "") }
        }
        record.addInteger(.isInIntroOfferPeriod, purchase.isInIntroOfferPeriod.map { $0 ? 1 : 0 })
        record.addInteger(.revocationReason, purchase.revocationReason)
        record.addText(.promotionalOfferID, purchase.promotionalOfferID)
        if writesEmptyAttributes { record.addInteger(AttributeType(rawValue: 1722), 0) }
        for attribute in purchase.additionalAttributes { record.add(attribute) }
    }
}
