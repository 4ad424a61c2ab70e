import AppStoreReceipt
import AppStoreServerTesting
import Foundation
@testable import LedgerService
@testable import PurchaseLedger
@testable import SupportDesk
import Testing
import TrialSupport

/// Support's acts: each with its scope, reason, record, event and undo.
@Suite(.serialized) struct ActTests {
    private static let id = "340000000000001"

    /// An act, and what must follow from it.
    struct Row: Sendable {
        let act: Act
        var fields: [String: String] = [:]
        /// The acts before.
        var first: [(Act, [String: String])] = []
        let notice: String
        let story: String
        /// The receiver and the contents of the event that the act made.
        let posted: [String]
        /// `nil` where none is needed.
        let back: (act: Act, fields: [String: String])?
    }

    static let rows = [
        Row(
            act: .setQuantity, fields: ["quantity": "7"], notice: "The quantity is now 7; it was 3.",
            story: "Support set the quantity of anna from 3 to 7. Reason: because of set-quantity",
            posted: ["anna adjusted 3 7"], back: (.followApple, [:])),
        Row(
            act: .followApple, first: [(.setQuantity, ["quantity": "7"])], notice: "The quantity is now 3; it was 7.",
            story: "Support set the quantity of anna from 7 to 3. Reason: because of follow-apple",
            posted: ["anna adjusted 7 3"], back: (.setQuantity, ["quantity": "7"])),
        Row(
            act: .transfer, fields: ["to": "ben"], notice: "Purchases transferred to ben: 1.",
            story: "Transferred from anna to ben. Reason: because of transfer",
            posted: ["anna revoked 3 0", "ben granted 0 3"], back: (.transfer, ["account": "ben", "to": "anna"])),
        Row(
            act: .grantProduct, fields: ["product": "com.example.app.gift", "quantity": "2"],
            notice: "Granted under the id support-",
            story: "Support granted anna the quantity 2. Reason: because of grant-product",
            posted: ["anna granted 0 2"], back: (.setQuantity, ["quantity": "0"])),
        Row(
            act: .sendAgain, notice: "The event is sent again.",
            story: "Support sent an event again. Reason: because of send-again",
            posted: ["anna granted 0 3"], back: nil),
    ]

    private func fixture() throws -> DeskFixture {
        let desk = try DeskFixture()
        try desk.redeem(desk.coins(Self.id), for: "anna")
        return desk
    }

    /// Has the backend take all events, and returns them: account, kind, and quantities.
    private func deliver(_ desk: DeskFixture) throws -> [String] {
        var posted: [String] = []
        while true {
            let events = try desk.ledger.takeEvents(limit: 9, lease: .seconds(1), at: desk.date)
            if events.isEmpty { return posted.sorted() }
            for event in events { try desk.ledger.record([(event, nil)], maximumAttempts: 3, at: desk.date) }
            let ids = Set(events.map(\.id))
            for account in ["anna", "ben"] {
                for case .event(let fact) in try desk.ledger.history(of: account)?.entries.map(\.fact) ?? []
                where ids.contains(fact.id) {
                    posted.append("\(account) \(fact.kind) \(fact.previousQuantity) \(fact.quantity)")
                }
            }
        }
    }

    /// What each account has.
    private func holdings(_ desk: DeskFixture) throws -> [String] {
        try ["anna", "ben"].flatMap { account in
            try desk.ledger.history(of: account)?.entries.compactMap { entry in
                guard case .grant(let grant) = entry.fact, grant.quantity > 0 else { return nil }
                return "\(account) \(grant.productID) \(grant.quantity)"
            } ?? []
        }
    }

    @Test func `every act has a row, or tests of its own`() {
        #expect(Set(Self.rows.map(\.act)).union([.askApple]) == Set(Act.allCases))
    }

    @Test(arguments: rows.indices)
    func `an act is done, posted as an event, in the story with its reason, and has a way back`(index: Int) throws {
        let row = Self.rows[index]
        let desk = try fixture()
        let browser = try desk.browser(DeskFixture.everything)
        for (act, fields) in row.first { _ = try browser.act(act, Self.id, fields) }
        _ = try deliver(desk)
        let before = try holdings(desk)
        var fields = row.fields
        if row.act == .sendAgain { fields["event"] = try desk.story(Self.id)?.events.first?.id }
        let page = try words(browser.act(row.act, Self.id, fields).text)
        #expect(page.contains(row.notice) && page.contains(row.story), "\(page)")
        // The first account that was granted it stays in the story.
        #expect(page.contains("Granted to anna:"), "\(page)")
        #expect(try deliver(desk) == row.posted)
        // In the history of the account, too.
        #expect(try words(browser.search("anna")).contains(row.story))
        guard let back = row.back else { return }
        #expect(try holdings(desk) != before)
        let given = page.split(separator: " ").first { $0.hasPrefix("support-") }?.prefix { $0 != "." }
        _ = try browser.act(back.act, given.map(String.init) ?? Self.id, back.fields)
        #expect(try holdings(desk) == before)
        #expect(try !deliver(desk).isEmpty)
    }

    @Test(
        arguments: [
            (.grantProduct, ["quantity": "0"]), (.grantProduct, ["quantity": "1000001"]),
            (.grantProduct, ["quantity": "-1"]), (.setQuantity, ["quantity": "1000001"]),
        ] as [(Act, [String: String])])
    func `nothing is done with a quantity that is none or a slip of the finger`(
        act: Act, fields: [String: String]
    ) throws {
        let desk = try fixture()
        let before = try holdings(desk)
        let given = fields.merging(["product": "com.example.app.gift"]) { $1 }
        let page = try words(desk.browser(DeskFixture.everything).act(act, Self.id, given).text)
        #expect(page.contains("Nothing was done: the quantity"), "\(page)")
        #expect(try holdings(desk) == before)
    }

    @Test(arguments: Act.allCases, ["r\u{0}", String(repeating: "r", count: 256)])
    func `nothing is done for a reason that cannot be recorded`(act: Act, reason: String) throws {
        let desk = try fixture()
        let before = try holdings(desk)
        let fields = [
            "reason": reason, "quantity": "1", "to": "ben", "product": "com.example.app.gift", "event": "none",
        ]
        let page = try words(desk.browser(DeskFixture.everything).act(act, Self.id, fields).text)
        #expect(page.contains("Nothing was done: a value is not allowed ( reason )."), "\(page)")
        #expect(try holdings(desk) == before)
    }

    @Test(arguments: Act.allCases)
    func `an act needs the scope that is its own, and a reason`(act: Act) throws {
        let desk = try DeskFixture(asking: FakeAppStore())
        let others = TokenScope.allCases.filter { $0 != act.scope }.map(\.rawValue).joined(separator: ",")
        let (without, with) = ("token-without-the-scope-0123456789abcdef", "token-with-the-scope-0123456789abcdef")
        try desk.setTokens("\(without) \(others)\n\(with) support,\(act.scope.rawValue)\n")
        let fields = [
            "quantity": "1", "to": "ben", "product": "x", "event": "none",
        ]
        let refused = try words(desk.browser(without).act(act, Self.id, fields).text)
        #expect(refused.contains("Nothing was done: your token does not have the scope \(act.scope.rawValue)."))
        let browser = try desk.browser(with)
        for reason in ["", " \r\n"] {
            let text = try words(browser.act(act, Self.id, fields.merging(["reason": reason]) { $1 }).text)
            #expect(text.contains("Nothing was done: a reason is required."))
        }
        #expect(desk.asked.withLock { $0.isEmpty })
        #expect(try desk.story(Self.id) == nil)
        #expect(try desk.ledger.history(of: "anna") == nil)
        // With both, it is tried.
        #expect(try !words(browser.act(act, Self.id, fields).text).contains("Nothing was done: your token"))
    }

    @Test func `the page offers the acts of the token's scopes, and says which scope another needs`() throws {
        let desk = try fixture()
        let reader = try desk.browser().search(Self.id)
        #expect(!reader.contains("action=\"/act\""))
        for scope in [TokenScope.events, .adjust, .transfer] {
            #expect(words(reader).contains("Your token does not have the scope \(scope.rawValue)."))
        }
        let staff = try desk.browser(DeskFixture.everything).search(Self.id)
        #expect(Set(hidden("act", in: staff)) == ["send-again", "set-quantity", "transfer"])
    }

    @Test func `the form for a restored copy changes what was granted, under its own id`() throws {
        let desk = try DeskFixture()
        let copy = "340000000000002"
        for (id, outcome) in [(Self.id, Outcome.granted), (copy, .alreadyYours)] {
            let level = try desk.coins(id) {
                ($0.productType, $0.quantity) = (.nonConsumable, 1)
                ($0.originalTransactionID, $0.originalPurchaseDate) = (Self.id, DeskFixture.start)
            }
            let verified = try desk.desk.verifier.verify(level)
            let outcomes = try desk.ledger.redeem(verified, for: "anna", at: desk.date).outcomes
            #expect(outcomes.map(\.outcome) == [outcome])
        }
        let page = try desk.browser(DeskFixture.everything).search(copy)
        let form = try #require(page.components(separatedBy: "value=\"set-quantity\"").dropFirst().first)
        #expect(hidden("id", in: form).first == Self.id)
    }

    @Test func `a form does its work once, in every session`() throws {
        let desk = try fixture()
        let grant = ["product": "x", "quantity": "1", "number": "one"]
        let staff = try desk.browser(DeskFixture.everything)
        #expect(try words(staff.act(.grantProduct, Self.id, grant).text).contains("Granted under the id support-"))
        #expect(try words(staff.act(.grantProduct, Self.id, grant).text).contains("Nothing was done again."))
        // Another session with the same number: the ledger knows it by its key.
        _ = try desk.browser(DeskFixture.everything).act(
            .grantProduct, Self.id, grant.merging(["reason": "another"]) { $1 })
        let history = try #require(try desk.ledger.history(of: "anna"))
        let gifts = history.entries.filter { if case .act = $0.fact { true } else { false } }
        #expect(gifts.count == 1)
    }

    @Test func `a form that did nothing, or of which that is not known, can be sent again`() throws {
        let desk = try fixture()
        let staff = try desk.browser(DeskFixture.everything)
        var grant = ["product": "x", "quantity": "", "number": "one"]
        let set = ["quantity": "2", "number": "two"]
        #expect(try words(staff.act(.setQuantity, Self.id, set).text).contains("The quantity is now 2"))
        #expect(try words(staff.act(.grantProduct, Self.id, grant).text).contains("quantity"))
        // The failure frees no other form.
        #expect(try words(staff.act(.setQuantity, Self.id, set).text).contains("Nothing was done again."))
        grant["quantity"] = "1"
        let (file, elsewhere) = (desk.folder.appending(path: "ledger.db"), desk.folder.appending(path: "elsewhere"))
        try FileManager.default.moveItem(at: file, to: elsewhere)
        #expect(try staff.act(.grantProduct, Self.id, grant).status == 503)
        try FileManager.default.moveItem(at: elsewhere, to: file)
        #expect(try words(staff.act(.grantProduct, Self.id, grant).text).contains("Granted under the id support-"))
        #expect(try words(staff.act(.grantProduct, Self.id, grant).text).contains("Nothing was done again."))
    }

    @Test func `a form of an hour ago changes nothing, and one that was sent is not sent again by 300 others`() throws {
        let desk = try fixture()
        let staff = try desk.browser(DeskFixture.everything)
        let page = try staff.search(Self.id)
        let form = try #require(page.components(separatedBy: "value=\"set-quantity\"").dropFirst().first)
        let number = try #require(hidden("number", in: form).first)
        #expect(
            try words(staff.act(.setQuantity, Self.id, ["quantity": "5", "number": number]).text).contains("now 5"))
        for other in 0..<300 { _ = try staff.act(.setQuantity, Self.id, ["quantity": "\(other)"]) }
        let again = try words(staff.act(.setQuantity, Self.id, ["quantity": "5", "number": number]).text)
        #expect(again.contains("Nothing was done again."), "\(again)")
        #expect(try desk.quantity(of: "anna", Self.id) == 299)
        let later = try #require(hidden("number", in: try staff.search(Self.id)).first)
        for _ in 0..<4 {
            desk.advance(.seconds(1000))
            _ = try staff.get("/")
        }
        let old = try words(staff.act(.setQuantity, Self.id, ["quantity": "5", "number": later]).text)
        #expect(old.contains("the form is too old"), "\(old)")
        #expect(try desk.quantity(of: "anna", Self.id) == 299)
    }

    /// A form as a browser sends it: line breaks as CR LF, and special characters percent-encoded (WHATWG URL, 5.2).
    private func sent(_ fields: [(String, String)]) -> [UInt8] {
        func encoded(_ text: String) -> String {
            var bytes: [UInt8] = []
            let all = Array(text.utf8)
            for (index, byte) in all.enumerated() {
                switch byte {
                case 0x0D: bytes += [0x0D, 0x0A]
                case 0x0A: if index == 0 || all[index - 1] != 0x0D { bytes += [0x0D, 0x0A] }
                default: bytes.append(byte)
                }
            }
            return bytes.map { byte in
                switch byte {
                case 0x20: "+"
                case 0x2A, 0x2D, 0x2E, 0x5F, 0x30...0x39, 0x41...0x5A, 0x61...0x7A:
                    String(decoding: [byte], as: UTF8.self)
                default: String(format: "%%%02X", Int(byte))
                }
            }.joined()
        }
        return Array(fields.map { "\(encoded($0))=\(encoded($1))" }.joined(separator: "&").utf8)
    }

    /// The hidden fields of the form of an act, as a browser reads them.
    private func fields(_ act: Act, in page: String) throws -> [(String, String)] {
        let part = try #require(
            page.components(separatedBy: "<form").first { $0.contains("value=\"\(act.rawValue)\"") })
        return part.components(separatedBy: "type=\"hidden\" name=\"").dropFirst().compactMap { rest in
            guard let end = rest.range(of: "\" value=\"") else { return nil }
            var value = String(rest[end.upperBound...].prefix { $0 != "\"" })
            for (name, text) in [
                ("lt", "<"), ("gt", ">"), ("quot", "\""), ("#39", "'"), ("#13", "\r"), ("#10", "\n"), ("amp", "&"),
            ] { value = value.replacing("&\(name);", with: text) }
            return (String(rest[..<end.lowerBound]), value)
        }
    }

    private static let names =
        (1...0xFF).map { "x\(Unicode.Scalar(UInt8($0)))y" } + [
            " ", "anna ", " anna", "anna\n", "\nanna", "anna\r\n", "anna\r", "\t", "anna%0A", "%", "%%", "%%41", "a+b",
            "ann\u{65}\u{301}",
            "\u{202E}anna", "\u{FEFF}anna", "\u{10FFFF}",
        ]

    @Test func `the exact bytes of an account survive a form, as a browser sends it`() throws {
        let desk = try DeskFixture()
        let staff = try desk.browser(DeskFixture.everything)
        for (index, name) in Self.names.enumerated() {
            let id = "3400000000\(10_000 + index)"
            #expect(try desk.redeem(desk.coins(id), for: name) == [.granted])
            let page = try staff.search(id)
            let form = try fields(.setQuantity, in: page) + [("quantity", "7"), ("reason", "test")]
            let answer = try request(
                "POST", "/act", sent(form),
                headers: ["Content-Type: application/x-www-form-urlencoded", "Cookie: \(staff.cookie)"],
                port: desk.port)
            #expect(answer.text.contains("The quantity is now 7"), "\(name.debugDescription)")
            #expect(try desk.story(id)?.grants.map(\.quantity) == [7], "\(name.debugDescription)")
        }
    }

    @Test func `an account is found and named as a recipient with the white space that it has`() throws {
        let desk = try fixture()
        try desk.redeem(desk.coins("340000000000002"), for: "ben ")
        try desk.redeem(desk.coins("340000000000003"), for: "two\nlines")
        let staff = try desk.browser(DeskFixture.everything)
        for (text, id) in [("ben ", "340000000000002"), ("two\r\nlines", "340000000000003")] {
            #expect(try words(staff.search(text)).contains(id), "\(text)")
        }
        _ = try staff.act(.transfer, Self.id, ["to": "ben "])
        #expect(try desk.story(Self.id)?.owner == "ben ")
        // A slip.
        _ = try staff.act(.transfer, Self.id, ["account": "ben ", "to": "clara "])
        #expect(try desk.story(Self.id)?.owner == "clara")
    }
}
