import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText
import TestSupport
import Testing

@Suite struct VerifiedEvidenceTests {
    private let verifier: AppStoreVerifier

    init() throws {
        verifier = try Minted.verifier()
    }

    /// What a backend keeps: which transactions were granted.
    private final class Ledger {
        private(set) var unlocked: [String] = []
        private var granted: Set<String> = []

        func unlock(_ purchase: VerifiedPurchase) {
            guard purchase.isRevoked != true, granted.insert(purchase.transactionID).inserted else { return }
            unlocked.append(purchase.productID)
        }

        /// The handler of the documentation's example.
        func handle(_ body: String, _ verifier: AppStoreVerifier) throws {
            switch try verifier.verify(body) {
            case .receipt(let receipt): receipt.purchases.forEach { unlock($0) }
            case .transaction(let transaction): transaction.purchase.map(unlock)
            case .transactionReceipt(let receipt): receipt.purchase.map(unlock)
            case .renewalInfo, .appTransaction, .notification, .realtimeRequest: break
            }
        }
    }

    @Test func `one handler grants by receipts and transactions, each transaction once`() throws {
        let ledger = Ledger()
        let receipt = try ReceiptBuilder(
            bundleID: Minted.bundleID,
            purchases: [
                .nonConsumable("old", transactionID: "1"), .nonConsumable("pro", transactionID: "1000"),
            ]
        ).signed(by: Minted.authority)
        var base64 = Array(JWSBuilder.base64URL(receipt))
        base64.append("\n")
        try ledger.handle(String(base64), verifier)
        try ledger.handle(String(base64), verifier)
        try ledger.handle(Minted.transaction.signed(by: Minted.ellipticAuthority) + "\n", verifier)
        let new = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "new", transactionID: "1001")
        try ledger.handle(new.signed(by: Minted.ellipticAuthority), verifier)
        var revoked = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "refunded", transactionID: "1002")
        revoked.revocationDate = Instant(millisecondsSince1970: 1_749_988_000_000)
        try ledger.handle(revoked.signed(by: Minted.ellipticAuthority), verifier)
        #expect(ledger.unlocked == ["old", "pro", "new"])
    }

    private func isAboutReceipt(_ error: VerificationError) -> Bool {
        switch error.reason {
        case .input, .container, .signature(_, .receipt), .chain(_, .receipt), .payload: true
        default: false
        }
    }

    @Test func `a genuine transaction that is no purchase is counted as a record without one`() throws {
        for (date, count) in [(nil, 1), (1, 0)] as [(JSONValue?, Int)] {
            var builder = Minted.transaction
            builder.payload["purchaseDate"] = date
            let evidence = try Minted.verifier().verify(Minted.jws(builder))
            #expect(evidence.incompletePurchaseCount == count && evidence.purchases.count == 1 - count)
        }
    }

    @Test func `an error says which kind the evidence was taken for`() throws {
        for (input, code, isReceipt) in [
            ("", "empty-input", true), ("eyJ", "part-count", false), ("MIIB", "truncated", true),
            ("{\"receipt-data\":\"e30\"}", "part-count", false),
            ("{\"receipt-data\":\"MIIB\"}", "truncated", true), ("{\"a\":1}", "missing-receipt-data", true),
            ("{\"receipt-data\":\"MIIB\",\"signedPayload\":\"eyJ\"}", "invalid-json", true),
            ("hello", "unrecognized-form", true), ("Dear Apple, …", "unrecognized-form", true),
            ("www.example", "unrecognized-form", true), ("w+w.example.com", "unrecognized-form", true),
            // Three parts of base64url with dots are a JWS, whatever its header is; no form of a receipt has a dot.
            ("IHt9.e30.AA", "missing-algorithm", false), ("W10.e30.AA", "unexpected-type", false),
            (" DQp7fQ.e30.A*\n", "invalid-base64url", false), ("..", "truncated", false),
            ("{\"receipt-data\":\"IHt9.e30.AA\"}", "missing-algorithm", false),
            ("MIIB.e30.AA", "invalid-base64", true),
        ] {
            let error = #expect(throws: VerificationError.self) { try verifier.verify(input) }
            if !code.isEmpty { #expect(error?.code.rawValue == code) }
            #expect(error.map(isAboutReceipt) == isReceipt, "\(input)")
        }
    }

    @Test(arguments: ["signedPayload", "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"])
    func `a JWS in a JSON object is found as a receipt in one is, whatever stands beside it`(member: String)
        throws
    {
        let jws = try Minted.transaction.signed(by: Minted.ellipticAuthority)
        let bare = try verifier.verify(jws)
        #expect(
            try verifier.verify(" {\"user\": 17, \"\(member)\": \"\(jws)\", \"receipt\": []}\n") == bare)
    }

    /// RFC 7515 asks for a JSON object, and JSON may begin with white space: the base64url of such a header does not
    /// begin with `e`.
    @Test(arguments: [" ", "\t", "\n", "\r", "\r\n", "  ", "   ", "\n\t "])
    func `a header that begins with white space is a header`(space: String) throws {
        let authority = try Minted.ellipticAuthority
        let parts = Minted.transaction.signingInput(certificates: authority.certificates).split(separator: ".")
        let header = try Base64.decode(Array(parts[0].utf8).span, as: .jws)
        let input = JWSBuilder.base64URL(Array(space.utf8) + header) + "." + parts[1]
        let signature = try JWSBuilder.signature(of: Array(input.utf8), key: authority.leaf.key)
        let jws = input + "." + JWSBuilder.base64URL(signature)
        #expect(!jws.hasPrefix("e"))
        guard case .transaction(let verified) = try verifier.verify(jws) else { throw Unexpected() }
        #expect(try verified == verifier.verifyTransaction(jws))
        #expect(try verifier.verify("{\"receipt-data\":\"\(jws)\"}") == .transaction(verified))
        #expect(try verifier.verdict(on: Array("\(jws)\r".utf8)).result.get() == .transaction(verified))
    }

    @Test(arguments: ["revocationReason", "revocationType"])
    func `whatever says that a transaction was revoked revokes it`(member: String) throws {
        var revoked = Minted.transaction
        revoked.payload[member] = member == "revocationType" ? "REFUND_FULL" : 0
        let transaction = try Minted.verifier().verifyTransaction(revoked.signed(by: Minted.ellipticAuthority))
        #expect(transaction.isRevoked && transaction.purchase?.givesAccess(at: .now) == false)
    }

    @Test func `the kind of a JWS does not depend on the order of its members`() throws {
        var last = Minted.transaction
        last.autoRenewStatus = .on
        guard case .object(let members) = last.payload else { throw Unexpected() }
        let first = JWSBuilder(payload: .object(members.reversed()))
        for builder in [first, last] {
            guard case .transaction = try verifier.verify(builder.signed(by: Minted.ellipticAuthority)) else {
                throw Unexpected()
            }
        }
    }

    private struct Unexpected: Error {}

    @Test func `both kinds of purchases say the same of themselves`() throws {
        let receipt = try Minted.verified(.nonConsumable("pro", transactionID: "1000"))
        let purchase = try #require(receipt.purchases.first)
        let transaction = try Minted.verifier().verifyTransaction(
            Minted.transaction.signed(by: Minted.ellipticAuthority))
        func facts(_ purchase: VerifiedPurchase) -> [String?] {
            [
                purchase.productID, purchase.transactionID, purchase.environment.rawValue,
                purchase.expiresDate?.description,
            ]
        }
        let other = try #require(transaction.purchase)
        #expect(facts(purchase) == facts(other))
        #expect(purchase.givesAccess(at: .now) && other.givesAccess(at: .now))
    }

    @Test func `a purchase gives access from its purchase date until its expiry, whatever proves it`() throws {
        let (bought, ends) = (day(10), day(40))
        let receipt = try Minted.verified(
            .autoRenewable("pro", transactionID: "1000", purchaseDate: bought, expiresDate: ends))
        var builder = Minted.transaction
        builder.purchaseDate = bought
        builder.expiresDate = ends
        let transaction = try Minted.verifier().verifyTransaction(builder.signed(by: Minted.ellipticAuthority))
        func before(_ date: Instant) -> Instant {
            Instant(millisecondsSince1970: date.millisecondsSince1970 - 1)
        }
        for (date, grants) in [
            (before(bought - .seconds(300)), false), (bought, true), (before(ends), true), (ends, false),
        ] {
            #expect(try #require(receipt.purchases.first).givesAccess(at: date) == grants)
            #expect(try #require(transaction.purchase).givesAccess(at: date) == grants)
        }
    }
}
