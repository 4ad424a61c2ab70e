@_spi(Surfaces) import AppStoreReceipt
import AppStoreReceiptTesting
import SpanASN1
import StrictText
import TestSupport
import Testing

@_spi(Surfaces) @testable import ReceiptReport

/// How much of many things a page shows: a stranger's evidence must not fill it.
@Suite struct PageLimitTests {
    private struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Markup, and how often the page has it.
        let part: String
        let count: Int
        /// What the page says of the one more that the evidence has.
        let rest: String
        let evidence: @Sendable () throws -> [UInt8]
    }

    private static let date = ReceiptBuilder.defaultCreationDate

    private static func receipt(_ purchases: [ReceiptBuilder.Purchase]) throws -> [UInt8] {
        try ReceiptBuilder(bundleID: Minted.bundleID, purchases: purchases).signed(by: Minted.authority)
    }

    private static func products(_ count: Int) -> [ReceiptBuilder.Purchase] {
        (0..<count).map { .nonConsumable("product.\($0)", transactionID: String(1000 + $0)) }
    }

    private static let rows = [
        Row(
            testDescription: "24 lines of the timeline", part: #"<div class="lane">"#, count: 24,
            rest: "1 more subscriptions are not shown."
        ) { try receipt(products(25)) },
        Row(
            testDescription: "8 products in the answer", part: "<li><strong>", count: 8, rest: "1 more: see Purchases"
        ) { try receipt(products(9)) },
        Row(
            testDescription: "25 purchases with their attributes", part: "<summary>Purchase ", count: 25,
            rest: "1 more are not shown. To see all: receipt decode --format attributes"
        ) { try receipt(products(26)) },
        Row(
            testDescription: "12 events of a line before the others are folded away", part: #"<ol class="events">"#,
            count: 2, rest: "show all (13)"
        ) { try receipt((0..<13).map { .consumable("coins", transactionID: String(1000 + $0)) }) },
        Row(
            // Besides those of three certificates.
            testDescription: "60 periods of a subscription", part: #"<rect class="paid""#, count: 63,
            rest: "1 earlier periods are not shown."
        ) {
            try receipt(
                (0..<61).map { number in
                    let start: Instant = date - .seconds(Int64(61 - number) * 86_400)
                    return .autoRenewable(
                        "pro", transactionID: String(1000 + number), originalTransactionID: "1000",
                        purchaseDate: start, expiresDate: start + .seconds(86_400))
                })
        },
        Row(
            testDescription: "200 values of a payload", part: "x200</bdi></dt>", count: 0,
            rest: "1 more are not shown. To see all: receipt decode"
        ) {
            var builder = Minted.transaction
            let bytes = Array(try Minted.jws(builder).utf8)
            let own = try UnverifiedEvidence(decoding: bytes).parts[0].fields.count
            for number in own..<201 { builder.payload["x\(number)"] = 1 }
            return Array(try Minted.jws(builder).utf8)
        },
        Row(
            testDescription: "6 certificates", part: #"<li class="link unknown">"#, count: 6,
            rest: "1 more certificates are not shown."
        ) {
            var message = try ReceiptBuilder(bundleID: Minted.bundleID).signedData(by: Minted.stranger)
            message.certificates = try Array(repeating: Minted.stranger.leaf.certificate, count: 7)
            return try message.encoded()
        },
        Row(
            testDescription: "64 KiB of a structure", part: #"<ol class="tree">"#, count: 1,
            rest: "The first 65,536 of"
        ) { try receipt(products(300)) },
    ]

    @Test(arguments: rows)
    private func `a page shows no more than so many, and counts the rest`(row: Row) throws {
        let evidence = [try row.evidence()]
        let verifier = try Minted.verifier()
        let report = Report(
            verifier.decision(on: evidence, at: Self.date), on: evidence, by: verifier, for: .user(of: .command))
        let page = String(decoding: report.html, as: UTF8.self)
        #expect(page.ranges(of: row.part).count == row.count)
        #expect(page.replacing(/<[^>]*>/, with: "").contains(row.rest))
    }

    @Test func `an element shows the first 48 of its bytes`() throws {
        let evidence = [try Self.receipt([])]
        let verifier = try Minted.verifier()
        let report = Report(
            verifier.decision(on: evidence, at: Self.date), on: evidence, by: verifier, for: .user(of: .command))
        let page = String(decoding: report.html, as: UTF8.self)
        let rows = page.matches(of: /<div class="hex">([0-9a-f ]*) …/).map { $0.1.split(separator: " ").count }
        #expect(!rows.isEmpty && rows.allSatisfy { $0 == 48 })
    }
}
