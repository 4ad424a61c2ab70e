import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt
@testable import AppStoreReceiptTesting

/// The table is the one place for an attribute; what cannot be derived from it is compared with it here.
@Suite struct AttributeTableTests {
    static let rows = AttributeType.receiptRows + AttributeType.purchaseRows

    @Test func `every attribute and every key has one line, in the order of the numbers`() {
        for rows in [AttributeType.receiptRows, AttributeType.purchaseRows] {
            let numbers = rows.map(\.type.rawValue)
            #expect(numbers == Array(Set(numbers)).sorted())
            #expect(Set(rows.map { "\($0.jsonKey)" }).count == rows.count)
        }
        #expect(AttributeType.receiptRows.allSatisfy { $0.type.rawValue < Int64(ReceiptTable.placeCount) })
        #expect(AttributeType.purchaseRows.allSatisfy { 1701..<1733 ~= $0.type.rawValue })
    }

    @Test func `the line of an attribute is found by its number, and no other number has one`() {
        for row in Self.rows { #expect(row.type.row?.type == row.type) }
        let known = Set(Self.rows.map(\.type))
        for number in Array<Int64>(-2..<70) + Array(1690..<1750) + [.min, .max] {
            let type = AttributeType(rawValue: number)
            #expect((type.row != nil) == known.contains(type))
        }
    }

    @Test func `the hot loop's packed word says of each attribute what the table says`() {
        for index in UInt8(0)..<32 {
            guard let field = PurchaseField(index: index) else { continue }
            let valueType = AttributeType(rawValue: 1701 + Int64(index)).valueType
            let expected: PurchaseField.Storage =
                switch valueType {
                case nil: .none
                case .integer: .integer
                case .boolean: .flag
                case .utf8String: .string
                case .date: .date
                case .ia5String, .octets, .purchase: .none
                }
            #expect(field.storage == expected, "\(1701 + Int(index))")
        }
        #expect(
            AttributeType.purchaseRows.allSatisfy { PurchaseField($0.type) != nil },
            "PurchaseField must know one more attribute")
    }

    @Test func `each attribute of a purchase has a place of its own`() {
        let slots = AttributeType.purchaseRows.compactMap { PurchaseField($0.type)?.slot }
        #expect(Set(slots).count == slots.count)
        #expect(slots.allSatisfy { 0..<PurchaseEntry.placeCount ~= $0 }, "PurchaseEntry must have one more place")
    }

    @Test func `a receipt with every attribute shows each in JSON and in its accessor, and nothing as unknown`() throws
    {
        var builder = ReceiptBuilder(bundleID: "b")
        (builder.expirationDate, builder.preorderDate) = (builder.creationDate, builder.creationDate)
        var purchase = ReceiptBuilder.Purchase.autoRenewable(
            "p", transactionID: "1", expiresDate: ReceiptBuilder.defaultPurchaseDate
        ).revoked(at: ReceiptBuilder.defaultPurchaseDate)
        (purchase.isInIntroOfferPeriod, purchase.promotionalOfferID, purchase.itemID) = (true, "offer", "7")
        builder.purchases = [purchase]
        builder.writesEmptyAttributes = false
        let receipt = try UnverifiedReceipt(decoding: builder.signed(by: Minted.authority))
        let json = receipt.receipt.json
        for row in Self.rows { #expect(json.contains("\"\(row.jsonKey)\":"), "\(row.jsonKey)") }
        #expect(receipt.unknownAttributes.isEmpty && receipt.inAppPurchases[0].unknownAttributes.isEmpty)

        let entry = receipt.inAppPurchases[0]
        let values: [Any?] = [
            receipt.receiptType, receipt.appItemID, receipt.bundleID, receipt.applicationVersion, receipt.opaqueValue,
            receipt.sha1Hash, receipt.originalCreationDate, receipt.serverBuild, receipt.ageRating, receipt.sellerID,
            receipt.creationDate, receipt.clientVersion, receipt.downloadID, receipt.versionExternalIdentifier,
            receipt.inAppPurchases.first, receipt.originalPurchaseDate, receipt.originalApplicationVersion,
            receipt.expirationDate, receipt.platform, receipt.preorderDate, entry.quantity, entry.productID,
            entry.transactionID, entry.purchaseDate, entry.originalTransactionID, entry.originalPurchaseDate,
            entry.productType, entry.expiresDate, entry.itemID, entry.webOrderLineItemID, entry.revocationDate,
            entry.isTrialPeriod, entry.isInIntroOfferPeriod, entry.revocationReason, entry.promotionalOfferID,
        ]
        #expect(values.count == Self.rows.count, "an attribute without an accessor")
        #expect(values.allSatisfy { $0 != nil })
    }

    @Test
    func `an attribute can be minted from JSON by its line of the table alone, without a property of the builder`()
        throws
    {
        for row in Self.rows where row.type != .inAppPurchase {
            let json: String =
                switch row.valueType {
                case .utf8String, .ia5String: "\"text\""
                case .date: "\"2025-06-15T12:00:00Z\""
                case .integer: "7"
                case .boolean: "true"
                case .octets, .purchase: "\"00ff\""
                }
            let text = Array(json.utf8)
            var cursor = JSONCursor(text.span)
            let attribute = try ReceiptAttribute(row, reading: &cursor)
            let member = "{\"\(row.jsonKey)\":\(json)}"
            let isOfPurchase = row.type.rawValue > 1700
            let builder = try ReceiptBuilder(json: Array((isOfPurchase ? "{\"in_app\":[\(member)]}" : member).utf8))
            let receipt = try UnverifiedReceipt(decoding: builder.signed(by: Minted.authority))
            let attributes = isOfPurchase ? Array(receipt.inAppPurchases[0].attributes) : Array(receipt.attributes)
            #expect(attributes.contains { $0.type == row.type && Array($0.value) == attribute.value }, "\(row.jsonKey)")
        }
    }
}
