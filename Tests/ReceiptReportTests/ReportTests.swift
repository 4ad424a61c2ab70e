@_spi(Surfaces) import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText
import TestSupport
import Testing

@_spi(Surfaces) @testable import ReceiptReport

@Suite struct ReportTests {
    private func date(_ month: Int, _ day: Int) throws -> Instant {
        try #require(Instant(year: 2025, month: month, day: day))
    }

    private func page(
        _ evidence: [[UInt8]], at date: Instant, language: Language = .english
    ) throws -> String {
        let verifier = try Minted.verifier()
        var report = Report(
            verifier.decision(on: evidence, at: date), on: evidence, by: verifier, for: .user(of: .command))
        report.language = language
        return String(decoding: report.html, as: UTF8.self)
    }

    private func receipt(_ purchases: [ReceiptBuilder.Purchase] = [.consumable("coins", transactionID: "1")]) throws
        -> [UInt8]
    {
        try ReceiptBuilder(bundleID: Minted.bundleID, purchases: purchases).signed(by: Minted.authority)
    }

    /// The words of a page without its markup.
    private func words(_ page: String) -> String {
        var text = ""
        var isInTag = false
        for scalar in page.unicodeScalars {
            if scalar == "<" { isInTag = true }
            if !isInTag { text.unicodeScalars.append(scalar) }
            if scalar == ">" { isInTag = false }
        }
        return text
    }

    @Test func `verified evidence has seven checks that passed, its signer and what it gives`() throws {
        let page = try page([receipt()], at: date(7, 1))
        #expect(page.ranges(of: "class=\"check passed\"").count == 7)
        #expect(words(page).contains("Verification accepted it."))
        #expect(words(page).contains("coins quantity 1, to be granted once"))
        let root = try Fingerprint(of: Minted.authority.root.certificate.span)
        #expect(words(page).contains(root.description))
        #expect(!page.contains("anyone could have written"))
    }

    @Test func `each check that fails is the first that did not pass, and those after it were not reached`() throws {
        let genuine = try receipt()
        var changed = genuine
        let place = try #require(genuine.firstRange(of: Array("coins".utf8)))
        changed[place.lowerBound] ^= 1
        let stranger = try ReceiptBuilder(bundleID: Minted.bundleID, purchases: []).signed(by: Minted.stranger)
        let other = try ReceiptBuilder(bundleID: "com.other", purchases: []).signed(by: Minted.authority)
        let rows: [(name: String, evidence: [UInt8], passed: Int, code: String)] = [
            ("no base64", Array("MI*".utf8), 0, "invalid-base64"),
            ("cut off", Array(genuine.prefix(400)), 1, "truncated"),
            ("changed", changed, 2, "content-digest-mismatch"), ("another authority", stranger, 4, "untrusted-chain"),
            ("another app", other, 6, "bundle-id-mismatch"),
        ]
        for row in rows {
            for language in Language.allCases {
                let page = try page([row.evidence], at: date(7, 1), language: language)
                #expect(page.ranges(of: "class=\"check passed\"").count == row.passed, "\(row.name)")
                #expect(page.ranges(of: "class=\"check failed\"").count == 1, "\(row.name)")
                #expect(page.ranges(of: "class=\"check waiting\"").count == 6 - row.passed, "\(row.name)")
                #expect(page.contains("<code>\(row.code)</code>"), "\(row.name)")
            }
        }
    }

    @Test func `what is not verified is shown as what anyone could have written`() throws {
        let stranger = try ReceiptBuilder(bundleID: "com.claimed", purchases: []).signed(by: Minted.stranger)
        let text = try words(page([stranger], at: date(7, 1)))
        #expect(text.contains("It claims to be for com.claimed."))
        #expect(text.contains("Nothing here was verified: anyone could have written it."))
        #expect(text.contains("Nothing is proved."))
        // The policy is the last check: what it refuses is signed.
        let other = try ReceiptBuilder(bundleID: "com.other", purchases: []).signed(by: Minted.authority)
        #expect(try !words(page([other], at: date(7, 1))).contains("anyone could have written"))
    }

    @Test func `certificates that were not verified are neither told nor drawn as if they were`() throws {
        let stranger = try ReceiptBuilder(bundleID: Minted.bundleID, purchases: []).signed(by: Minted.stranger)
        for (evidence, isVerified) in [(try receipt(), true), (stranger, false)] {
            let page = try page([evidence], at: date(7, 1))
            #expect(page.contains("M9.5 9 11.3 11 14.6 7.2") == isVerified)
            #expect(words(page).contains("They were not verified: anyone could have written them.") == !isVerified)
            #expect(!words(page).contains("The verifier trusts the signer."))
        }
    }

    @Test func `of several pieces, the first sentence says how many are genuine`() throws {
        let stranger = try ReceiptBuilder(bundleID: Minted.bundleID, purchases: []).signed(by: Minted.stranger)
        for (evidence, sentence) in [
            ([try receipt(), try receipt()], "All 2 pieces of evidence are genuine and accepted."),
            ([try receipt(), stranger, stranger], "1 of 3 pieces of evidence are genuine and accepted."),
            ([stranger, stranger], "None of 2 pieces of evidence was accepted."),
        ] { #expect(try words(page(evidence, at: date(7, 1))).contains(sentence)) }
    }

    @Test func `a verifier for any app says that the app was not checked`() throws {
        for bundleIDs in [nil, [Minted.bundleID]] as [Set<String>?] {
            let verifier = try Minted.verifier { $0.bundleIDs = bundleIDs }
            let evidence = [try receipt()]
            let report = Report(
                verifier.decision(on: evidence, at: try date(7, 1)), on: evidence, by: verifier,
                for: .user(of: .command))
            let text = words(String(decoding: report.html, as: UTF8.self))
            #expect(text.contains("Not checked: whether the app is yours") == (bundleIDs == nil))
        }
    }

    @Test func `a page has no address, no script and no style but its own, whatever the evidence says`() throws {
        let hostile = "\"><script src=//x.example></script><img onerror=alert(1) src=x>'`{{7*7}}\u{202E}"
        let page = try page([receipt([.consumable(hostile, transactionID: hostile)])], at: date(7, 1))
        let tags = page.split(separator: "<").map { $0.prefix { $0.isLetter || $0.isNumber } }
        #expect(!tags.contains { ["script", "img", "iframe", "object", "link", "base", "form", "use"].contains($0) })
        #expect(page.ranges(of: "<style").count == 1)
        #expect(page.ranges(of: " style=").isEmpty)
        #expect(page.contains("default-src 'none'; style-src 'sha256-"))
        #expect(page.contains("base-uri 'none'; form-action 'none'\">"))
        for reference in page.ranges(of: "href=\"") { #expect(page[reference.upperBound...].first == "#") }
        #expect(!page.contains("\u{202E}"))
    }

    @Test func `the style sheet has a rule for every class, and no address`() {
        let sheet = "\(StyleSheet.page.text)"
        #expect(!sheet.contains("url(") && !sheet.contains("@import"))
        let unstyled: Set<Style> = [
            .warn, .bad, .good, .passed, .failed, .waiting, .unknown, .name, .d0, .panel, .once, .crossed,
        ]
        for style in Style.allCases where !unstyled.contains(style) {
            #expect(sheet.contains(".\(style.rawValue)"), "\(style)")
        }
    }

    @Test(arguments: [
        (Language.english, ["assigned seat", "retention offer", "The assigned seat was taken back"]),
        (.simplifiedChinese, ["已分配的席位", "挽留优惠", "被收回"]),
    ])
    func `a seat that was assigned and taken back, and an offer to stay, have their words`(
        language: Language, expected: [String]
    ) throws {
        var builder = Minted.transaction
        (builder.productType, builder.ownershipType) = (.autoRenewableSubscription, .assigned)
        (builder.revocationType, builder.offerType) = (.assignmentRevoke, .retention)
        builder.revocationDate = builder.signedDate
        builder.expiresDate = try date(7, 1)
        builder.payload["multiSeatInfo"] = ["invitationManagement": "APPLE", "priceTiers": [["price": 990]]]
        let page = try page(
            [Array(builder.signed(by: Minted.ellipticAuthority).utf8)], at: date(6, 20), language: language)
        for text in expected + ["multiSeatInfo.invitationManagement", "multiSeatInfo.priceTiers[0].price"] {
            #expect(words(page).contains(text), "\(text)")
        }
    }

    @Test(arguments: [
        (OwnershipType.purchased, Language.english, "6 of 6 seats"), (.assigned, .english, "assigned seat"),
        (.purchased, .simplifiedChinese, "6 个席位中的 6 个"),
    ])
    func `seats are told as seats, and to members not at all`(
        ownership: OwnershipType, language: Language, expected: String
    ) throws {
        var builder = Minted.transaction
        (builder.productType, builder.quantity, builder.ownershipType) = (.autoRenewableSubscription, 8, ownership)
        builder.expiresDate = try date(7, 1)
        builder.payload["multiSeatInfo"] = ["revokedSeatQuantity": 2]
        let page = words(
            try page([Array(builder.signed(by: Minted.ellipticAuthority).utf8)], at: date(6, 20), language: language))
        #expect(page.contains(expected) && !page.contains("quantity 8") && !page.contains("数量 8"))
    }

    @Test func `1,000 purchases make a page below 2 MB, and more are counted`() throws {
        for (count, isWhole) in [(1000, true), (1200, false)] {
            let purchases = (0..<count).map {
                ReceiptBuilder.Purchase.consumable(
                    "com.example.app.product.\($0 % 10)", transactionID: String(200_000_000_000_001 + $0))
            }
            let page = try page([receipt(purchases)], at: date(7, 1))
            #expect(page.utf8.count < 2_000_000)
            #expect(page.ranges(of: "<tr role=\"row\">").count == 1001)
            #expect(words(page).contains("The latest 1,000 of 1,200 are shown.") == !isWhole)
        }
    }

    @Test func `the structure of all pieces together has no more of the page than is theirs`() throws {
        let purchases = (0..<200).map { ReceiptBuilder.Purchase.consumable("coins", transactionID: String(1000 + $0)) }
        let receipt = try receipt(purchases)
        #expect(receipt.count > Report.maximumStructureByteCount / 2)
        let one = try page([receipt], at: date(7, 1)).utf8.count
        let many = try page(Array(repeating: receipt, count: 10), at: date(7, 1))
        #expect(many.utf8.count < 4 * one)
        #expect(words(many).ranges(of: "receipt asn1").count >= 8)
    }

    @Test func `what was not signed under Apple's roots is not shown as if it were`() throws {
        let page = try page([receipt()], at: date(7, 1))
        #expect(!page.contains("<h1 class=\"good\">") && page.contains("<h1 class=\"warn\">"))
        #expect(!words(page).contains("Apple signed"))
    }

    @Test func `a page of no evidence, of empty evidence and of 100 pieces is a page`() throws {
        #expect(try page([], at: date(7, 1)).contains("</html>"))
        #expect(try page([[]], at: date(7, 1)).contains("<code>empty-input</code>"))
        let receipt = try receipt()
        let page = try page(Array(repeating: receipt, count: 100), at: date(7, 1))
        #expect(page.utf8.count < 2_000_000)
        #expect(page.ranges(of: "<article").count == 40)
    }
}
