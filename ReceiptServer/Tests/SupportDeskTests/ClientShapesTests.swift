import AppStoreReceipt
import Foundation
@testable import PurchaseLedger
@testable import SupportDesk
import Testing
import TrialSupport

/// What clients send instead of evidence or around it, at the desk.
struct ClientShapesTests {
    private let desk: DeskFixture
    private let shapes: [ClientShape]

    init() throws {
        desk = try DeskFixture(
            verifier: AppStoreVerifier(policy: ClientShape.policy(), trust: ClientShape.trust))
        shapes = try ClientShape.all()
    }

    private static func link(_ code: String) -> String { "<a href=\"/what-clients-send\">\(code)</a>" }

    @Test func `the report of a request that was refused names each shape, with a link to a page about it`() throws {
        let browser = try desk.browser()
        for (index, shape) in shapes.enumerated() {
            guard let code = shape.code else { continue }
            let request = "request-\(index)"
            let attempt = Attempt(request, of: "anna", try shape.contents, code: code, at: desk.date)
            try desk.ledger.record([try #require(attempt)])
            #expect(try browser.search(request).contains(Self.link(code)), "\(shape.file)")
        }
    }

    @Test func `a text that is pasted is unwrapped or named`() throws {
        let browser = try desk.browser()
        for shape in shapes {
            guard let text = try shape.text, !text.contains("\0") else { continue }
            let page = try browser.search(text)
            if let code = shape.code {
                // Evidence in the text is looked at by itself, and an id is looked up.
                let isSearched = !FoundEvidence(in: Array(text.utf8)).pieces.isEmpty || Clues.isTransactionID(text)
                #expect(isSearched || page.contains(Self.link(code)), "\(shape.file)")
            } else {
                let names = (shape.unwrapped ?? []).joined(separator: ", ")
                #expect(page.contains("<code>\(names)</code>"), "\(shape.file)")
                #expect(words(page).contains("Genuine under the root certificate"), "\(shape.file)")
            }
        }
    }

    @Test func `what the ledger knows is found by its name, also if it is what a program prints`() throws {
        let desk = try DeskFixture()
        try desk.redeem(desk.coins("340000000000001"), for: "nil")
        let page = try desk.browser().search("nil")
        #expect(!page.contains("leaked-text") && words(page).contains("nil"))
    }

    @Test func `the page about what clients send has each code`() throws {
        let browser = try desk.browser()
        let answer = try browser.get("/what-clients-send")
        #expect(answer.status == 200)
        for code in Set(shapes.compactMap(\.code)) { #expect(answer.text.contains("<code>\(code)</code>"), "\(code)") }
        #expect(try desk.get("/what-clients-send").status != 200)
    }
}
