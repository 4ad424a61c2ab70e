import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
@_spi(Surfaces) import ReceiptReport
import Reconciliation
@testable import SupportDesk
import Testing
import TrialSupport

/// Minted once: keys take time.
let minted = Result { try MintedEvidence() }

/// A support desk that listens, over a ledger of its own, whose clock the test moves.
final class DeskFixture: @unchecked Sendable {
    static let staff = "token-of-support-0123456789abcdef0123456789"
    static let backend = "token-of-the-backend-0123456789abcdef0123"
    static let everything = "token-of-the-operator-0123456789abcdef012"
    static let short = "short-support-tok"
    /// 2025-06-20T16:12:00Z, which is 00:12 of the next day in Beijing.
    static let start = Instant(millisecondsSince1970: 1_750_435_920_000)
    /// All texts.
    static let words: [any Words] = SupportPhrase.allCases + Outcome.allCases.map(OutcomeWords.init)

    let evidence: MintedEvidence
    let ledger: PurchaseLedger
    let tokens: AccessTokens
    let desk: SupportDesk
    let lines = Guarded<[String]>([])
    let folder: URL
    private let daemon: HTTPDaemon
    private let now = Guarded(start)
    /// The requests that Apple got.
    let asked = Guarded<[String]>([])

    /// - Parameters:
    ///   - store: The App Store that the desk asks, and whose root it trusts; `nil` for none.
    ///   - verifier: `nil` for one that trusts the root of the store, or that of ``minted``.
    init(
        _ options: [String] = ["--support", "127.0.0.1:0"], asking store: FakeAppStore? = nil,
        verifier: AppStoreVerifier? = nil
    ) throws {
        evidence = try minted.get()
        folder = FileManager.default.temporaryDirectory.appending(path: "desk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "tokens").path
        try """
        \(Self.backend)
        \(Self.staff) support
        \(Self.short) support
        \(Self.everything) support,transfer,events,adjust,recover
        """.write(toFile: file, atomically: true, encoding: .utf8)
        tokens = try AccessTokens(file: file)
        var rules = LedgerPolicy()
        if let store {
            rules.inquiries = InquiryPolicy(apps: [AskedApp(store.environment, store.options.bundleID)])
        }
        ledger = try PurchaseLedger(creating: folder.appending(path: "ledger.db").path, policy: rules)
        var policy = VerificationPolicy(bundleIDs: [MintedEvidence.bundleID], environments: [.production])
        let now = now
        policy.clock = { now.withLock { $0 } }
        let trust = try store.map { AppStoreTrust.roots([$0.trustAnchor]) } ?? evidence.trust
        let verifier = try verifier ?? AppStoreVerifier(policy: policy, trust: trust)
        let values = try OptionTable(SupportConfiguration.options + LedgerService.options).read(
            options + ["--ledger", "x"], environment: { _ in nil })
        let lines = lines
        let log = ServiceLog(detail: .all) { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let configuration = try SupportConfiguration(values)
        var desk = SupportDesk(try #require(configuration), ledger, tokens, verifier, [:], log)
        desk.clock = { now.withLock { $0 } }
        if let store {
            let (asked, answer) = (asked, store.inProcess())
            var options = AppStoreServerClient.Options()
            options.clock = { store.now }
            options.transport = { (request) throws(TransportFault) in
                asked.withLock { $0.append(request.url) }
                return try answer(request)
            }
            let client = try AppStoreServerClient(
                store.signer, environment: store.environment, verifier: store.verifier(), options: options)
            var asking = Reconciler.Options()
            asking.clock = { now.withLock { $0 } }
            desk.askApple = Reconciler(ledger, [AppleApp(client)], asking).inquiry
        }
        self.desk = desk
        let listener = desk.listener(ServiceLimits())
        daemon = try HTTPDaemon(listener.address, listener.routes, listener.limits, log, ServiceState())
    }

    deinit {
        _ = daemon.stop(within: .seconds(2))
        try? FileManager.default.removeItem(at: folder)
    }

    var port: UInt16 { daemon.address.port }

    func advance(_ time: Duration) { now.withLock { $0 = $0 + time } }
    var date: Instant { now.withLock { $0 } }

    /// Replaces the file of tokens, and reads it.
    func setTokens(_ text: String) throws {
        try text.write(toFile: folder.appending(path: "tokens").path, atomically: true, encoding: .utf8)
        try tokens.reload()
    }

    // MARK: Purchases

    func coins(_ id: String, _ change: (inout JWSBuilder) -> Void = { _ in }) throws -> String {
        try evidence.transaction {
            ($0.transactionID, $0.originalTransactionID) = (id, id)
            ($0.productType, $0.productID, $0.quantity) = (.consumable, "com.example.app.coins", 3)
            ($0.purchaseDate, $0.signedDate) = (Self.start, Self.start)
            change(&$0)
        }
    }

    /// Redeems as the route does, and records the attempt.
    @discardableResult
    func redeem(_ evidence: String, for account: String) throws -> [Outcome] {
        let request = "request-of-\(account)"
        let bytes = Array(evidence.utf8)
        do {
            let redemption = try ledger.redeem(desk.verifier.verify(bytes), for: account, at: date)
            try ledger.record(
                [try #require(Attempt(request, of: account, bytes, code: "ok", redemption.outcomes, at: date))])
            return redemption.outcomes.map(\.outcome)
        } catch let error as VerificationError {
            try ledger.record([try #require(Attempt(request, of: account, bytes, code: error.code.rawValue, at: date))])
            return []
        }
    }

    /// What an account has of a transaction.
    func quantity(of account: String, _ id: String) throws -> Int64 {
        try story(id)?.grants.first { $0.account == account }?.quantity ?? 0
    }

    func story(_ id: String) throws -> TransactionStory? {
        try ledger.story(
            of: TransactionName(environment: .production, bundleID: MintedEvidence.bundleID, transactionID: id),
            at: date)
    }

    // MARK: Requests

    func get(_ path: String, cookie: String? = nil, headers: [String] = []) throws -> ReceivedAnswer {
        try request("GET", path, headers: (cookie.map { ["Cookie: \($0)"] } ?? []) + headers, port: port)
    }

    func post(
        _ path: String, _ fields: [(String, String)], cookie: String? = nil, headers: [String] = []
    ) throws -> ReceivedAnswer {
        func escaped(_ text: String) -> String {
            text.utf8.map { byte in
                let isPlain = 0x61...0x7A ~= byte || 0x30...0x39 ~= byte
                return isPlain ? String(decoding: [byte], as: UTF8.self) : String(format: "%%%02X", Int(byte))
            }.joined()
        }
        let body = fields.map { "\(escaped($0))=\(escaped($1))" }.joined(separator: "&")
        return try request(
            "POST", path, Array(body.utf8),
            headers: ["Content-Type: application/x-www-form-urlencoded"] + (cookie.map { ["Cookie: \($0)"] } ?? [])
                + headers, port: port)
    }

    /// Signs in and returns a browser with the session.
    func browser(_ token: String = staff) throws -> Browser {
        let answer = try post("/sign-in", [("token", token), ("language", "en")])
        try #require(answer.status == 303, "\(answer.text)")
        let cookie = try #require(answer.cookies.first { $0.contains("receipt-support=") })
        return try Browser(desk: self, cookie: String(cookie.prefix { $0 != ";" }))
    }

    /// Somebody who is signed in.
    struct Browser {
        let desk: DeskFixture
        var cookie: String
        /// The token in its forms.
        let form: String

        init(desk: DeskFixture, cookie: String) throws {
            self.desk = desk
            self.cookie = cookie
            let page = try desk.get("/", cookie: cookie).text
            form = try #require(hidden("form", in: page).first)
        }

        func get(_ path: String) throws -> ReceivedAnswer { try desk.get(path, cookie: cookie) }

        func post(_ path: String, _ fields: [(String, String)]) throws -> ReceivedAnswer {
            try desk.post(path, [("form", form)] + fields, cookie: cookie)
        }

        func search(_ text: String) throws -> String { try post("/search", [("text", text)]).text }

        /// Performs an act on a transaction, with its own form, a second later.
        func act(_ act: Act, _ id: String, _ fields: [String: String] = [:]) throws -> ReceivedAnswer {
            desk.advance(.seconds(1))
            let form = [
                "act": act.rawValue, "number": UUID().uuidString, "environment": "production",
                "bundle": MintedEvidence.bundleID, "id": id, "account": "anna", "reason": "because of \(act.rawValue)",
            ]
            return try post("/act", form.merging(fields) { $1 }.map { ($0, $1) })
        }
    }
}

/// The values of hidden fields with a name.
func hidden(_ name: String, in page: String) -> [String] {
    page.components(separatedBy: "name=\"\(name)\" value=\"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
}

/// The words of a page without its markup and its styles.
func words(_ page: String) -> String {
    var text = ""
    var rest = page[...]
    if let start = page.range(of: "<body>") { rest = page[start.upperBound...] }
    var isInTag = false
    for character in rest.unicodeScalars {
        if character == "<" { isInTag = true }
        if !isInTag { text.unicodeScalars.append(character) }
        if character == ">" {
            isInTag = false
            if text.unicodeScalars.last != " " { text += " " }
        }
    }
    for (name, character) in [("lt", "<"), ("gt", ">"), ("quot", "\""), ("#39", "'"), ("amp", "&")] {
        text = text.replacing("&\(name);", with: character)
    }
    return text.split(separator: " ").joined(separator: " ").replacing(" .", with: ".").replacing(" ,", with: ",")
        .replacing(" :", with: ":").replacing(" ;", with: ";")
}
