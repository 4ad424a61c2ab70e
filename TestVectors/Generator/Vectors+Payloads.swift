import AppStoreReceipt
import AppStoreReceiptTesting

// Faults in the payload. Such a receipt is signed all the same: Apple never would, but a verifier reads it after the
// signature.
extension Vector {
    static let payloads: [Vector] = shapes + types + repetitions

    private static func payload(
        _ file: String, _ pitfall: String?, _ code: String, _ place: Place, _ why: String, _ fault: Step
    )
        -> Vector
    {
        refused("receipts/\(file).der", pitfall, .payload, code, place, why, fault)
    }

    private static let shapes: [Vector] = [
        payload(
            "payload-a-sequence", nil, "unexpected-tag", .node(Path.payload), "The payload is a SET.",
            .payload { $0.tag = [0x30] }),
        refused(
            "receipts/payload-an-empty-set.der", "24", .date, "creation-date-missing", .content(Path.octets),
            "A payload without attributes.", .payload { $0.nodes = [] }),
        payload(
            "attribute-an-integer", "24", "unexpected-tag", .node(Path.payload + [0]), "An attribute is a SEQUENCE.",
            .payload { $0.nodes.insert(Node(0x02, [0x01]), at: 0) }),
        payload(
            "attribute-without-value", "24", "missing-element", .end(Path.payload + [0, 1]),
            "An attribute of type and version.", .payload { $0[0].nodes.removeLast() }),
        payload(
            "attribute-empty", "24", "missing-element", .content(Path.payload + [0]), "An attribute of nothing.",
            .payload { $0[0].nodes = [] }),
        payload(
            "attribute-with-a-fourth-field", "9", "trailing-data", .end(Path.payload + [0, 2]),
            "An attribute has three fields.", .payload { $0[0].nodes.append(Node(0x04, [])) }),
        payload(
            "attribute-value-not-an-octet-string", nil, "unexpected-tag", .node(Path.payload + [0, 2]),
            "The value stands in an OCTET STRING.", .payload { $0[0, 2].tag = [0x0C] }),
        payload(
            "attribute-value-constructed", "17", "constructed-string", .node(Path.payload + [0, 2]),
            "In the payload an OCTET STRING has one form.",
            .payload { $0[0, 2] = Node(0x24, nodes: [Node(0x04, $0[0, 2].octets)]) }),
        payload(
            "attribute-type-of-9-octets", "19", "integer-out-of-range", .node(Path.payload + [0, 0]),
            "A type that does not fit in 64 bits.",
            .payload { $0[0, 0].octets = [1, 0, 0, 0, 0, 0, 0, 0, 0] }),
        payload(
            "attribute-type-not-an-integer", nil, "unexpected-tag", .node(Path.payload + [0, 0]),
            "The type is an INTEGER.", .payload { $0[0, 0].tag = [0x0A] }),
        accepted(
            "receipts/attribute-type-of-8-octets.der", "19", "A large type is an unknown one.",
            .adding(.utf8String(.init(.max), "?"))),
        payload(
            "attribute-truncated", "21", "truncated", .node(Path.payload + [0, 2]),
            "A value that is longer than its attribute.", .payload { $0[0, 2].length = .octets([0x7F]) }),
        payload(
            "purchase-a-sequence", nil, "unexpected-tag", .attribute(17, [2, 0]), "A purchase is a SET.",
            .value(17) { $0.tag = [0x30] }),
        payload(
            "purchase-with-trailing-byte", "9", "trailing-data", .attribute(17, [2, 1]),
            "A purchase is one SET.", .attribute(17) { $0[2].octets.append(0x30) }),
        payload(
            "purchase-without-set", "24", "missing-element", .attribute(17, [2, 0]), "A purchase of no bytes.",
            .attribute(17) { $0[2].octets = [] }),
        payload(
            "purchase-attribute-without-value", "24", "missing-element", .attribute(17, [2, 0, 1]),
            "An attribute of a purchase of type and version.", .value(17) { $0[0].nodes.removeLast() }),
        accepted(
            "receipts/purchase-empty.der", "17", purchases: 3, "`31 00`: a purchase without attributes.",
            .adding(.init(.inAppPurchase, value: [0x31, 0x00]))),
    ]

    private static let types: [Vector] = [
        payload(
            "bundle-id-an-ia5-string", nil, "unexpected-tag", .attribute(2, [2, 0]), "The bundle id is a UTF8String.",
            .value(2) { $0.tag = [0x16] }),
        payload(
            "bundle-id-bare", nil, "truncated", .attribute(2, [2, 0]),
            "The value holds an element, not bare characters.",
            .attribute(2) { $0[2].octets = Array("com.example.app".utf8) }),
        payload(
            "bundle-id-with-trailing-byte", "9", "trailing-data", .attribute(2, [2, 1]),
            "A value holds one element.", .attribute(2) { $0[2].octets.append(0x00) }),
        payload(
            "bundle-id-value-empty", "24", "missing-element", .attribute(2, [2, 0]),
            "A value without an element.", .attribute(2) { $0[2].octets = [] }),
        payload(
            "bundle-id-not-utf-8", nil, "invalid-string", .attribute(2, [2, 0]), "Octets that are no UTF-8.",
            .value(2) { $0.octets[4] = 0xFF }),
        payload(
            "product-id-overlong-utf-8", nil, "invalid-string", .purchase(0, 1702, [2, 0]),
            "A slash in two octets: the same id in two spellings.",
            .purchase { purchase in
                purchase.productID = nil
                purchase.additionalAttributes = [.init(.productID, value: [0x0C, 0x02, 0xC0, 0xAF])]
            }),
        payload(
            "product-id-an-integer", nil, "unexpected-tag", .purchase(0, 1702, [2, 0]),
            "The product id is a UTF8String.",
            .purchase { purchase in
                purchase.productID = nil
                purchase.additionalAttributes = [.integer(.productID, 7)]
            }),
        payload(
            "app-item-id-negative", "19", "integer-out-of-range", .attribute(1, [2, 0]),
            "Integers of a receipt are never negative.", .receipt { $0.appItemID = "-1" }),
        payload(
            "download-id-of-9-octets", "19", "integer-out-of-range", .attribute(15, [2, 0]),
            "An integer of more than 63 bits where a documented one belongs.",
            .value(15) { $0.octets = [0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] }),
        payload(
            "quantity-a-string", nil, "unexpected-tag", .purchase(0, 1701, [2, 0]), "The quantity is an INTEGER.",
            .purchase { purchase in
                purchase.quantity = nil
                purchase.additionalAttributes = [.utf8String(.quantity, "1")]
            }),
        payload(
            "quantity-with-superfluous-octet", "19", "invalid-integer", .purchase(0, 1701, [2, 0]),
            "An INTEGER has no superfluous octets.",
            .purchase { purchase in
                purchase.quantity = nil
                purchase.additionalAttributes = [.init(.quantity, value: [0x02, 0x02, 0x00, 0x01])]
            }),
        payload(
            "trial-period-2", nil, "integer-out-of-range", .purchase(0, 1713, [2, 0]), "Neither 0 nor 1.",
            .purchase { purchase in
                purchase.isTrialPeriod = nil
                purchase.additionalAttributes = [.integer(.isTrialPeriod, 2)]
            }),
        payload(
            "trial-period-a-boolean", nil, "unexpected-tag", .purchase(0, 1713, [2, 0]),
            "The flag is an INTEGER, not a BOOLEAN.",
            .purchase { purchase in
                purchase.isTrialPeriod = nil
                purchase.additionalAttributes = [.init(.isTrialPeriod, value: [0x01, 0x01, 0xFF])]
            }),
        accepted(
            "receipts/inferred-attributes-of-another-form.der", "20",
            "A wrong form in an attribute whose meaning is inferred leaves its field empty and refuses nothing.",
            .receipt { receipt in
                (receipt.serverBuild, receipt.ageRating, receipt.platform) = (nil, nil, nil)
                receipt.additionalAttributes = [
                    .utf8String(.serverBuild, "P302"), .integer(.ageRating, 4), .init(.platform, value: [1, 2, 3]),
                    .init(.preorderDate, value: []),
                ]
            },
            .purchase { purchase in
                (purchase.productType, purchase.itemID) = (nil, nil)
                purchase.additionalAttributes = [
                    .utf8String(.productType, "consumable"),
                    .init(.itemID, value: [0x02, 0x09, 0x00] + .init(repeating: 0xFF, count: 8)),
                ]
            }),
        accepted(
            "receipts/wide-integers.der", "19", "Integers of up to 63 bits.",
            .receipt { receipt in
                receipt.downloadID = "9223372036854775807"
                receipt.appItemID = "1099511627775"
            },
            .purchase { $0.webOrderLineItemID = "36028797018963967" }),
    ]

    private static func repeated(_ name: String, _ type: Int64, _ attribute: ReceiptAttribute) -> Vector {
        payload(
            "\(name)-twice", "13", "duplicate-element", .attribute(Int(type), occurrence: 1),
            "First or last? An attribute that may stand once stands once.", .adding(attribute))
    }

    private static func repeatedInPurchase(_ name: String, _ attribute: ReceiptAttribute) -> Vector {
        payload(
            "\(name)-twice", "13", "duplicate-element",
            .purchase(1, Int(attribute.type.rawValue), occurrence: 1),
            "First or last? An attribute that may stand once stands once, in a purchase too.",
            .purchase { $0.additionalAttributes = [attribute] })
    }

    private static let repetitions: [Vector] = [
        repeated("receipt-type", 0, .utf8String(.receiptType, "ProductionSandbox")),
        repeated("bundle-id", 2, .utf8String(.bundleID, "com.example.other")),
        repeated("bundle-id-the-same", 2, .utf8String(.bundleID, VerifierOptions.bundleID)),
        repeated("application-version", 3, .utf8String(.applicationVersion, "2.0")),
        repeated("opaque-value", 4, .init(.opaqueValue, value: .init(repeating: 0, count: 16))),
        repeated("sha-1-hash", 5, .init(.sha1Hash, value: .init(repeating: 0, count: 20))),
        repeated("original-creation-date", 8, .date(.originalCreationDate, ReceiptBuilder.defaultPurchaseDate)),
        repeated("original-purchase-date", 18, .date(.originalPurchaseDate, ReceiptBuilder.defaultPurchaseDate)),
        repeated("original-application-version", 19, .utf8String(.originalApplicationVersion, "0.1")),
        repeatedInPurchase("quantity", .integer(.quantity, 1000)),
        repeatedInPurchase("product-id", .utf8String(.productID, "com.example.app.everything")),
        repeatedInPurchase("transaction-id", .utf8String(.transactionID, "9")),
        repeatedInPurchase("original-transaction-id", .utf8String(.originalTransactionID, "9")),
        repeatedInPurchase("cancellation-date", .date(.revocationDate, ReceiptBuilder.defaultPurchaseDate)),
        accepted(
            "receipts/unknown-attributes-twice.der", "13", "What has no meaning may be repeated; all of it is kept.",
            .adding(.utf8String(.init(9999), "one"), .utf8String(.init(9999), "two")),
            .purchase { $0.additionalAttributes = [.utf8String(.init(1715), "again"), .integer(.init(1799), 1)] }),
    ]
}
