import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

/// `receipt entitlements`: all evidence, taken together.
@Suite struct EntitlementsCommandTests {
    private let folder: TemporaryFolder
    private let roots: [String]
    private var history = PurchaseHistory(bundleID: Minted.bundleID)
    private let plan: PurchaseHistory.Subscription
    private let upgrade: PurchaseHistory.Transaction

    init() throws {
        folder = try TemporaryFolder()
        roots =
            try ["--root", folder.write("root.der", Minted.authority.root.certificate)]
            + ["--root", folder.write("jws-root.der", Minted.ellipticAuthority.root.certificate)]
        plan = history.subscribe(to: "monthly", in: "group", for: .month, at: day(0))
        upgrade = history.upgrade(plan, to: "yearly", for: .year, at: day(10))
        history.buyConsumable("coins", quantity: 2, at: day(11))
    }

    private func receipt(_ name: String = "r.der", signedAt date: Instant) throws -> String {
        try folder.write(name, history.receipt(signedAt: date).signed(by: Minted.authority))
    }

    /// The access of each product.
    private func access(_ words: [String]) throws -> (codes: [String: String], json: NSDictionary, status: Int32) {
        let result = run(["entitlements", "--format", "json"] + roots + words)
        let json = try #require(result.objects().first)
        let items = try #require(json["items"] as? [[String: Any]])
        let codes = items.map { ($0["product_id"] as? String ?? "", $0["access"] as? String ?? "") }
        for item in items {
            let access = item["access"] as? String
            #expect(item["gives_access"] as? Bool == (access == "active" || access == "owned"))
            #expect(item["grantable"] as? Bool == (access == "active" || access == "owned" || access == "consumable"))
        }
        return (Dictionary(uniqueKeysWithValues: codes), json, result.status)
    }

    @Test func `a receipt has one item for each transaction, at the date that is asked for`() throws {
        let file = try receipt(signedAt: day(20))
        let rows: [(String, [String: String])] = [
            ("2025-01-05", ["monthly": "active", "yearly": "not-yet", "coins": "not-yet"]),
            ("2025-01-13T00:00:00Z", ["monthly": "upgraded", "yearly": "active", "coins": "consumable"]),
            ("2027-01-01", ["monthly": "upgraded", "yearly": "expired", "coins": "consumable"]),
        ]
        for (date, codes) in rows {
            let result = try access(["--at", date, file])
            #expect(result.codes == codes && result.status == 0)
            #expect(result.json["schema"] as? Int == 1)
            #expect((result.json["refused"] as? [Any])?.isEmpty == true)
        }
    }

    @Test(arguments: [false, true])
    func `eight seats, three added and two refunded are a period of nine`(isReversed: Bool) throws {
        var first = Minted.transaction
        (first.productType, first.quantity) = (.autoRenewableSubscription, 8)
        first.expiresDate = first.signedDate.map { $0 + .seconds(86_400) }
        first.payload["additionalTransactionReason"] = "SEAT_ADDITION"
        var added = first
        (added.transactionID, added.quantity) = ("1001", 3)
        added.purchaseDate = added.signedDate
        first.payload["multiSeatInfo"] = ["revokedSeatQuantity": 2]
        let files = try [first, added].map { builder in
            try folder.write("\(UUID().uuidString).jws", builder.signed(by: Minted.ellipticAuthority))
        }
        let words = roots + ["--at", "2025-06-15T18:00:00Z"] + (isReversed ? files.reversed() : files)
        let json = try #require(run(["entitlements", "--format", "json"] + words).objects().first)
        let items = try #require(json["items"] as? [NSDictionary])
        #expect(items.map { $0["seats"] as? Int } == [6, 3] && items.map { $0["period_seats"] as? Int } == [9, 9])
        #expect(items.map { $0["quantity"] as? Int } == [1, 1])
        let text = run(["entitlements"] + words).output
        #expect(text.contains("pro, 6 of 9 seats, until") && text.contains("pro, 3 of 9 seats, until"), "\(text)")
    }

    @Test func `the text says what a purchase cost, and what is known of a renewal`() throws {
        let files = try
            (history.transactions(signedAt: day(20))
            + [#require(history.renewalInfo(of: plan, signedAt: day(20)))]).map { builder in
                try folder.write("\(UUID().uuidString).jws", builder.signed(by: Minted.ellipticAuthority))
            }
        let text = run(["entitlements", "--wide"] + roots + ["--at", "2025-01-21"] + files).output
        #expect(text.contains(". Price: 1.99 USD. App Store: USA.\n"), "\(text)")
        let start = "  renewal     yearly (\(plan.originalTransactionID)): As Apple signed it on 2025-01-21T00:00:00Z"
        #expect(text.contains("\(start), and it can have changed since: Renewal is on. "), "\(text)")
        #expect(text.contains(" Price of the next period: 1.99 USD."), "\(text)")
        // A receipt says neither.
        let receipt = try run(["entitlements"] + roots + ["--at", "2025-01-21", receipt(signedAt: day(20))]).output
        #expect(!receipt.contains("Price") && !receipt.contains("renewal"), "\(receipt)")
    }

    @Test func `a text that is no date is refused with an example of one`() throws {
        let result = run(["entitlements", "--at", "tomorrow", try receipt(signedAt: day(20))])
        #expect(result.status == 2)
        #expect(
            result.errorOutput.contains(
                "--at cannot be 'tomorrow'; expected: a date such as 2025-01-31 or 2025-01-31T12:00:00Z\n"))
    }

    @Test mutating func `a notification of a refund counts against an older receipt, in any order`() throws {
        let file = try receipt(signedAt: day(20))
        history.refund(upgrade, at: day(30))
        let signers = try Minted.ellipticAuthority
        let refund = try #require(history.notifications(through: day(40)).last)
        let notification = try folder.write(
            "refund.jws", history.builder(for: refund, partsSignedBy: signers).signed(by: signers))
        for files in [[file, notification], [notification, file]] {
            #expect(try access(["--at", "2025-02-10"] + files).codes["yearly"] == "revoked")
            #expect(try access(["--at", "2025-01-20"] + files).codes["yearly"] == "active")
        }
    }

    @Test func `signed evidence that cannot be read or checked is refused, and the rest is decided`() throws {
        let file = try receipt(signedAt: day(20))
        let request = try folder.write(
            "request.jws", Minted.jws(.realtimeRequest(productID: "pro", originalTransactionID: "1")))
        let repeated = try folder.write(
            "repeated.jws", Minted.jws(payload: #"{"transactionId":"1","transactionId":"2"}"#))
        for refused in [request, repeated] {
            let result = try access(["--at", "2025-01-13", "--bundle-id", Minted.bundleID, refused, file])
            #expect(result.status == 1 && result.codes.count == 3, "\(refused)")
        }
    }

    @Test func `what is refused is listed, and the items of the rest are printed`() throws {
        let file = try receipt(signedAt: day(20))
        let forged = try folder.write("f.jws", Minted.transaction.signed(by: Minted.ellipticStranger))
        let result = try access(["--at", "2025-01-13", file, forged])
        #expect(result.status == 1 && result.codes.count == 3)
        let refused = try #require(result.json["refused"] as? [[String: Any]])
        #expect(refused.map { $0["file"] as? String } == [forged])
        #expect((refused[0]["error"] as? [String: Any])?["code"] as? String == "untrusted-chain")
        let missing = try access(["--at", "2025-01-13", file, "missing"])
        #expect(missing.status == 2 && missing.codes.count == 3)
        #expect(run(["entitlements", "--bundle-id", "x"] + roots + [file]).status == 1)
    }

    @Test func `the text says what each item is, and until when`() throws {
        let result = run(["entitlements", "--at", "2025-01-13"] + roots + [try receipt(signedAt: day(20))])
        #expect(result.output.hasPrefix("3 transactions at 2025-01-13T00:00:00Z\n"))
        #expect(result.output.contains("  upgraded    monthly, since 2025-01-11T00:00:00Z, transaction "))
        #expect(result.output.contains("  active      yearly, until 2026-01-11T00:00:00Z, transaction "))
        #expect(result.output.contains("  consumable  coins, quantity 2, transaction "))
    }

    @Test func `a date that is none is wrong usage`() throws {
        let result = run(["entitlements", "--at", "creation"] + roots + [try receipt(signedAt: day(20))])
        #expect(result.status == 2 && result.errorOutput.contains("--at"))
    }
}
