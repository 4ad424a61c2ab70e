import AppStoreReceiptTesting
import SignatureTrust
import SpanASN1
import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt

@Suite struct ReceiptJSONTests {
    private static func full() throws -> UnverifiedReceipt {
        func date(_ milliseconds: Int64) -> Instant { Instant(millisecondsSince1970: milliseconds) }
        var purchase = ReceiptBuilder.Purchase()
        purchase.quantity = 2
        purchase.productID = "p\"q\\"
        purchase.transactionID = "0070"
        purchase.purchaseDate = date(1_500_000_000_123)
        purchase.originalTransactionID = "0069"
        purchase.originalPurchaseDate = date(1_400_000_000_000)
        purchase.productType = .autoRenewableSubscription
        purchase.expiresDate = date(64_092_211_200_000)
        purchase.itemID = "1292258376"
        purchase.webOrderLineItemID = "710000353660114"
        purchase.revocationDate = date(1_500_000_001_000)
        purchase.isTrialPeriod = true
        purchase.isInIntroOfferPeriod = false
        purchase.revocationReason = .appIssue
        purchase.promotionalOfferID = "summer"
        purchase.additionalAttributes = [.utf8String(AttributeType(rawValue: 1709), "")]
        var builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [purchase, ReceiptBuilder.Purchase()])
        builder.writesEmptyAttributes = false
        builder.attributeOrder = .asGiven
        builder.receiptType = "ProductionVPP"
        builder.appItemID = "9223372036854775807"
        builder.applicationVersion = "1.0"
        builder.opaqueValue = [0x00, 0xFF]
        builder.sha1Hash = [UInt8](repeating: 0xAB, count: 20)
        builder.originalCreationDate = date(1_500_000_000_000)
        builder.serverBuild = 1
        builder.ageRating = "4+"
        builder.sellerID = "2"
        builder.creationDate = date(1_500_000_000_001)
        builder.clientVersion = 3
        builder.downloadID = "4"
        builder.versionExternalIdentifier = "5"
        builder.originalPurchaseDate = date(-1)
        builder.originalApplicationVersion = "0.9"
        builder.expirationDate = date(1_600_000_000_000)
        builder.platform = 3
        builder.preorderDate = date(1_300_000_000_000)
        // One that is outside the table of known ones, one that a purchase could have, an inferred one of the wrong
        // form.
        builder.additionalAttributes = [
            .init(AttributeType(rawValue: 99), version: 7, value: [0xDE, 0xAD]),
            .utf8String(AttributeType(rawValue: 1702), "x"),
        ]
        return try UnverifiedReceipt(decoding: try builder.signed(by: Minted.authority))
    }

    @Test func `every field has its key and nothing is lost`() throws {
        let expected =
            #"{"receipt_type":"ProductionVPP","app_item_id":9223372036854775807,"bundle_id":"com.example.app","#
            + #""application_version":"1.0","opaque_value":"00ff","sha1_hash":"\#(String(repeating: "ab", count: 20))","#
            + #""original_receipt_creation_date":"2017-07-14T02:40:00Z","server_build":1,"age_rating":"4+","seller_id":2,"#
            + #""receipt_creation_date":"2017-07-14T02:40:00.001Z","client_version":3,"download_id":4,"#
            + #""version_external_identifier":5,"original_purchase_date":"1969-12-31T23:59:59.999Z","#
            + #""original_application_version":"0.9","expiration_date":"2020-09-13T12:26:40Z","platform":3,"#
            + #""preorder_date":"2011-03-13T07:06:40Z","unknown_attributes":[{"type":99,"version":7,"value":"dead"},"#
            + #"{"type":1702,"version":1,"value":"0c0178"}],"#
            + #""in_app":[{"quantity":2,"product_id":"p\"q\\","transaction_id":"0070","#
            + #""purchase_date":"2017-07-14T02:40:00.123Z","original_transaction_id":"0069","#
            + #""original_purchase_date":"2014-05-13T16:53:20Z","product_type":3,"expires_date":"4001-01-01T00:00:00Z","#
            + #""item_id":1292258376,"web_order_line_item_id":710000353660114,"cancellation_date":"2017-07-14T02:40:01Z","#
            + #""is_trial_period":true,"is_in_intro_offer_period":false,"cancellation_reason":1,"#
            + #""promotional_offer_id":"summer","unknown_attributes":[{"type":1709,"version":1,"value":"0c00"}]},{}]}"#
        let receipt = try Self.full()
        #expect(receipt.receipt.json == expected)
        #expect(receipt.json == #"{"verified":false,"schema":1,"receipt":\#(expected)}"#)
    }

    @Test func `absent fields are absent keys, but for the list of purchases`() throws {
        var builder = ReceiptBuilder(bundleID: "b", environment: .xcode)
        builder.appItemID = nil
        builder.applicationVersion = nil
        builder.opaqueValue = nil
        builder.expirationDate = nil
        let receipt = try UnverifiedReceipt(decoding: try builder.signed(by: Minted.storeKit))
        #expect(
            receipt.receipt.json
                == #"{"receipt_type":"Xcode","bundle_id":"b","receipt_creation_date":"2025-06-15T12:00:00Z","in_app":[]}"#
        )
    }

    @Test func `an attribute by number is one text or one integer, and otherwise its octets`() throws {
        let rows: [(value: [UInt8], json: String)] = [
            ([0x02, 0x01, 0x05], "5"), ([0x0C, 0x01, 0x61], #""a""#), ([0x16, 0x01, 0x61], #""a""#),
            ([0x02, 0x01, 0x05, 0x02, 0x01, 0x06], #""hex:020105020106""#),
            ([0x0C, 0x01, 0x61, 0x00], #""hex:0c016100""#),
            ([0x0C, 0x01, 0xFF], #""hex:0c01ff""#), ([0x16, 0x01, 0xFF], #""hex:1601ff""#), ([], #""hex:""#),
        ]
        let receipt = try PayloadDecoderTests.decode(
            rows.indices.map { PayloadDecoderTests.attribute(50 + $0, rows[$0].value) })
        var writer = JSONWriter()
        writer.attributes(of: receipt.receipt, file: "a")
        let members = rows.indices.map { #""\#(50 + $0)":\#(rows[$0].json)"# }.joined(separator: ",")
        #expect(String(decoding: writer.bytes, as: UTF8.self).contains(#""outer":{\#(members)},"#))
    }

    @Test func `the two tables of attributes have a key for every attribute with a field, each key once`() {
        func byKey(_ rows: [AttributeType.Row]) -> [String: AttributeType] {
            Dictionary(uniqueKeysWithValues: rows.map { ("\($0.jsonKey)", $0.type) })
        }
        let outer = byKey(AttributeType.receiptRows)
        let inner = byKey(AttributeType.purchaseRows)
        func fields(_ numbers: Range<Int64>) -> Set<AttributeType> {
            Set(numbers.map(AttributeType.init).filter { $0.valueType != nil })
        }
        #expect(Set(outer.values) == fields(0..<64) && outer.count == fields(0..<64).count)
        #expect(Set(inner.values) == fields(1701..<1733) && inner.count == fields(1701..<1733).count)
        #expect(outer["bundle_id"] == .bundleID)
        #expect(inner["original_purchase_date"] == .purchaseOriginalPurchaseDate)
    }

    @Test func `a verified receipt says by what it was verified`() throws {
        let authority = try Minted.authority
        let verifier = try AppStoreVerifier(
            bundleID: "b", environments: [.production], trust: .roots([authority.trustAnchor]))
        let receipt = try verifier.verifyReceipt(try ReceiptBuilder(bundleID: "b").signed(by: authority))
        let trust = receipt.verification
        #expect(
            receipt.json
                == #"{"verified":true,"schema":1,"trust":{"authority":"custom-root","anchor":"\#(trust.anchor)","signer":"\#(trust.signer)","#
                + #""signer_expires":"\#(trust.signerExpirationDate)","digest":"SHA-256","validated_at":"2025-06-15T12:00:00Z"},"#
                + #""receipt":\#(receipt.receipt.json),"nothing":"empty-in-app"}"#)
    }

    @Test(arguments: [
        (
            VerificationError.input(InputError(.invalidBase64, armor: .json, offset: 7)),
            #"{"code":"invalid-base64","stage":"input","category":"client","at_fault":"client","message":"the base64 has an invalid character or is incomplete (at byte 7 of the text)","advice":"Have the client send the receipt or its base64 unchanged. In a form, percent-encode `+`.","offset":7,"offset_in":"text","form":"json"}"#
        ),
        (
            .input(InputError(.inputTooLarge, armor: .binary, offset: 9)),
            #"{"code":"input-too-large","stage":"input","category":"client","at_fault":"client","message":"the input is larger than the limit (at byte 9 of the binary receipt)","advice":"Apple's evidence is far below the limits. Have the client send it alone and unchanged. If you expect more, raise `VerificationLimits`.","offset":9,"offset_in":"binary","form":"binary"}"#
        ),
        (
            VerificationError(
                .payload(
                    ASN1DecodingError(
                        .invalidTime, offset: 4211, path: ASN1Path(ASN1Field(rawValue: 1704), index: 3)))),
            #"{"code":"invalid-time","stage":"payload","category":"host","at_fault":"library","message":"a date or time is malformed or does not exist (payload › in_app[3] › 1704 purchase date at byte 4211 of the binary receipt)","advice":"Apple signed something that this version of the library cannot read. Keep the evidence, look for a newer version, and report the error.","offset":4211,"offset_in":"binary","path":"payload › in_app[3] › 1704 purchase date"}"#
        ),
        (
            .policy(.bundleIDMismatch, found: "com.example.other", expected: "com.example.app"),
            #"{"code":"bundle-id-mismatch","stage":"policy","category":"client","at_fault":"client","message":"the evidence is genuine, but its bundle id is not accepted: found \"com.example.other\", expected \"com.example.app\"","advice":"If the app is yours, pass its bundle id as `VerificationPolicy.bundleIDs`. If it is not, refuse the evidence.","found":"com.example.other","expected":"com.example.app"}"#
        ),
    ])
    func `an error has its code, its stage and its place`(error: VerificationError, json: String) {
        #expect(error.json == #"{"verified":false,"schema":1,"error":\#(json)}"#)
    }

    @Test(arguments: [
        0, 1, 999, 1_585_714_059_000, -1, -62_167_219_200_000, -62_167_219_200_001, 253_402_300_799_999,
        253_402_300_800_000, .max / 2, .max, .min,
    ])
    func `a date is written as its description`(milliseconds: Int64) {
        let date = Instant(millisecondsSince1970: milliseconds)
        var writer = JSONWriter()
        writer.date(date)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "\"\(date)\"")
    }
}
