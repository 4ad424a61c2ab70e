import AppStoreReceipt
import Foundation
@testable import HTTPService
@testable import LedgerService
@testable import SupportDesk
import Testing
import TrialSupport

/// Limits of sessions and sign-ins, without a socket.
@Suite struct SignInBoundTests {
    private let start = DeskFixture.start

    @Test func `a clock that was set back by more than five minutes ends a session`() throws {
        for (seconds, isOver) in [(-299, false), (-301, true)] as [(Int64, Bool)] {
            let sessions = Sessions()
            let id = try sessions.begin(AccessTokens.digest(of: DeskFixture.staff), at: start)
            #expect(try (sessions.session(id, at: start + .seconds(seconds)) == nil) == isOver)
        }
    }

    @Test func `a form is sent once, however many others are, and not after an hour`() throws {
        let sessions = Sessions()
        let id = try sessions.begin(AccessTokens.digest(of: DeskFixture.staff), at: start)
        func send(_ number: String, _ seconds: Int64 = 0) throws -> Sessions.Sending {
            try sessions.send(number, of: id, at: start + .seconds(seconds))
        }
        let forms = (0..<4096).map { _ in FormNumber.make(at: start) }
        for form in forms { #expect(try send(form) == .first) }
        for form in [forms[0], forms[4095]] { #expect(try send(form) == .repeated) }
        // Nothing is forgotten to make room.
        #expect(try send(FormNumber.make(at: start)) == .tooOld)
        #expect(try send(FormNumber.make(at: start + .seconds(3601)), 3601) == .first)
        #expect(try sessions.session(id, at: start)?.sent.count == 1)
        for form in [forms[0], FormNumber.make(at: start)] { #expect(try send(form, 3601) == .tooOld) }
        #expect(try send(FormNumber.make(at: start + .seconds(4000)), 3601) == .tooOld)
        // What no page has is remembered until the session ends.
        #expect(try send("one", 3602) == .first && send("one", 9999) == .repeated)
    }

    @Test func `after a quiet night, a stranger has 20 guesses, and one more every three seconds`() {
        let limit = SignInLimit()
        #expect(limit.count(at: start))
        let morning = start + .seconds(8 * 3600)
        func guesses(at date: Instant) -> Int { (0..<100).count { _ in limit.count(at: date) } }
        #expect(guesses(at: morning) == 20)
        #expect(guesses(at: morning + .seconds(6)) == 2)
    }

    @Test func `the page takes at most 256 connections`() throws {
        let desk = try DeskFixture().desk
        var limits = ServiceLimits()
        for (count, expected) in [(10_000, 256), (100, 100)] {
            limits.maximumConnectionCount = count
            #expect(desk.listener(limits).limits.maximumConnectionCount == expected)
        }
    }
}

/// Signing in, over a real socket.
@Suite(.serialized) struct SignInTests {
    @Test func `a token of the scope support signs in, and the cookie is not for scripts or other sites`() throws {
        let desk = try DeskFixture()
        let answer = try desk.post("/sign-in", [("token", DeskFixture.staff)])
        #expect(answer.status == 303 && answer.headers["location"] == "/")
        let cookie = try #require(answer.cookies.first { $0.hasPrefix("receipt-support=") })
        let id = cookie.dropFirst("receipt-support=".count).prefix { $0 != ";" }
        #expect(id.count == 64)
        #expect(cookie.dropFirst("receipt-support=".count + id.count) == "; Path=/; HttpOnly; SameSite=Strict")
        // Neither the token nor the session stands in a page or a line of the log.
        let page = try desk.get("/", cookie: "receipt-support=\(id)").text
        #expect(page.contains("action=\"/search\""))
        for text in [page, desk.lines.withLock { $0.joined() }] {
            #expect(!text.contains(DeskFixture.staff) && !text.contains(id))
        }
    }

    @Test func `with an https origin, the cookie is of this host alone and comes over TLS alone`() throws {
        let desk = try DeskFixture(["--support", "127.0.0.1:0", "--support-origin", "https://desk.example.com"])
        let answer = try desk.post(
            "/sign-in", [("token", DeskFixture.staff)], headers: ["Origin: https://desk.example.com"])
        for cookie in answer.cookies { #expect(cookie.hasPrefix("__Host-") && cookie.contains("; Secure")) }
        #expect(answer.cookies.count == 2)
    }

    @Test(arguments: [DeskFixture.backend, "unknown-token-0123456789abcdef0123456789", "", "x", "\u{0}"])
    func `another scope's token does not sign in, and neither does an unknown one`(token: String) throws {
        let desk = try DeskFixture()
        let answer = try desk.post("/sign-in", [("token", token)])
        #expect(answer.status == 403 && answer.cookies.isEmpty)
        #expect(answer.text.contains("The token is unknown, or does not have the scope"))
    }

    @Test func `a session that a stranger chose is worth nothing, and that of before ends`() throws {
        let desk = try DeskFixture()
        let chosen = "receipt-support=" + String(repeating: "a", count: 64)
        let answer = try desk.post("/sign-in", [("token", DeskFixture.staff)], cookie: chosen)
        let cookie = try #require(answer.cookies.first { $0.hasPrefix("receipt-support=") })
        let own = String(cookie.prefix { $0 != ";" })
        #expect(own != chosen)
        #expect(try desk.get("/", cookie: chosen).text.contains("action=\"/sign-in\""))
        // Signing in again in the same browser ends the first session.
        _ = try desk.post("/sign-in", [("token", DeskFixture.staff)], cookie: own)
        #expect(try desk.get("/", cookie: own).text.contains("action=\"/sign-in\""))
    }

    @Test func `a session ends when it is idle, after eight hours, at sign-out, and with its token`() throws {
        let desk = try DeskFixture()
        func isIn(_ browser: DeskFixture.Browser) throws -> Bool {
            try browser.get("/").text.contains("action=\"/search\"")
        }
        let idle = try desk.browser()
        desk.advance(.seconds(30 * 60))
        #expect(try !isIn(idle))
        let busy = try desk.browser()
        for _ in 0..<24 {
            desk.advance(.seconds(20 * 60 - 1))
            #expect(try isIn(busy))
        }
        desk.advance(.seconds(60))
        #expect(try !isIn(busy))
        let out = try desk.browser()
        #expect(try out.post("/sign-out", []).cookies.first?.contains("Max-Age=0") == true)
        #expect(try !isIn(out))
        let removed = try desk.browser()
        try desk.setTokens("\(DeskFixture.staff) read\n")
        #expect(try !isIn(removed))
    }

    @Test func `sessions are bounded, and the one that was idle for longest ends`() throws {
        let desk = try DeskFixture()
        let other = try desk.browser(DeskFixture.everything)
        desk.advance(.milliseconds(1))
        let first = try desk.browser()
        for _ in 0..<Sessions.maximumCountOfToken {
            desk.advance(.milliseconds(1))
            _ = try desk.post("/sign-in", [("token", DeskFixture.staff)])
        }
        #expect(desk.desk.sessions.count == Sessions.maximumCountOfToken + 1)
        #expect(try first.get("/").text.contains("action=\"/sign-in\""))
        // Other tokens' sessions stay signed in.
        #expect(try other.get("/").text.contains("action=\"/search\""))
    }

    @Test func `wrong tokens are limited, and nobody with a long token is locked out`() throws {
        let desk = try DeskFixture()
        func status(_ token: String) throws -> Int { try desk.post("/sign-in", [("token", token)]).status }
        for number in 0..<SignInLimit.maximumCount { #expect(try status("wrong-token-\(number)") == 403) }
        #expect(try status("wrong-token") == 429)
        #expect(try status("another-wrong-token-0123456789abcdef01234") == 429)
        // A short token waits: it may be a word.
        #expect(try status(DeskFixture.short) == 429)
        #expect(try status(DeskFixture.staff) == 303)
        desk.advance(.seconds(3))
        #expect(try status("wrong-token") == 403)
        #expect(try status("wrong-token") == 429)
        desk.advance(.seconds(3))
        #expect(try status(DeskFixture.short) == 303)
        // Logging can't fill the disk.
        let refusals = desk.lines.withLock { $0.filter { $0.contains("support-sign-in-refused") }.count }
        #expect(refusals == SignInLimit.maximumCount + 1)
    }
}
