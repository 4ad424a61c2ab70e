import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import HTTPService
import LedgerService
import PurchaseLedger
@_spi(Surfaces) import ReceiptReport
import ReceiptService
import ServerFuzzSupport
import StrictText
import SupportDesk

// Requests as libmicrohttpd delivers them: a line with method and target, header lines, and a body. A byte below 9
// stands for evidence, a token or a session that is accepted. The routes of the service, the ledger and the support
// desk answer.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        let site = currentSite()
        let bytes = input.flatMap { $0 < site.accepted.count ? site.accepted[Int($0)] : [$0] }
        guard let request = ReceivedRequest(bytes) else { return }
        for table in [site.service, site.desk] { checkAnswer(table.answer(request.request(to: table)), request) }
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput, orMint: seeds) }
}

private let seeds: [(name: String, bytes: [UInt8])] = [
    ("verify", "POST /v1/verify\n\n\u{1}"), ("notification", "POST /v1/notifications\n\n{\"signedPayload\":\"\u{2}\"}"),
    ("redeem", "POST /v1/redeem\nAuthorization: Bearer \u{3}\n\n{\"account\":\"anna\",\"evidence\":\"\u{1}\"}"),
    (
        "entitlements",
        "GET /v1/accounts/anna/entitlements?at=2026-01-01&environment=Production\nAuthorization: Bearer \u{3}\n\n"
    ),
    ("history", "GET /v1/accounts/a%20b/history?after=1&limit=2\nAuthorization: Bearer \u{3}\n\n"),
    ("tokens", "GET /v1/accounts/a%20b/tokens?after=1-a&limit=2\nAuthorization: Bearer \u{3}\n\n"),
    (
        "transaction",
        "GET /v1/transactions/Production/com.example.app/2000000000000001\nAuthorization: Bearer \u{3}\n\n"
    ),
    ("transfer", "POST /v1/accounts/anna/transfer\nAuthorization: Bearer \u{3}\n\n{\"to\":\"ben\",\"reason\":\"x\"}"),
    (
        "adjust",
        "POST /v1/accounts/anna/adjust\nAuthorization: Bearer \u{3}\n\n{\"transaction_id\":\"1\",\"quantity\":3,\"reason\":\"x\"}"
    ),
    ("delete", "DELETE /v1/accounts/anna\nAuthorization: Bearer \u{3}\n\n"),
    ("order", "POST /v1/orders\nAuthorization: Bearer \u{3}\n\n{\"account\":\"anna\",\"product_id\":\"coins\"}"),
    ("send", "POST /v1/events/1/send\nAuthorization: Bearer \u{3}\n\n"),
    ("answer", "POST /verifyReceipt\n\n{\"receipt-data\":\"\u{1}\",\"password\":\"x\"}"),
    ("decide", "POST /v1/entitlements\n\n{\"evidence\":[\"\u{1}\",\"\u{2}\"],\"at\":\"2026-01-31T12:00:00Z\"}"),
    ("desk", "GET /\nHost: 127.0.0.1:8081\nCookie: \u{4}\n\n"),
    (
        "search",
        "POST /search\nHost: 127.0.0.1:8081\nOrigin: http://127.0.0.1:8081\nCookie: \u{4}\nContent-Type: application/x-www-form-urlencoded\n\nform=\u{5}&text=\u{1}"
    ),
    (
        "act",
        "POST /act\nHost: 127.0.0.1:8081\nOrigin: http://127.0.0.1:8081\nCookie: \u{4}\nContent-Type: application/x-www-form-urlencoded\n\nform=\u{5}&act=transfer&account=anna"
    ),
].map { ($0, Array($1.utf8)) }
#endif

private func checkAnswer(_ response: Response, _ request: ReceivedRequest) {
    check(200..<600 ~= response.status && response.status != 500, "status \(response.status) of \(request)")
    check(
        response.code.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x2D },
        "the code \(response.code)")
    for (name, value) in response.headers {
        check((name + value).utf8.allSatisfy { 0x20...0x7E ~= $0 }, "a header that is no line: \(name): \(value)")
    }
    if response.contentType.utf8.elementsEqual("application/json".utf8) {
        do throws(JSONError) {
            try JSONCursor.decode(response.body.span) { (cursor) throws(JSONError) in _ = try cursor.skipValue() }
        } catch {
            check(false, "\(error) in an answer")
        }
    } else if response.contentType.utf8.starts(with: "text/html".utf8) {
        check(response.body.firstRange(of: Array("<script".utf8)) == nil, "a page with a script")
        MarkupReader.checkBody(of: response.body, elements: elements, fields: ["input"], addresses: addresses)
    }
}

/// The elements of a desk page, besides those of a report.
private let elements = Tag.allCases.map(\.rawValue) + ["form", "label", "textarea", "select", "option", "button"]
private let addresses = [
    "/", "/account", "/act", "/search", "/settings", "/sign-in", "/sign-out", "/what-clients-send",
]

/// A request as its bytes came.
private struct ReceivedRequest {
    let method: String
    let path: String
    let query: [(String, String)]
    let headers: [(String, String)]
    let body: [UInt8]

    /// `nil` for what libmicrohttpd refuses.
    init?(_ bytes: [UInt8]) {
        let end = bytes.firstRange(of: Array("\n\n".utf8)) ?? bytes.count..<bytes.count
        let head = bytes[..<end.lowerBound]
        guard !head.contains(0), let text = String(validating: head, as: UTF8.self) else { return nil }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst() else { return nil }
        let words = first.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return nil }
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        method = String(words[0])
        path = String(target[0])
        query = target.count < 2 ? [] : target[1].split(separator: "&").map { Self.pair($0, "=") }
        body = Array(bytes[end.upperBound...])
        headers = lines.map { Self.pair($0, ":") } + [("Content-Length", "\(body.count)")]
    }

    private static func pair(_ text: Substring, _ separator: Character) -> (String, String) {
        let parts = text.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count < 2 ? "" : String(parts[1].drop { $0 == " " }))
    }

    /// With the fields that some route of a listener reads.
    func request(to table: RouteTable) -> Request {
        var fields: [Request.Field] = []
        for name in Set(table.routes.flatMap(\.headers)).sorted() {
            let found = headers.filter { $0.0.utf8.elementsEqual(name.utf8) }
            if found.count == 1 { fields.append(.init(.header, name, found[0].1)) }
        }
        for name in Set(table.routes.flatMap(\.queryItems)).sorted() {
            let found = query.filter { $0.0.utf8.elementsEqual(name.utf8) }
            if found.count == 1 { fields.append(.init(.query, name, found[0].1)) }
        }
        return Request(method: method, path: path, fields: fields, body: body)
    }
}

/// The listeners of a server with a ledger of its own.
private struct Site {
    let service: RouteTable
    let desk: RouteTable
    /// What bytes stand for: nothing, a receipt, a notification, a token, a session's cookie and its form's token.
    let accepted: [[UInt8]]

    private static let token = "fuzz-token-0123456789"
    private static let authority = FuzzAuthority.made { try TestCertificateAuthority(.ellipticCurve) }

    init(number: Int) throws {
        let folder = temporaryFolder
        let tokens = folder + "/tokens"
        let scopes = "redeem,read,events,transfer,delete,adjust,support"
        try write("\(Self.token) \(scopes)\n", to: tokens)
        let arguments = [
            "--ledger", "\(folder)/\(number).db", "--token-file", tokens, "--new-ledger", "--orders",
            "--keep-evidence", "--support", "8081",
        ]
        let options = OptionTable(
            ReceiptConfiguration.options + LedgerService.options + SupportConfiguration.options + Service.options)
        let values = try options.read(arguments) { _ in nil }
        let policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production, .sandbox])
        let configuration = ReceiptConfiguration(policy: policy, trust: .roots([try Self.authority.trustAnchor]))
        let log = ServiceLog(detail: .all) { line in
            check(line.count { $0 == UInt8(ascii: "\n") } == 1, "a line of the log is several")
        }
        let receipts = try ReceiptRoutes(configuration)
        guard let ledger = try LedgerService(values, receipts.verifier, [:], log),
            let support = try SupportConfiguration(values)
        else { fatalError("no ledger") }
        service = RouteTable(receipts.routes + ledger.routes)
        let page = SupportDesk(support, ledger.ledger, ledger.tokens, receipts.verifier, [:], log)
        desk = page.listener(ServiceLimits()).routes
        accepted = try Self.accepted(desk)
    }

    private static func accepted(_ desk: RouteTable) throws -> [[UInt8]] {
        var history = PurchaseHistory(bundleID: "com.example.app", customer: 1)
        let date = Instant(millisecondsSince1970: 1_735_689_600_000)
        let coins = history.buyConsumable("coins", quantity: 3, at: date)
        history.refund(coins, at: date + .seconds(86_400))
        let later = date + .seconds(2 * 86_400)
        let receipt = try history.receipt(signedAt: date).signed(by: authority)
        var notification: [UInt8] = []
        if let refund = history.notifications(through: later).last {
            notification = Array(try history.builder(for: refund, partsSignedBy: authority).signed(by: authority).utf8)
        }
        func header(_ name: String, _ value: String) -> Request.Field { .init(.header, name, value) }
        let own = [header("Host", "127.0.0.1:8081"), header("Origin", "http://127.0.0.1:8081")]
        let form = Array("token=\(token)".utf8)
        let kind = [
            header("Content-Type", "application/x-www-form-urlencoded"), header("Content-Length", "\(form.count)"),
        ]
        let signIn = desk.answer(Request(method: "POST", path: "/sign-in", fields: own + kind, body: form))
        let cookie = signIn.headers.first { $0.value.utf8.starts(with: "receipt-support=".utf8) }?.value ?? ""
        let session = String(cookie.prefix { $0 != ";" })
        let start = desk.answer(Request(method: "GET", path: "/", fields: own + [header("Cookie", session)]))
        let name = Array("name=\"form\" value=\"".utf8)
        let formToken = start.body.firstRange(of: name).map {
            start.body[$0.upperBound...].prefix { $0 != UInt8(ascii: "\"") }
        }
        check(formToken != nil, "nobody can sign in")
        return [
            [], Array(Base64.encode(receipt.span).utf8), notification, Array(token.utf8), Array(session.utf8),
            Array(formToken ?? []),
        ]
    }
}

private nonisolated(unsafe) var site: Site?
private nonisolated(unsafe) var answeredCount = 0

/// The site, recreated now and then, because what requests leave in its ledger slows the next ones.
private func currentSite() -> Site {
    let number = unsafe answeredCount
    unsafe answeredCount += 1
    if number % 500 != 0, let site = unsafe site { return site }
    let made = FuzzAuthority.made { try Site(number: number / 500) }
    unsafe site = made
    return made
}
