import AppStoreReceiptTesting
import Foundation
import Sampling
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

    /// Lines of different forms, so that their verdicts can be cut off anywhere.
    private func someLines() throws -> [String] {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        return [
            "{\"id\":1,\"receipt-data\":\"\(receipt)\"}", "", "x", "{\"id\":\"a\\\"{b\",\"id\":2}", receipt,
            "{\"deep\":\(deep),\"receipt-data\":\"\(receipt)\"}", "{\"id\":[1,{}]}",
            "{\"id\": 1, \"tags\": [\"a\",\t\"b\"], \"receipt-data\": \"\(receipt)\"}",
        ]
    }

    @Test(arguments: [[], ["--only", "refused"], ["--only", "verified"]])
    func `a file that ends anywhere is continued to what one run writes`(only: [String]) throws {
        let text = try folder.write("lines", someLines().joined(separator: "\n"))
        let whole = Array(run(["batch", "--root", root, "--brief"] + only + [text]).output.utf8)
        for count in Sampling.share(0...whole.count, of: "cut-verdicts") {
            let file = try folder.write("verdicts", Array(whole.prefix(count)))
            let result = run(["batch", "--root", root, "--brief", "--jobs", "1", "--continue", file] + only + [text])
            #expect(result.output.isEmpty && result.errorOutput.isEmpty && result.status < 2)
            #expect(try Array(Data(contentsOf: URL(filePath: file))) == whole, "cut off after \(count) bytes")
        }
    }

    @Test func `a last line that is broken by more than its end is removed`() throws {
        let text = try folder.write("lines", someLines().joined(separator: "\n"))
        let whole = run("batch", "--root", root, text).output
        for end in ["{\"verified\":true,\n", "{\"input\":{\n", "\0\0\0\0", "{\"verified\":true}", "{"] {
            let lines = whole.split(separator: "\n").prefix(3).joined(separator: "\n") + "\n"
            let file = try folder.write("verdicts", lines + end)
            #expect(run("batch", "--root", root, "--continue", file, text).status == 1)
            #expect(try String(contentsOf: URL(filePath: file), encoding: .utf8) == whole, "\(end)")
        }
    }

    @Test func `a file with anything else is not changed`() throws {
        let text = try folder.write("lines", someLines().joined(separator: "\n"))
        let whole = run("batch", "--root", root, text).output
        let first = String(whole.prefix { $0 != "\n" }) + "\n"
        let numbered = run("batch", "--root", root, "--only", "refused", text).output
        let cases: [(String, [String], String)] = [
            (try someLines().joined(separator: "\n"), [], "line 1 is no verdict"),
            (first + "{\"id\":7}\n", [], "line 2 is no verdict"), (first + "x", [], "line 2 is no verdict"),
            // What `>>` made of a line that was cut off.
            (first + first.prefix(20) + first + first, [], "line 2 is no verdict"),
            (first + "\n" + first, [], "line 2 is no verdict"),
            ("{\"verified\":1}\n" + first, [], "line 1 is no verdict"),
            (whole, ["--only", "refused"], "line 1 was written without --only"),
            (numbered, [], "line 1 was written with --only"),
        ]
        for (contents, options, error) in cases {
            let file = try folder.write("verdicts", contents)
            let result = run(["batch", "--root", root, "--continue", file] + options + [text])
            #expect(
                result.status == 2 && result.errorOutput.hasPrefix("receipt: \(file): \(error)"),
                "\(result.errorOutput)")
            #expect(try String(contentsOf: URL(filePath: file), encoding: .utf8) == contents)
        }
        #expect(
            run("batch", "--root", root, "--continue", "/dev/null", text).errorOutput.contains(
                "--continue needs a file"))
        #expect(run("batch", "--root", root, "--continue", "/no/such/file", text).status == 2)
        #expect(run("batch", "--continue", "x", "--from-line", "2", text).status == 2)
    }

    @Test func `a file is written by one process at a time`() throws {
        let text = try folder.write("lines", "x\n")
        let file = try folder.write("verdicts", "")
        let first = try VerdictFile.open(file, only: nil, jobs: 1)
        let result = run("batch", "--root", root, "--continue", file, text)
        #expect(result.status == 2 && result.errorOutput == "receipt: \(file): another process is writing to it\n")
        System.close(first.descriptor)
        #expect(run("batch", "--root", root, "--continue", file, text).status == 1)
    }

    @Test(arguments: [[], ["--only", "refused"], ["--only", "verified"]])
    func `the status and the summary of a continued run are those of all lines`(only: [String]) throws {
        let text = try folder.write("lines", someLines().joined(separator: "\n") + "\n\(receipt)\n")
        let options = ["batch", "--root", root, "--summary"] + only
        let whole = run(options + [text])
        #expect(whole.status == 1)
        let lines = whole.output.split(separator: "\n")
        for count in [1, lines.count - 1, lines.count] {
            let file = try folder.write("verdicts", lines.prefix(count).joined(separator: "\n") + "\n")
            let result = run(options + ["--continue", file, text])
            #expect(result.status == 1, "\(result.errorOutput)")
            // Of lines that an earlier run refused and did not print, the codes are not known.
            let expected =
                only.last == "verified" ? whole.errorOutput.split(separator: "\n")[0] : whole.errorOutput[...]
            #expect(result.errorOutput.hasPrefix(expected), "\(result.errorOutput)")
        }
    }

    @Test(arguments: [[], ["--only", "refused"], ["--only", "verified"]])
    func `a file with verdicts on more lines than the input has is refused`(only: [String]) throws {
        let text = try folder.write("lines", "x\n\(receipt)\nx\n\(receipt)\n")
        let options = ["batch", "--root", root] + only
        let file = try folder.write("verdicts", run(options + [text]).output)
        for other in ["x\n", "x\n\(receipt)", ""] {
            let result = run(options + ["--continue", file, try folder.write("other", other)])
            #expect(result.status == 2 && result.errorOutput.contains("they are on another input"))
        }
        // The last line need not end with a line feed.
        #expect(
            run(options + ["--continue", file, try folder.write("other", "x\n\(receipt)\nx\n\(receipt)")]).status < 2)
    }

    @Test func `refused lines need not fail the work, and what cannot be read does`() throws {
        #expect(try batch("\(receipt)\nx\n", "--allow-refused").status == 0)
        #expect(run("batch", "--root", root, "--allow-refused", "/no/such/file").status == 2)
        #expect(run("batch", "--root", root, "--allow-refused", "/").status == 2)
    }

    @Test func `signed lines that cannot be read or checked are refused, and the work goes on`() throws {
        let ellipticRoot = try folder.write("jws-root.der", Minted.ellipticAuthority.root.certificate)
        let lines = try [
            Minted.jws(.realtimeRequest(productID: "pro", originalTransactionID: "1")),
            Minted.jws(payload: #"{"transactionId":"1","transactionId":"2","signedDate":1735689600000}"#),
            Minted.jws(payload: #"{"transactionId":"1","quantity":9223372036854775808,"signedDate":1735689600000}"#),
            receipt,
        ]
        let result = try batch(
            lines.joined(separator: "\n"), "--root", ellipticRoot, "--bundle-id", "com.example.app", "--allow-refused")
        #expect(try codes(result) == ["no-app-apple-id", "duplicate-member", "number-out-of-range", nil])
        #expect(result.status == 0)
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
                    receipt: not checked: bundle id (--bundle-id), environment (--environment)

                    """)
        }
        let empty = try batch("", "--summary")
        #expect(empty.status == 0 && empty.errorOutput.hasPrefix("receipt: 0 lines: 0 verified, 0 refused\n"))
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
