import AppStoreReceiptTesting
import Foundation
import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt

struct VerifyReceiptResponderTests {
    static let clock = Instant(millisecondsSince1970: 1_750_000_000_123)

    static func responder(_ environments: AppStoreEnvironment...) throws -> VerifyReceiptResponder {
        var responder = try VerifyReceiptResponder(
            answeringForEveryAppIn: Set(environments), trust: Minted.trust)
        responder.clock = { clock }
        return responder
    }

    static func request(_ receipt: [UInt8], _ others: String = "") -> [UInt8] {
        Array("{\"receipt-data\":\"\(Base64.encode(receipt.span))\"\(others)}".utf8)
    }

    static func builder(_ type: ReceiptBuilder.ReceiptType = .production) -> ReceiptBuilder {
        ReceiptBuilder(
            bundleID: "com.example.app", environment: type,
            purchases: [
                .nonConsumable("com.example.pro", transactionID: "007", purchaseDate: day(0)),
                ReceiptBuilder.Purchase.period("2", 0..<7, trial: true), ReceiptBuilder.Purchase.period("3", 7..<37),
            ])
    }

    static func json(_ body: [UInt8]) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
    }

    // MARK: The answer

    @Test func `an answer has Apple's keys, types and forms`() throws {
        var builder = ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: [
                {
                    var purchase = ReceiptBuilder.Purchase.period(
                        "0002", 90..<120, "a\"b\\c\u{1}é", trial: true, intro: true, promotion: "summer",
                        cancelled: 100.5)
                    purchase.revocationReason = .appIssue
                    (purchase.quantity, purchase.webOrderLineItemID) = (3, "340000000000001")
                    return purchase
                }()
            ])
        builder.creationDate = day(200)
        builder.originalCreationDate = Instant(rfc3339: "2025-07-01T12:00:00.250Z")
        builder.originalPurchaseDate = day(0)
        builder.preorderDate = day(1)
        builder.expirationDate = day(800)
        let answer = try Self.responder(.production).answer(
            to: Self.request(builder.signed(by: Minted.authority)))
        #expect(answer.status == .valid)
        #expect(try answer.result.get().bundleID == "com.example.app")
        let expected = #"""
            {"status":0,"environment":"Production","receipt":{"receipt_type":"Production","adam_id":1234567890,
            "app_item_id":1234567890,"bundle_id":"com.example.app","application_version":"1.0",
            "download_id":70000000000001,"version_external_identifier":860000001,
            "receipt_creation_date":"2025-07-01 12:00:00 Etc/GMT","receipt_creation_date_ms":"1751371200250",
            "receipt_creation_date_pst":"2025-07-01 05:00:00 America/Los_Angeles",
            "request_date":"2025-06-15 15:06:40 Etc/GMT","request_date_ms":"1750000000123",
            "request_date_pst":"2025-06-15 08:06:40 America/Los_Angeles",
            "original_purchase_date":"2025-01-01 00:00:00 Etc/GMT","original_purchase_date_ms":"1735689600000",
            "original_purchase_date_pst":"2024-12-31 16:00:00 America/Los_Angeles",
            "original_application_version":"1.0",
            "preorder_date":"2025-01-02 00:00:00 Etc/GMT","preorder_date_ms":"1735776000000",
            "preorder_date_pst":"2025-01-01 16:00:00 America/Los_Angeles",
            "expiration_date":"2027-03-12 00:00:00 Etc/GMT","expiration_date_ms":"1804809600000",
            "expiration_date_pst":"2027-03-11 16:00:00 America/Los_Angeles",
            "in_app":[{"quantity":"3","product_id":"a\"b\\c\u0001é","transaction_id":"0002","original_transaction_id":"1",
            "purchase_date":"2025-04-01 00:00:00 Etc/GMT","purchase_date_ms":"1743465600000",
            "purchase_date_pst":"2025-03-31 17:00:00 America/Los_Angeles",
            "original_purchase_date":"2025-04-01 00:00:00 Etc/GMT","original_purchase_date_ms":"1743465600000",
            "original_purchase_date_pst":"2025-03-31 17:00:00 America/Los_Angeles",
            "expires_date":"2025-05-01 00:00:00 Etc/GMT","expires_date_ms":"1746057600000",
            "expires_date_pst":"2025-04-30 17:00:00 America/Los_Angeles",
            "web_order_line_item_id":"340000000000001","is_trial_period":"true","is_in_intro_offer_period":"true",
            "cancellation_date":"2025-04-11 12:00:00 Etc/GMT","cancellation_date_ms":"1744372800000",
            "cancellation_date_pst":"2025-04-11 05:00:00 America/Los_Angeles","cancellation_reason":"1",
            "promotional_offer_id":"summer"}]}}
            """#.split(separator: "\n").joined()
        #expect(String(decoding: answer.body, as: UTF8.self) == expected)
    }

    @Test func `the creation date is that of the receipt where there is none of the original`() throws {
        var builder = Self.builder(.sandbox)
        builder.originalCreationDate = nil
        builder.creationDate = day(40)
        let answer = try Self.responder(.sandbox).answer(to: Self.request(builder.signed(by: Minted.authority)))
        let receipt = try #require(Self.json(answer.body)["receipt"] as? [String: Any])
        #expect(receipt["receipt_creation_date_ms"] as? String == "\(day(40).millisecondsSince1970)")
        #expect(receipt["adam_id"] as? Int == 0)
    }

    /// As in Apple's answers. That a download id is absent in production was seen; that another id is, never.
    @Test(
        arguments: [
            (.production, .production, "\"download_id\":null,", ""),
            (.productionVPP, .production, "\"download_id\":null,", ""),
            (.sandbox, .sandbox, "\"download_id\":0,", "0"),
            (.productionVPPSandbox, .sandbox, "\"download_id\":0,", "0"),
        ] as [(ReceiptBuilder.ReceiptType, AppStoreEnvironment, String, String)])
    func `an id that the receipt has not is what Apple writes for it`(
        row: (ReceiptBuilder.ReceiptType, AppStoreEnvironment, String, String)
    ) throws {
        var builder = Self.builder(row.0)
        (builder.appItemID, builder.downloadID, builder.versionExternalIdentifier) = (nil, nil, nil)
        let answer = try Self.responder(row.1).answer(to: Self.request(builder.signed(by: Minted.authority)))
        func members(_ names: String...) -> String {
            row.3.isEmpty ? "" : names.map { "\"\($0)\":\(row.3)," }.joined()
        }
        let type = builder.receiptType ?? ""
        let start =
            #"{"receipt_type":"\#(type)",\#(members("adam_id", "app_item_id"))"bundle_id":"com.example.app","#
            + #""application_version":"1.0",\#(row.2)\#(members("version_external_identifier"))"receipt_creation_date":"#
        #expect(String(decoding: answer.body, as: UTF8.self).contains(start))
    }

    @Test func `what no receipt holds is not in the answer`() throws {
        let answer = try Self.responder(.production).answer(
            to: Self.request(Self.builder().signed(by: Minted.authority)))
        let text = String(decoding: answer.body, as: UTF8.self)
        for key in [
            "latest_receipt_info", "latest_receipt", "pending_renewal_info", "is_upgraded", "in_app_ownership_type",
            "subscription_group_identifier", "app_account_token", "offer_code_ref_name", "cancellation_date",
        ] { #expect(!text.contains("\"\(key)"), "\(key)") }
        // Web order line items are for subscriptions only.
        #expect(text.split(separator: "web_order_line_item_id").count == 3)
    }

    /// Apple adds them from its own records.
    @Test(
        arguments: [
            "app_account_token", "in_app_ownership_type", "offer_code_ref_name", "subscription_group_identifier",
        ], [ReceiptBuilder.ReceiptType.production, .productionVPP, .sandbox])
    func `a key that a receipt does not hold is in the table of differences`(
        key: String, type: ReceiptBuilder.ReceiptType
    ) throws {
        var builder = Self.builder(type)
        builder.purchases = [
            .period("7", 0..<30, "pro", promotion: "winter"), .consumable("coins", transactionID: "8"),
        ]
        let environment: AppStoreEnvironment = type == .sandbox ? .sandbox : .production
        var responder = try Self.responder(environment)
        responder.fillsLatestReceiptInfo = true
        let answer = try responder.answer(to: Self.request(builder.signed(by: Minted.authority)))
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains("\"latest_receipt_info\"") && !text.contains("\"\(key)\""))
        let row = try Article("ComingFromVerifyReceipt").rows(under: "Field by field").first {
            $0[0].contains("`\(key)`")
        }
        #expect(row?[1].hasPrefix("never: a receipt does not contain them") == true, "\(row ?? [])")
    }

    @Test(arguments: [ReceiptBuilder.AttributeOrder.der, .asGiven, .shuffled(seed: 7)])
    func `the order of in_app is the receipt's`(order: ReceiptBuilder.AttributeOrder) throws {
        var builder = ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: (0..<40).map { .consumable("coins", transactionID: "\(($0 * 7) % 40)") })
        builder.attributeOrder = order
        let answer = try Self.responder(.production).answer(
            to: Self.request(builder.signed(by: Minted.authority)))
        let receipt = try #require(Self.json(answer.body)["receipt"] as? [String: Any])
        let purchases = try #require(receipt["in_app"] as? [[String: Any]])
        #expect(
            purchases.map { $0["transaction_id"] as? String }
                == (try answer.result.get().transactionIDs))
    }

    @Test func `strings of which every character is to be escaped fit, as do the longest numbers and dates`() throws {
        let text = String(repeating: "\u{1}", count: 5000)
        var purchase = ReceiptBuilder.Purchase.period(text, 0..<30, text, promotion: text, cancelled: 3)
        purchase.originalTransactionID = text
        (purchase.quantity, purchase.webOrderLineItemID) = (.max, String(Int64.max))
        purchase.revocationReason = RevocationReason(rawValue: .max)
        let last = try #require(Instant(rfc3339: "9999-12-31T23:59:59.999Z"))
        (purchase.purchaseDate, purchase.originalPurchaseDate, purchase.expiresDate) = (last, last, last)
        (purchase.revocationDate, purchase.isInIntroOfferPeriod) = (last, true)
        var empty = ReceiptBuilder.Purchase()
        empty.additionalAttributes = []
        var builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [purchase, empty])
        builder.writesEmptyAttributes = false
        builder.attributeOrder = .asGiven
        let answer = try Self.responder(.production).answer(
            to: Self.request(builder.signed(by: Minted.authority)))
        let receipt = try #require(Self.json(answer.body)["receipt"] as? [String: Any])
        let purchases = try #require(receipt["in_app"] as? [[String: Any]])
        #expect(purchases[0]["product_id"] as? String == text)
        #expect(purchases[0]["promotional_offer_id"] as? String == text)
        #expect(purchases[0]["quantity"] as? String == "\(Int64.max)")
        #expect(purchases[0]["expires_date_ms"] as? String == "\(last.millisecondsSince1970)")
        #expect(purchases[1].isEmpty)
    }

    /// Eight bytes at once are looked at in another way.
    @Test(arguments: ["\"", "a\"", "\\", "\",\"q", "1234567\"", "12345678\"", "é", "\u{7F}"])
    func `a string of any length is the value of its own member, and of no other`(id: String) throws {
        let builder = ReceiptBuilder(
            bundleID: "com.example.app", purchases: [.nonConsumable(id, transactionID: id, purchaseDate: day(0))])
        let answer = try Self.responder(.production).answer(to: Self.request(builder.signed(by: Minted.authority)))
        let receipt = try #require(Self.json(answer.body)["receipt"] as? [String: Any])
        let purchase = try #require((receipt["in_app"] as? [[String: Any]])?.first)
        #expect(purchase["product_id"] as? String == id && purchase["transaction_id"] as? String == id)
        #expect(purchase["original_transaction_id"] as? String == id)
    }

    // MARK: Statuses

    @Test func `a host that cannot verify is at fault, and not the receipt`() {
        for reason in [VerificationError.Reason.host(.outOfMemory), .configuration(.noAppAppleID, found: nil)] {
            #expect(VerifyReceiptStatus(VerificationError(reason)) == .internalError)
        }
    }

    @Test(arguments: [
        ("", 21000), ("   ", 21000), ("hello", 21000), ("[]", 21000), ("{", 21000), ("null", 21000),
        ("\"MII=\"", 21000),
        ("receipt-data=MIIB", 21000), ("{\"receipt-data\":\"MII=\"", 21000), ("{\"receipt-data\":\"MII=\"}x", 21000),
        ("{\"receipt-data\":\"\",\"receipt-data\":\"\"}", 21000), ("{\"receipt-data\":\"\\q\"}", 21000),
        (String(repeating: "[", count: 100_000), 21000),
        ("{\"a\":" + String(repeating: "[", count: 100_000), 21000),
        ("{}", 21002), ("{\"receipt-data\":null}", 21002), ("{\"receipt-data\":12}", 21002),
        ("{\"receipt-data\":{\"receipt-data\":\"MII=\"}}", 21002), ("{\"receipt-data\":\"\"}", 21002),
        ("{\"receipt-data\":\"***\"}", 21002), ("{\"receipt-data\":\"MIIB\"}", 21002),
        ("{\"receipt-data\":\"e30=\"}", 21002), ("{\"password\":\"x\"}", 21002),
    ])
    func `a bad request has its status and nothing else`(body: String, status: Int) throws {
        let answer = try Self.responder(.production).answer(to: Array(body.utf8))
        #expect(answer.status.rawValue == status)
        #expect(String(decoding: answer.body, as: UTF8.self) == "{\"status\":\(status)}")
    }

    @Test func `a receipt that another signed, or that was altered, is not authenticated`() throws {
        let responder = try Self.responder(.production)
        let stranger = try Self.builder().signed(by: Minted.stranger)
        #expect(responder.answer(to: Self.request(stranger)).status == .notAuthenticated)
        var altered = try Self.builder().signed(by: Minted.authority)
        let place = try #require(altered.firstRange(of: Array("com.example.pro".utf8)))
        altered[place.lowerBound] ^= 1
        #expect(responder.answer(to: Self.request(altered)).status == .notAuthenticated)
        let cut = try Array(Self.builder().signed(by: Minted.authority).dropLast(9))
        #expect(responder.answer(to: Self.request(cut)).status == .malformedReceipt)
        #expect(responder.counts.refused.values.reduce(0, +) == 3)
    }

    @Test(arguments: [
        (ReceiptBuilder.ReceiptType.production, 0, 21008, "Production"),
        (.sandbox, 21007, 0, "Sandbox"),
        (.productionVPP, 0, 21008, "Production"),
        (.productionVPPSandbox, 21007, 0, "Sandbox"),
    ])
    func `production first, the sandbox on 21007, or both at once`(
        type: ReceiptBuilder.ReceiptType, atProduction: Int, atSandbox: Int, name: String
    ) throws {
        let request = Self.request(try Self.builder(type).signed(by: Minted.authority))
        for (responder, status) in [
            (try Self.responder(.production), atProduction), (try Self.responder(.sandbox), atSandbox),
            (try Self.responder(.production, .sandbox), 0),
        ] {
            let answer = responder.answer(to: request)
            #expect(answer.status.rawValue == status)
            if status == 0 {
                #expect(try Self.json(answer.body)["environment"] as? String == name)
            } else {
                #expect(String(decoding: answer.body, as: UTF8.self) == "{\"status\":\(status)}")
            }
        }
    }

    @Test(arguments: [[.production], [.sandbox], [.production, .sandbox]] as [Set<AppStoreEnvironment>])
    func `the environments of a policy are those that get status 0`(environments: Set<AppStoreEnvironment>) throws {
        var policy = VerificationPolicy(bundleIDs: nil, environments: environments)
        policy.validationDate = .at(try #require(Instant(rfc3339: "2025-06-15T12:00:00Z")))
        let responder = try VerifyReceiptResponder(policy: policy, trust: Minted.trust)
        #expect(responder.environments == environments)
        for (type, environment) in [
            (ReceiptBuilder.ReceiptType.production, AppStoreEnvironment.production), (.sandbox, .sandbox),
        ] {
            let answer = responder.answer(to: Self.request(try Self.builder(type).signed(by: Minted.authority)))
            #expect((answer.status == .valid) == environments.contains(environment))
            #expect(((try? answer.result.get()) != nil) == environments.contains(environment))
        }
        // All else of the policy holds, for both.
        policy.validationDate = .at(day(40_000))
        let late = try VerifyReceiptResponder(policy: policy, trust: Minted.trust)
        let request = Self.request(try Self.builder(.sandbox).signed(by: Minted.authority))
        #expect(late.answer(to: request).status == .notAuthenticated)
    }

    @Test(arguments: [[], [.xcode], [.production, .xcode], [.localTesting]] as [Set<AppStoreEnvironment>])
    func `a policy whose environments nobody can sign for is refused`(environments: Set<AppStoreEnvironment>) {
        #expect(throws: VerificationError.self) {
            try VerifyReceiptResponder(
                policy: VerificationPolicy(bundleIDs: nil, environments: environments), trust: Minted.trust)
        }
    }

    @Test func `a genuine receipt that cannot be read is malformed, and the result says whose fault it is`() throws {
        var builder = Self.builder()
        builder.additionalAttributes = [.integer(.bundleID, 5)]
        let answer = try Self.responder(.production).answer(
            to: Self.request(builder.signed(by: Minted.authority)))
        #expect(answer.status == .malformedReceipt)
        #expect(throws: VerificationError.self) { try answer.result.get() }
        if case .failure(let error) = answer.result { #expect(error.stage == .payload && error.category == .host) }
    }

    @Test func `a receipt of an environment that nobody knows is not authenticated`() throws {
        var builder = Self.builder()
        for type in ["Staging", nil] {
            builder.receiptType = type
            let answer = try Self.responder(.production, .sandbox).answer(
                to: Self.request(builder.signed(by: Minted.authority)))
            #expect(answer.status == .notAuthenticated)
            #expect(String(decoding: answer.body, as: UTF8.self) == "{\"status\":21003}")
        }
    }

    @Test func `bundle ids are checked if they are given`() throws {
        let request = Self.request(try Self.builder().signed(by: Minted.authority))
        for (bundleIDs, status) in [
            (["com.example.app"], .valid), (["com.example.other"], .notAuthenticated),
        ] as [(Set<String>, VerifyReceiptStatus)] {
            let responder = try VerifyReceiptResponder(
                bundleIDs: bundleIDs, environments: [.production], trust: Minted.trust)
            #expect(responder.answer(to: request).status == status)
        }
    }

    @Test func `receipts of StoreKit Testing are answered only where they are asked for`() throws {
        let signer = try Minted.storeKit
        var builder = ReceiptBuilder(bundleID: "com.example.app", environment: .xcode)
        builder.encoding = .ber()
        let request = Self.request(try builder.signed(by: signer))
        let responder = try VerifyReceiptResponder(
            answeringForEveryAppIn: [.xcode], trust: .storeKitTesting([signer.trustAnchor]))
        let answer = responder.answer(to: request)
        #expect(answer.status == .valid)
        #expect(try Self.json(answer.body)["environment"] as? String == "Xcode")
        #expect(try Self.responder(.production, .sandbox).answer(to: request).status == .notAuthenticated)
    }

    // MARK: Requests

    @Test func `all forms of base64 and other members are accepted`() throws {
        let receipt = try Self.builder().signed(by: Minted.authority)
        let text = Base64.encode(receipt.span)
        let lines = stride(from: 0, to: text.count, by: 64).map { text.dropFirst($0).prefix(64) }.joined(
            separator: "\\r\\n")
        let responder = try Self.responder(.production)
        for body in [
            " {\n\"password\": \"x\", \"receipt-data\" : \"\(text)\" , \"exclude-old-transactions\":\"yes\" }\r\n",
            "{\"receipt-data\":\"\(text.replacingOccurrences(of: "/", with: "\\/"))\"}",
            "{\"receipt-data\":\"\(text.replacingOccurrences(of: "A", with: "\\u0041"))\"}",
            "{\"receipt-data\":\"\(lines)\"}",
            "{\"receipt-data\":\"\(Base64.encode(receipt.span, urlSafe: true))\"}",
            "{\"receipt\\u002ddata\":\"\(text)\",\"x\":{\"receipt-data\":1,\"y\":[[],{}]}}",
        ] { #expect(responder.answer(to: Array(body.utf8)).status == .valid) }
    }

    @Test func `a body that repeats a member that is read is refused, whatever is in it`() throws {
        let binary = try Self.builder().signed(by: Minted.authority)
        let receipt = Base64.encode(binary.span)
        let responder = try Self.responder(.production)
        let data = #""receipt-data":"\#(receipt)""#
        let old = #""exclude-old-transactions":true"#
        let unity = #""Store":"AppleAppStore","Payload":"\#(receipt)""#
        for members in [
            [data, data], [data, old, old], [old, data, old], [old, old, data], [unity, old, old],
            [data, old, #""exclude\u002dold-transactions":1"#], [old, old, #""signedPayload":"\#(receipt)""#],
            [#""receipt-data":"x""#, data],
        ] {
            let body = "{\(members.joined(separator: ","))}"
            let answer = responder.answer(to: Array(body.utf8))
            #expect(answer.status == .unreadableRequest, "\(body.replacing(receipt, with: "…"))")
            #expect(throws: VerificationError.self) { try answer.result.get() }
        }
        let once = "{\([data, old, #""password":1,"password":2"#].joined(separator: ","))}"
        #expect(responder.answer(to: Array(once.utf8)).status == .valid)
    }

    @Test func `a body that is much too long for its receipt is refused before it is read`() throws {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        policy.limits.maximumReceiptByteCount = 10_000
        let responder = try VerifyReceiptResponder(policy: policy, trust: Minted.trust)
        let receipt = try Self.builder().signed(by: Minted.authority)
        func answer(_ padding: Int) -> VerifyReceiptAnswer {
            let members = ",\"x\":\"\(String(repeating: "x", count: padding))\""
            return responder.answer(to: Self.request(receipt, members))
        }
        let padding = 2 * 10_000 + (1 << 16) - Self.request(receipt, ",\"x\":\"\"").count
        #expect(answer(padding).status == .valid)
        let refusal = answer(padding + 1)
        #expect(refusal.status == .malformedReceipt)
        #expect(
            throws: VerificationError.input(InputError(.inputTooLarge, armor: .json, offset: 2 * 10_000 + (1 << 16)))
        ) { try refusal.result.get() }
    }

    // MARK: latest_receipt_info

    @Test func `the latest transaction of a subscription is the one bought last, wherever it stands`() throws {
        var responder = try Self.responder(.production)
        responder.fillsLatestReceiptInfo = true
        for periods in [
            [ReceiptBuilder.Purchase.period("9", 0..<7), .period("5", 7..<37), .period("3", 37..<67)],
            // A change to a shorter period within a longer one.
            [.period("9", 0..<365), .period("3", 10..<40)],
        ] {
            for order in permutations(periods) {
                let receipt = try ReceiptBuilder(bundleID: Minted.bundleID, purchases: order)
                    .signed(by: Minted.authority)
                let request = Self.request(receipt, ",\"exclude-old-transactions\":true")
                let answer = try Self.json(responder.answer(to: request).body)
                let latest = try #require(answer["latest_receipt_info"] as? [[String: Any]])
                #expect(latest.compactMap { $0["transaction_id"] as? String } == ["3"])
            }
        }
    }

    @Test func `exclude-old-transactions keeps both transactions of a restored product`() throws {
        var responder = try Self.responder(.production)
        responder.fillsLatestReceiptInfo = true
        let bought = ReceiptBuilder.Purchase.nonConsumable("pro", transactionID: "1", purchaseDate: day(0))
        var restored = bought
        (restored.transactionID, restored.originalTransactionID, restored.purchaseDate) = ("2", "1", day(9))
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID, purchases: [bought, restored])
            .signed(by: Minted.authority)
        let request = Self.request(receipt, ",\"exclude-old-transactions\":true")
        let answer = try Self.json(responder.answer(to: request).body)
        let latest = try #require(answer["latest_receipt_info"] as? [[String: Any]])
        #expect(Set(latest.compactMap { $0["transaction_id"] as? String }) == ["1", "2"])
    }

    @Test(arguments: [(false, ["007", "2", "3"]), (true, ["007", "3"])])
    func `latest_receipt_info is filled if asked for, and marked`(excludesOld: Bool, expected: [String]) throws {
        var responder = try Self.responder(.production)
        let request = Self.request(
            try Self.builder().signed(by: Minted.authority), ",\"exclude-old-transactions\":\(excludesOld)")
        #expect(try Self.json(responder.answer(to: request).body)["latest_receipt_info"] == nil)
        responder.fillsLatestReceiptInfo = true
        let answer = try Self.json(responder.answer(to: request).body)
        #expect(answer["latest_receipt_info_source"] as? String == "in_app")
        let latest = try #require(answer["latest_receipt_info"] as? [[String: Any]])
        #expect(Set(latest.compactMap { $0["transaction_id"] as? String }) == Set(expected))
        let inApp = try #require((answer["receipt"] as? [String: Any])?["in_app"] as? [[String: Any]])
        #expect(inApp.count == 3)
        for purchase in inApp {
            let isTrial = purchase["transaction_id"] as? String == "2"
            #expect(purchase["is_trial_period"] as? String == "\(isTrial)")
        }
        if !excludesOld { #expect((latest as NSArray) == (inApp as NSArray)) }
    }
}
