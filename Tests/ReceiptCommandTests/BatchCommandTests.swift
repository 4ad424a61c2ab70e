import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

/// `receipt batch` in this process: what becomes of the lines.
@Suite struct BatchCommandTests {
    private let folder: TemporaryFolder
    private let root: String
    private let receipt: String

    init() throws {
        let authority = try Minted.authority
        folder = try TemporaryFolder()
        root = try folder.write("root.der", authority.root.certificate)
        let builder = ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: [.consumable("coins", transactionID: "1"), .consumable("coins", transactionID: "2")])
        receipt = Data(try builder.signed(by: authority)).base64EncodedString()
    }

    private func batch(_ text: String, _ options: String...) throws -> Run {
        run(["batch", "--root", root] + options + [try folder.write("lines", text)])
    }

    private func codes(_ run: Run) throws -> [String?] {
        try run.objects().map { ($0["error"] as? NSDictionary)?["code"] as? String }
    }

    @Test(arguments: ["1", "2", "7"])
    func `there is a line of output for each line, in order, whatever the number of threads`(jobs: String) throws {
        // Lines of different costs, over several blocks.
        let lines = (0..<600).map { index in
            switch index % 5 {
            case 0: "{\"id\":\(index),\"receipt-data\":\"\(receipt)\"}"
            case 1: "{\"id\":\(index),\"receipt-data\":\"MIIB\"}"
            case 2: "{\"receipt-data\":\"\(receipt.dropLast(8))\",\"id\":\(index)}"
            case 3: "{\"id\":\(index)}"
            default:
                "{\"id\":\(index),\"receipt-data\":\"\(receipt)\",\"pad\":\"\(String(repeating: "x", count: index * 20))\"}"
            }
        }
        let result = try batch(lines.joined(separator: "\n") + "\n", "--jobs", jobs, "--brief")
        #expect(result.status == 1 && result.errorOutput.isEmpty)
        let objects = try result.objects()
        #expect(objects.map { ($0["input"] as? [String: Any])?["id"] as? Int } == Array(0..<600))
        #expect(objects.enumerated().allSatisfy { $1["verified"] as? Bool == ($0 % 5 == 0 || $0 % 5 == 4) })
    }

    @Test func `a line is what verify prints of it, but for the name of the file`() throws {
        let file = try folder.write("receipt", receipt)
        let one = run("verify", "--format", "json", "--root", root, file).output
        let result = try batch(receipt)
        #expect(result.status == 0)
        #expect(
            one
                == result.output.replacing(
                    "{\"verified\"", with: "{\"file\":\"\(file)\",\"verified\"", maxReplacements: 1))
        #expect(
            try batch(receipt, "--brief").output == """
                {"verified":true,"schema":1,"bundle_id":"com.example.app","environment":"production","transaction_ids":["1","2"]}

                """)
    }

    @Test(arguments: [
        ("", []), ("\n", ["empty-input"]), ("\n\n", ["empty-input", "empty-input"]), ("\r\n", ["empty-input"]),
        ("#", [nil]), ("#\n", [nil]), ("#\r\n", [nil]), ("#\r\n#", [nil, nil]),
        ("#\n\n#\n", [nil, "empty-input", nil]),
        ("x\n#\n{\n", ["unrecognized-form", nil, "invalid-json"]), ("\u{0}\n#", ["unrecognized-form", nil]),
    ])
    func `lines end in LF or CRLF, the last in neither, and a broken one is an error in its place`(
        text: String, expected: [String?]
    ) throws {
        let result = try batch(text.replacingOccurrences(of: "#", with: receipt))
        #expect(try codes(result) == expected)
        #expect(result.status == (expected.contains { $0 != nil } ? 1 : 0))
    }

    /// The second limit is above what one read gives.
    @Test(arguments: [10_000, 300_000], [0, 1, 5])
    func `a line that is too long is an error in its place`(limit: Int, excess: Int) throws {
        let long = String(repeating: "x", count: limit + excess)
        let code = excess == 0 ? "unrecognized-form" : "input-too-large"
        for (text, expected) in [
            (long, [code]), ("\(long)\n", [code]), ("\(receipt)\n\(long)\n\(receipt)", [nil, code, nil]),
            ("\(receipt)\n\n\(long)\n\(long)\n\(receipt)\n", [nil, "empty-input", code, code, nil]),
        ] as [(String, [String?])] {
            #expect(try codes(batch(text, "--max-line", "\(limit)")) == expected)
        }
    }

    @Test(arguments: [
        ("refused", [2, 4], [false, false]), ("verified", [1, 3, 5], [true, true, true]),
    ])
    func `only the verdicts that are wanted are printed, with the numbers of their lines`(
        only: String, numbers: [Int], verified: [Bool]
    ) throws {
        let text = ["#", "x", "{\"id\":7,\"receipt-data\":\"#\"}", "", "#"].joined(separator: "\n")
            .replacingOccurrences(of: "#", with: receipt)
        for form in [[], ["--brief"]] {
            let result = run(
                ["batch", "--root", root, "--only", only] + form + [try folder.write("lines", text)])
            #expect(result.status == 1)
            #expect(try result.objects().map { $0["line"] as? Int } == numbers)
            #expect(try result.objects().map { $0["verified"] as? Bool } == verified)
        }
        let first = try batch(text, "--only", "verified", "--from-line", "3").output
        #expect(first.hasPrefix("{\"input\":{\"id\":7},\"line\":3,\"verified\":true,"))
    }

    @Test(arguments: [(1, 9), (2, 8), (9, 1), (10, 0), (1000, 0)], ["", "\n"])
    func `the work can begin at a line`(lines: (number: Int, expected: Int), end: String) throws {
        let text = (1...9).map { "{\"id\":\($0)}" }.joined(separator: "\n") + end
        let ids = try batch(text, "--from-line", "\(lines.number)").objects()
            .map { ($0["input"] as? [String: Any])?["id"] as? Int }
        #expect(ids == Array((1...9).suffix(lines.expected)))
    }

    @Test func `refused lines need not fail the work, and what cannot be read does`() throws {
        #expect(try batch("\(receipt)\nx\n", "--allow-refused").status == 0)
        #expect(run("batch", "--root", root, "--allow-refused", "/no/such/file").status == 2)
        #expect(run("batch", "--root", root, "--allow-refused", "/").status == 2)
    }

    @Test func `a summary counts the verdicts by code, also those that are not printed`() throws {
        let text = "x\n\(receipt)\n\n\(receipt.dropLast(8))\n\(receipt)\n" + String(repeating: "\n", count: 9)
        for options in [[], ["--only", "verified"], ["--brief", "--jobs", "2"]] {
            let result = run(
                ["batch", "--root", root, "--summary"] + options + [try folder.write("lines", text)])
            #expect(
                result.errorOutput == """
                    receipt: 14 lines: 2 verified, 12 refused
                      10  empty-input
                       1  truncated
                       1  unrecognized-form

                    """)
        }
        let empty = try batch("", "--summary")
        #expect(empty.status == 0 && empty.errorOutput == "receipt: 0 lines: 0 verified, 0 refused\n")
    }

    @Test func `what cannot be read is unusable`() {
        for file in ["/no/such/file", "/"] {
            let result = run("batch", "--root", root, file)
            #expect(result.status == 2 && result.output.isEmpty)
            #expect(result.errorOutput.hasPrefix("receipt: \(file): "))
        }
        #expect(run("batch", "--root", "/no/such/root", "/dev/null").status == 2)
        #expect(run("batch", "--root", root, "/dev/null").status == 0)
    }

    @Test(arguments: [
        ["--jobs", "0"], ["--jobs", "x"], ["--jobs", "1025"], ["--max-line", "0"], ["--max-line", "-1"],
        ["--brief=yes"], ["a", "b"], ["--only", "some"], ["--from-line", "0"], ["--allow-refused=1"],
    ])
    func `wrong usage is refused`(words: [String]) {
        #expect(run(["batch"] + words + ["/dev/null"]).status == 2)
    }

    @Test func `the bar shows share, count, rate and what is left`() {
        let start = ContinuousClock.now
        var bar = ProgressBar(totalByteCount: 1000, width: 80, start: start)
        bar.advance(lineCount: 50, byteCount: 250)
        #expect(
            bar.text(at: start + .seconds(5))
                == "[##########..............................] 25 %  50 lines  10 lines/s  ETA 0:15")
        bar.advance(lineCount: 50, byteCount: 900)
        #expect(bar.text(at: start + .seconds(7200)).hasSuffix("] 100 %  100 lines  0 lines/s  ETA 0:00"))
        #expect(bar.summary(at: start + .seconds(3725)) == "100 lines  0 lines/s  1:02:05")
        var narrow = ProgressBar(totalByteCount: 1000, width: 20, start: start)
        narrow.advance(lineCount: 1, byteCount: 1)
        #expect(narrow.text(at: start + .seconds(1)).count == 19)
        var unknown = ProgressBar(totalByteCount: nil, width: 80, start: start)
        unknown.advance(lineCount: 3, byteCount: 1)
        #expect(unknown.text(at: start) == "3 lines  0 lines/s")
    }
}
