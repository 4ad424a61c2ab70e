import Foundation
@testable import HTTPService
@testable import PurchaseLedger
@testable import SupportDesk
import StrictText
import Testing
import TrialSupport

/// What a field can be given.
@Suite struct InputTests {
    /// The processor time of this thread.
    private static var secondsOfThread: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func clues(_ text: [UInt8]) -> Clues { Clues(text, of: text) }

    @Test func `evidence is found in a log line, in JSON, in a form and in an e-mail, however quoted`() throws {
        let evidence = try minted.get()
        let jws = try evidence.transaction()
        let receipt = try Data(evidence.receipt()).base64EncodedString()
        let lines = stride(from: 0, to: receipt.utf8.count, by: 76).map { index in
            String(decoding: Array(receipt.utf8)[index..<min(index + 76, receipt.utf8.count)], as: UTF8.self)
        }
        let escaped = receipt.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
        let rows: [(name: String, text: String, piece: String)] = [
            ("a JWS in a line", "2025-06-20 redeem failed account=anna evidence=\(jws) status=403", jws),
            ("a JWS in JSON in JSON", #"{"body":"{\"account\":\"anna\",\"evidence\":\"\#(jws)\"}"}"#, jws),
            ("a notification", #"POST /v1/notifications {"signedPayload":"\#(jws)"}"#, jws),
            ("a receipt in a line", "receipt=\(receipt), app=1.0", receipt),
            ("a receipt in a line before another one", "\(receipt)\nBest, Anna", receipt),
            ("a receipt with escaped slashes", receipt.replacing("/", with: "\\/") + " end", receipt),
            ("the same, quoted twice", "x " + receipt.replacing("/", with: "\\\\\\/") + "\" end", receipt),
            ("with escapes of JSON", "x " + receipt.replacing("+", with: "\\u002B") + " end", receipt),
            ("in a form", "receipt-data=\(escaped)&a=b", receipt),
            ("in lines of an e-mail", "Hello,\n\n" + lines.joined(separator: "\n") + "\n\nBest, Anna", receipt),
            ("in lines with escapes", "\"" + lines.joined(separator: "\\r\\n") + "\"", receipt),
        ]
        for row in rows {
            let found = FoundEvidence(in: Array(row.text.utf8))
            #expect(found.pieces.count == 1, "\(row.name)")
            #expect(found.pieces.first.map { String(decoding: $0, as: UTF8.self) } == row.piece, "\(row.name)")
        }
        let two = FoundEvidence(in: Array("\(jws) and \(receipt) of anna".utf8))
        #expect(two.pieces.count == 2)
        #expect(clues(two.rest).words.contains("anna"))
        #expect(FoundEvidence(in: Array("340000000000001 anna eyJhbGciOiJ9.a.b MIIx".utf8)).pieces.isEmpty)
    }

    @Test(
        arguments: [
            ("交易号2000000001000001，求补单", "2000000001000001"), ("单号：MX1A2B3C4D。", "MX1A2B3C4D"),
            ("交易号２００００００００１０００００１充值没到账", "2000000001000001"),
            ("账号wang充值648没到账", "wang"), ("我的账号是wang，求补单", "wang"), ("玩家　小明　没到账", "小明"),
            ("账号：小明，已付款", "小明"), ("账号小明，已付款", "小明"), ("用户名为小明！", "小明"),
            ("令牌【0b9d3b8e-6a51-4f0e-8d5c-0d6d1f0b7a11】", "0b9d3b8e-6a51-4f0e-8d5c-0d6d1f0b7a11"),
            ("请求req-7f3a失败了", "req-7f3a"), ("ｏｒｄｅｒ＿１２３４５６７", "order_1234567"),
            ("（账号ａｎｎａ＠ｅｘａｍｐｌｅ．ｃｏｍ）", "anna@example.com"), ("苹果订单“MX9Z8Y7X6W”没有到账", "MX9Z8Y7X6W"),
        ])
    func `names are found in Chinese text, without spaces and in full width`(text: String, name: String) {
        #expect(clues(Array(text.utf8)).words.contains(name), "\(clues(Array(text.utf8)).words)")
    }

    @Test func `the time to look for evidence and names grows no faster than the text`() {
        let fillings = [
            "账号", "账号a", "账号是", "，", "１",
            "eyJ", "eyJ.", "=eyJ", "MI", "MI\n", "=MI", "MI ", "\\", "\\u002", "%2", "a=", "=\n", "ewo\n",
            "eyJhbGciOiJ.eyJhbGciOiJ.", String(repeating: "A", count: 76) + "\n", "\"", "\u{202E}", "7 ", "a.b-c_d ",
        ]
        for filling in fillings {
            func seconds(_ count: Int) -> Double {
                let text = Array(String(repeating: filling, count: count / filling.utf8.count).utf8)
                return (0..<3).map { _ in
                    let start = Self.secondsOfThread
                    let found = FoundEvidence(in: text)
                    _ = Clues(found.rest, of: text).words
                    return Self.secondsOfThread - start
                }.min() ?? 0
            }
            let (small, large) = (seconds(8 << 10), seconds(128 << 10))
            // Sixteen times the text; caches are allowed for, and other work does not count.
            #expect(large < small * 100 + 0.2, "\(filling.debugDescription): \(small) \(large)")
        }
    }

    @Test func `names are found in what stands around them, ids first, and none twice`() {
        let line = #"{"request":"01J9","account":"安娜","transactions":"340000000000001:granted","n":7}"#
        let words = clues(Array(line.utf8)).words
        #expect(words.first == line)
        for word in ["安娜", "340000000000001", "granted", "01J9"] { #expect(words.contains(word), "\(word)") }
        #expect(clues(Array("  Anna Maria \n".utf8)).words.first == "Anna Maria")
        #expect(clues(Array("a\u{0}b".utf8)).words.isEmpty)
        #expect(clues([0xFF, 0xFE]).words.isEmpty)
        #expect(clues(Array((0..<100).map { "word\($0)" }.joined(separator: " ").utf8)).hasMore)
        #expect(clues(Array("It is 340000000000001! Or com.example.app.".utf8)).words.contains("340000000000001"))
        #expect(
            TransactionName.isAppleOrder("MX1A2B3C4D") && TransactionName.isAppleOrder("MXABCDEFGH")
                && !TransactionName.isAppleOrder("mx1a2b3c4d")
                && !TransactionName.isAppleOrder("MARIA"))
        #expect(Clues.isTransactionID("340000000000001") && !Clues.isTransactionID("34000000x"))
        #expect(!Clues.isTransactionID("0340000000000001") && !Clues.isTransactionID("12345678901234567890"))
    }

    @Test func `a form is read as browsers send it`() throws {
        func form(_ body: String, _ type: String? = "application/x-www-form-urlencoded") throws -> FormBody {
            try FormBody(
                Request(
                    method: "POST", path: "/", fields: type.map { [.init(.header, "Content-Type", $0)] } ?? [],
                    body: Array(body.utf8)))
        }
        let read = try form(
            "a=1+2%2B3&b=%E5%AE%89%0D%0A&c=&d&e=%zz%4&f=x=y", "application/x-www-form-urlencoded; charset=UTF-8")
        #expect(read.text("a") == "1 2+3")
        #expect(read.exactText("b") == "安\r\n" && read.text("b") == "安")
        #expect(read.text("c") == nil && read.text("d") == nil && read.text("none") == nil)
        #expect(read.exactText("e") == "%zz%4" && read.exactText("f") == "x=y")
        #expect(try form("a=%FF").text("a") == nil)
        let many = (0..<33).map { "a\($0)=" }.joined(separator: "&")
        for (body, type) in [
            (many, "application/x-www-form-urlencoded"), ("a=1&a=2", "application/x-www-form-urlencoded"),
            ("a=1", "text/plain"), ("a=1", nil),
        ] {
            #expect(throws: RequestFault.self) { try form(body, type) }
        }
    }
}
