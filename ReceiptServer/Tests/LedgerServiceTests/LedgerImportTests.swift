import AppStoreReceipt
import Foundation
import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// Minted once: keys take time.
private let minted = Result { try MintedEvidence() }

/// `receipt-server import FILE`
struct LedgerImportTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
    private let evidence: MintedEvidence

    init() throws {
        evidence = try minted.get()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        _ = try PurchaseLedger(creating: location)
    }

    private var location: String { folder.appending(path: "ledger.db").path }

    private func write(_ text: String) throws -> String { try write(Array(text.utf8)) }

    private func write(_ bytes: [UInt8]) throws -> String {
        let file = folder.appending(path: "lines").path
        try Data(bytes).write(to: URL(filePath: file))
        return file
    }

    /// Returns the exit status, what was printed, and what was written as errors.
    ///
    /// - Parameter together: The maximum batch size.
    private func run(
        _ file: String, _ options: [String] = [], together: Int? = nil
    ) throws -> (Int32, [String], [String]) {
        let values = try OptionTable(LedgerImport.options).read(["--ledger", location, "--orders"] + options) { _ in nil
        }
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production], trust: evidence.trust)
        let (output, errors) = (Guarded<[String]>([]), Guarded<[String]>([]))
        var work = try LedgerImport(file, values, verifier, [:]) { text, isError in
            (isError ? errors : output).withLock { $0.append(text) }
        }
        if let together { work.linesTogether = together }
        let status = try work.run()
        return (status, output.withLock { $0 }, errors.withLock { $0 })
    }

    private func rows(_ table: String) throws -> [String] {
        try PurchaseLedger(location).store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT account FROM \(table) ORDER BY 1").map { (row) throws(LedgerError) in
                try row.text(0)
            }
        }
    }

    private static let token = "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"

    @Test(arguments: [false, true])
    func `tokens, transactions and receipts are imported from both formats`(isCSV: Bool) throws {
        let coins = try evidence.coins(7)
        let text =
            isCSV
            ? """
            account,token,transaction_id,product_id,quantity,date,evidence
            anna,\(Self.token),,,,,
            "b""e,n",,11,coins,3,2024-05-01,
            carl,,,,,,\(coins)

            """
            : """
            {"account":"anna","token":"\(Self.token.uppercased())"}
            {"account":"b\\"e,n","transaction_id":"11","product_id":"coins","quantity":3,"date":1714521600000}

            {"account":"carl","evidence":"\(coins)","token":null}
            """
        let file = try write(text)
        let count = 4
        // Nothing changes, and the same is counted.
        let trial = try run(file, ["--dry-run"])
        #expect(trial.0 == 0 && trial.1 == ["lines \(count)", "added 3", "known 0", "conflicts 0", "faults 0"])
        #expect(try rows("grants").isEmpty && rows("account_tokens").isEmpty)
        #expect(try run(file).1 == trial.1)
        #expect(try rows("grants") == [#"b"e,n"#, "carl"] && rows("account_tokens") == ["anna"])
        #expect(try rows("outbox").isEmpty)
        let again = try run(file)
        #expect(again.0 == 0 && again.1 == ["lines \(count)", "added 0", "known 3", "conflicts 0", "faults 0"])
    }

    @Test(arguments: [
        (#"{"account":"anna"}"#, "one of 'token', 'transaction_id' and 'evidence' is required"),
        (#"{"token":"TOKEN"}"#, "'account' is missing"),
        (#"{"account":"","token":"TOKEN"}"#, "'account' must have 1 to 255 bytes"),
        (#"{"account":"anna","token":"7"}"#, "'token' must be a UUID"),
        (#"{"account":"anna","token":7}"#, "'token' must be a string"),
        (#"{"account":"anna","tokens":"TOKEN"}"#, "an unknown name"),
        (#"{"account":"anna","token":"TOKEN""#, "not a JSON object"),
        (#"{"account":"anna","evidence":"x"}"#, "'evidence' is refused: "),
        (#"{"account":"anna","transaction_id":"1","product_id":"p"}"#, "'date' is missing"),
        (#"{"account":"anna","transaction_id":"1","product_id":"p","date":"soon"}"#, "'date' must be"),
        (
            #"{"account":"anna","transaction_id":"1","product_id":"p","date":1749945600}"#,
            "milliseconds since 1970, not seconds"
        ),
        (#"{"account":"anna","transaction_id":"1","product_id":"p","date":1,"quantity":0}"#, "'quantity' must be"),
        (
            #"{"account":"anna","transaction_id":"1","product_id":"p","date":1,"environment":"sandbox"}"#,
            "is none of --bundle-id and --environment"
        ),
        (
            #"{"account":"anna","transaction_id":"1","product_id":"p","date":1,"bundle_id":"com.example.other"}"#,
            "is none of --bundle-id and --environment"
        ),
        (#"{"account":"ben","account":"anna","token":"TOKEN"}"#, "not a JSON object"),
        (
            #"{"account":"anna","token":"TOKEN","transaction_id":"1","product_id":"p","date":1}"#,
            "exactly one of 'token', 'transaction_id' and 'evidence' is required"
        ),
    ])
    func `a faulty line is named, and the others are imported`(line: String, message: String) throws {
        let good = #"{"account":"ben","token":"00000000-0000-4000-8000-000000000001"}"#
        let file = try write("\(line.replacingOccurrences(of: "TOKEN", with: Self.token))\n\(good)\n")
        let (status, output, errors) = try run(file)
        #expect(status == 1 && output == ["lines 2", "added 1", "known 0", "conflicts 0", "faults 1"])
        #expect(errors.count == 1 && errors[0].hasPrefix("line 1: ") && errors[0].contains(message), "\(errors)")
        #expect(try rows("account_tokens") == ["ben"] && rows("grants").isEmpty)
    }

    @Test(arguments: [
        ("anna,TOKEN,ben", "3 fields; the first line has 2"), ("anna", "1 fields; the first line has 2"),
        (#"an"na,TOKEN"#, "a quotation mark within a field"), (#""anna"x,TOKEN"#, "a field goes on after"),
        (#""anna,TOKEN"#, "a quotation mark is not closed"), (",TOKEN", "'account' is missing"),
        ("NULL,TOKEN", "'account' is NULL, which MySQL writes for none"),
        ("\\N,TOKEN", "'account' is \\N, which MySQL"),
    ])
    func `a faulty line of CSV is named, and the others are imported`(line: String, message: String) throws {
        let good = "ben,00000000-0000-4000-8000-000000000001"
        let faulty = line.replacingOccurrences(of: "TOKEN", with: Self.token)
        let (status, output, errors) = try run(write("account,token\n\(faulty)\n\(good)\n"))
        #expect(status == 1 && output == ["lines 3", "added 1", "known 0", "conflicts 0", "faults 1"])
        #expect(errors.count == 1 && errors[0].hasPrefix("line 2: \(message)"), "\(errors)")
        #expect(try rows("account_tokens") == ["ben"])
    }

    /// Lines 2 and later of a file of tokens, their faults, and the accounts that then have tokens.
    private struct Quoted: CustomTestStringConvertible {
        let lines: String
        let faults: [String]
        let accounts: [String]

        var testDescription: String { lines }
    }

    private static let lineBreak = "a line break in 'account'; JSON can have one"

    @Test(arguments: [
        // An account name that tries to take another's line.
        Quoted(
            lines: "\"eve\nanna,T1\nx\",T2\nben,T3",
            faults: ["line 2: \(lineBreak); its quotation marks make lines 2 to 4 one"], accounts: ["ben"]),
        Quoted(
            lines: "\"eve\r\nanna,T1\r\n\"\"\",T2\r\nben,T3\r",
            faults: ["line 2: \(lineBreak); its quotation marks make lines 2 to 4 one"], accounts: ["ben"]),
        // As MySQL escapes it.
        Quoted(
            lines: #""e\"ve\#nanna,T1\#nx",T2\#nben,T3"#,
            faults: ["line 2: a field goes on after its quotation mark; its quotation marks make lines 2 to 4 one"],
            accounts: ["ben"]),
        // A name that ends with a backslash.
        Quoted(lines: #""eve\",T1\#nanna,T2"#, faults: [], accounts: ["anna", "eve\\"]),
        // The closing mark would be before a name.
        Quoted(
            lines: "\"eve,T1\nanna,T2\n\"ben\",T3",
            faults: ["line 2: a quotation mark is not closed, before 'account'"], accounts: ["anna", "ben"]),
        Quoted(
            lines: "eve,\"T1\nanna,T2\nben,T3\n",
            faults: ["line 2: a quotation mark is not closed, before 'token'"], accounts: ["anna", "ben"]),
        Quoted(
            lines: "\"eve,T1\n\"carl,T2\nben,T3",
            faults: [2, 3].map { "line \($0): a quotation mark is not closed, before 'account'" }, accounts: ["ben"]),
        Quoted(
            lines: "anna,T1,\"x\ny\"\nben,T3",
            faults: ["line 2: 3 fields; the first line has 2; its quotation marks make lines 2 to 3 one"],
            accounts: ["ben"]),
        Quoted(lines: "eve,\"", faults: ["line 2: a quotation mark is not closed, before 'token'"], accounts: []),
    ])
    private func `a field of several lines is one, and a quotation mark that is not closed takes no other line`(
        _ quoted: Quoted
    ) throws {
        var text = "account,token\n" + quoted.lines
        for number in 1...3 {
            text = text.replacingOccurrences(of: "T\(number)", with: "00000000-0000-4000-8000-00000000000\(number)")
        }
        let file = try write(text)
        let count = quoted.lines.utf8.split(separator: UInt8(ascii: "\n")).count + 1
        for (together, options) in [(nil, ["--dry-run"]), (1, []), (nil, [])] as [(Int?, [String])] {
            let (status, output, errors) = try run(file, options, together: together)
            #expect(errors == quoted.faults)
            #expect(status == (quoted.faults.isEmpty ? 0 : 1) && output[0] == "lines \(count)", "\(output)")
        }
        #expect(try rows("account_tokens") == quoted.accounts)
    }

    @Test func `evidence may have line breaks, as databases wrap base64`() throws {
        let receipt = Data(try evidence.receipt(purchaseCount: 2)).base64EncodedString(
            options: [.lineLength76Characters, .endLineWithLineFeed])
        let file = try write("evidence,account\n\"\(receipt)\",anna\n\"\(receipt)\",ben\n")
        let count = receipt.split(separator: "\n").count
        for together in [1, nil] {
            let (status, output, errors) = try run(file, together: together)
            #expect(status == 1 && output.first == "lines \(2 * count + 1)", "\(output)")
            #expect(errors == ["line \(count + 2): conflict: belongs-to-another"])
        }
        #expect(try Set(rows("grants")) == ["anna"])
    }

    /// Each of these could make a reader look for the other mark through the whole file.
    @Test(
        .enabled(if: Sampling.runsSlowTests),
        arguments: ["\"x", "x,\"\"\"y", "\"\"\"", "\"x\\\"", "\\\"y", "x,\"\\\"\"\""])
    func `quotation marks that are not closed take linear time`(line: String) throws {
        func seconds(_ count: Int) throws -> Duration {
            let file = try write("account,token\n" + String(repeating: line + "\n", count: count))
            let start = ContinuousClock.now
            #expect(try run(file, ["--dry-run"]).0 == 1)
            return ContinuousClock.now - start
        }
        #expect(try seconds(40_000) < .seconds(60))
    }

    @Test(arguments: ["accountt,token", "account,account", "\"account"])
    func `a file of CSV whose first line names no columns is refused`(header: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try run(write(header + "\nanna,x\n")) }
        #expect(error?.description.contains("line 1: ") == true)
    }

    @Test func `lines that contradict each other or the ledger are counted beforehand`() throws {
        let lines = ["anna", "ben"].map { #"{"account":"\#($0)","token":"\#(Self.token)"}"# }
        let file = try write(lines.joined(separator: "\n"))
        for (options, first) in [
            (["--dry-run"], ["added 1", "known 0"]), ([], ["added 1", "known 0"]),
            (["--dry-run"], ["added 0", "known 1"]),
        ] {
            let (status, output, errors) = try run(file, options)
            #expect(status == 1 && output == ["lines 2"] + first + ["conflicts 1", "faults 0"])
            #expect(errors == ["line 2: conflict: token-taken"])
        }
    }

    @Test(arguments: [[], ["--dry-run"]]) func `an import makes no ledger`(_ options: [String]) throws {
        try FileManager.default.removeItem(atPath: location)
        let file = try write(#"{"account":"anna","token":"\#(Self.token)"}"#)
        let error = #expect(throws: ConfigurationError.self) { try run(file, options) }
        #expect(error?.description.hasPrefix("--ledger: no-ledger: ") == true)
        #expect(error?.isTemporary == false)
        #expect(!FileManager.default.fileExists(atPath: location))
    }

    /// Of each form, one in a column that needs an id, and in one that may have one.
    @Test(
        arguments: [
            "3.4E+14", "340000000000002.0", "3,4E14", "340 000 000 000 002", "340,000,000,000,010", "0340000000000002",
            "0",
            "-1", "+1", "GPA.3345-1234-5678-90123", "null", "undefined", "NULL", "\\N", "nil", "None", "NaN", "", "１２３",
            "12345678901234567890", "0x1F", "support-1", "assigned-1-2", "340000000000002;", "'340000000000002",
        ])
    func `an id that Apple cannot have given is a fault`(id: String) throws {
        func line(_ members: String) -> String {
            #"{"account":"anna",\#(members),"product_id":"p","date":"2025-06-15"}"#
        }
        let text = String(decoding: try JSONEncoder().encode(id), as: UTF8.self)
        let file = try write(
            [
                line(#""transaction_id":\#(text)"#), line(#""transaction_id":"1","original_transaction_id":\#(text)"#),
                line(#""transaction_id":"2","original_transaction_id":"1""#),
            ].joined(separator: "\n"))
        for options in [["--dry-run"], []] {
            let (status, output, errors) = try run(file, options)
            #expect(status == 1 && output == ["lines 3", "added 1", "known 0", "conflicts 0", "faults 2"])
            #expect(errors.count == 2 && errors[0].hasPrefix("line 1: 'transaction_id'"), "\(errors)")
            #expect(errors.last?.hasPrefix("line 2: 'original_transaction_id' must be 1 to 19 digits") == true)
        }
        #expect(try rows("grants") == ["anna"])
    }

    @Test func `white space around a field is removed and counted, but not around an account`() throws {
        let file = try write(
            "account;transaction_id ; product_id;quantity;date\n anna; 1\u{A0};\tcoins;3;2025-06-15\nben;2;coins;1;2025-06-15\n"
        )
        #expect(
            try run(file).1 == ["lines 3", "added 2", "known 0", "conflicts 0", "faults 0", "trimmed 2"])
        #expect(try rows("grants") == [" anna", "ben"])
    }

    /// What spreadsheets and databases write.
    @Test(arguments: [
        "\u{FEFF}account,transaction_id,product_id,date\r\nanna,1,coins,2025-06-15\r\n",
        "account;transaction_id;product_id;date\nanna;1;coins;2025-06-15",
        "account\ttransaction_id\tproduct_id\tdate\nanna\t1\tcoins\t2025-06-15",
        "\u{FEFF}{\"account\":\"anna\",\"transaction_id\":\"1\",\"product_id\":\"coins\",\"date\":\"2025-06-15\"}",
    ])
    func `a file is read as it is`(text: String) throws {
        #expect(try run(write(text)).0 == 0)
        #expect(try rows("grants") == ["anna"])
    }

    @Test func `a file that is not UTF-8 is a fault that says what to do`() throws {
        let header = "account,transaction_id,product_id,date\n"
        // A name in GBK, and one in UTF-8.
        let gbk =
            Array(header.utf8) + [0xB0, 0xB2, 0xC4, 0xC8] + Array(",1,coins,2025-06-15\n安娜,2,coins,2025-06-15\n".utf8)
        let (status, output, errors) = try run(write(gbk))
        #expect(status == 1 && output == ["lines 3", "added 1", "known 0", "conflicts 0", "faults 1"])
        #expect(errors == ["line 2: not UTF-8: save as CSV UTF-8"])
        #expect(try rows("grants") == ["安娜"])
        for mark in [0xFEFF, nil] as [UInt16?] {
            let units = [mark].compactMap(\.self) + Array(header.utf16)
            for bytes in [
                units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] },
                units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] },
            ] {
                let error = #expect(throws: ConfigurationError.self) { try run(write(bytes)) }
                #expect(error?.description == "line 1: not UTF-8: save as CSV UTF-8")
            }
        }
        // Shift JIS, Latin 1, and UTF-8 of surrogates, as Java and old MySQL write them.
        for name in [[0x88, 0xC0], [0x4D, 0xFC, 0x6C], [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]] as [[UInt8]] {
            let json = Array(#"{"account":""#.utf8) + name + Array(#"","token":"\#(Self.token)"}"#.utf8)
            for bytes in [Array(header.utf8) + name + Array(",3,coins,2025-06-15\n".utf8), json] {
                let (status, _, errors) = try run(write(bytes))
                #expect(status == 1 && errors.count == 1 && errors[0].contains("not UTF-8"), "\(errors)")
            }
        }
    }

    @Test(arguments: [
        ("12345", "12345"), ("90071992547409931234", "90071992547409931234"), ("-7", "-7"), ("1e5", nil), ("1.0", nil),
        ("true", nil), (#""1e5""#, "1e5"),
    ])
    func `an account is an integer as it is written, or a string`(json: String, account: String?) throws {
        let (status, _, errors) = try run(write(#"{"account":\#(json),"token":"\#(Self.token)"}"#))
        #expect(status == (account == nil ? 1 : 0) && errors.allSatisfy { $0.hasPrefix("line 1: 'account' must be") })
        #expect(try rows("account_tokens") == [account].compactMap(\.self))
    }

    @Test(
        arguments: [
            ("2025-06-15 12:00:00", "Asia/Shanghai", 1_749_960_000_000, ""),
            ("2025-06-15 12:00:00.123456", "UTC", 1_749_988_800_123, ""),
            ("2025-06-15 12:00:00", nil, nil, "'date' has no time zone: name it by --time-zone"),
            // In Berlin, the first of two; and one that no clock showed.
            ("2025-10-26 02:30:00", "Europe/Berlin", 1_761_438_600_000, ""),
            ("2025-03-30 02:30:00", "Europe/Berlin", nil, "'date' is a time that no clock shows in Europe/Berlin"),
            ("0000-00-00 00:00:00", "UTC", nil, "'date' must be a date such as"),
            ("2025-06-15T12:00:00Z", "Asia/Shanghai", 1_749_988_800_000, ""),
            ("1749988800000", "UTC", 1_749_988_800_000, ""),
            ("1749988800000000", nil, nil, "'date' is in the future; a number is milliseconds since 1970, not micro"),
            ("1749988800000000000", nil, nil, "'date' is in the future; a number is milliseconds"),
            ("2199-01-01", nil, nil, "'date' is in the future"),
            ("15.06.2025", nil, nil, "'date' must be a date such as"),
        ] as [(String, String?, Int64?, String)])
    func `a date is read as MySQL writes it`(text: String, zone: String?, milliseconds: Int64?, fault: String) throws {
        let file = try write("account,transaction_id,product_id,date\nanna,1,coins,\(text)\n")
        let (_, _, errors) = try run(file, zone.map { ["--time-zone", $0] } ?? [])
        #expect(
            errors.isEmpty == (milliseconds != nil) && errors.allSatisfy { $0.hasPrefix("line 2: \(fault)") },
            "\(errors)")
        let dates = try PurchaseLedger(location).store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT granted_at FROM grants").map { (row) throws(LedgerError) in try row.integer(0) }
        }
        #expect(dates == [milliseconds].compactMap(\.self))
    }

    @Test func `a time zone that the system does not have is refused`() throws {
        let file = try write("account,token\n")
        let error = #expect(throws: ConfigurationError.self) { try run(file, ["--time-zone", "Asia/Beijing"]) }
        #expect(error?.description == "--time-zone: the system has no time zone 'Asia/Beijing'")
    }

    @Test func `what is no file of lines is refused by its name`() throws {
        let pipe = folder.appending(path: "pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        // Otherwise, opening would wait for a writer.
        let other = open(pipe, O_RDWR)
        defer { close(other) }
        for path in [pipe, folder.path] {
            let error = #expect(throws: ConfigurationError.self) { try run(path) }
            #expect(error?.description.hasPrefix("\(path): not a file") == true)
        }
        let error = #expect(throws: ConfigurationError.self) { try run(write(#"[{"account":"anna"}]"#)) }
        #expect(error?.description.hasPrefix("line 1: an array; write one JSON object in each line") == true)
    }

    /// A shop that makes a token for each order.
    @Test func `a trial copies the tokens of an account once`() throws {
        let ledger = try PurchaseLedger(location)
        try ledger.store.write { (connection) throws(LedgerError) in
            for _ in 0..<9_990 {
                try connection.write(
                    "INSERT INTO account_tokens VALUES ($1, 'anna', 'stored', 0, NULL)",
                    [.text(AppAccountToken.random().description)])
            }
        }
        let lines = (1...300).map { #"{"account":"anna","token":"00000000-0000-4000-8000-\#(100_000_000_000 + $0)"}"# }
        let file = try write(lines.joined(separator: "\n"))
        let start = ContinuousClock.now
        let (status, output, errors) = try run(file, ["--dry-run"], together: 1)
        #expect(status == 1 && output == ["lines 300", "added 10", "known 0", "conflicts 290", "faults 0"])
        #expect(errors.contains("line 11: conflict: too-many-tokens"))
        // 300 times would take a minute.
        #expect(ContinuousClock.now - start < .seconds(20))
        let again = try run(file, together: 1)
        // A slow import also reports progress.
        func reported(_ errors: [String]) -> [String] { errors.filter { $0.hasPrefix("line ") } }
        #expect(again.1 == output && reported(again.2) == reported(errors))
    }

    @Test func `an unknown column is named`() throws {
        let error = #expect(throws: ConfigurationError.self) { try run(write("account,tokens\n")) }
        #expect(error?.description.hasPrefix("line 1: an unknown name, 'tokens'; there are 'account'") == true)
        let (_, _, errors) = try run(write(#"{"account":"anna","tok\u0065ns":"1"}"#))
        #expect(errors[0].hasPrefix("line 1: an unknown name, 'tokens'; there are"))
    }

    @Test func `a line that contradicts one before it says what differs`() throws {
        func line(_ product: String, _ quantity: Int, _ day: Int) -> String {
            #"{"account":"anna","transaction_id":"340000000000001","product_id":"\#(product)","quantity":\#(quantity),"date":"2025-06-\#(day)"}"#
        }
        let file = try write([line("coins", 1, 15), line("gems", 5, 16), line("coins", 3, 15)].joined(separator: "\n"))
        let differences = [
            "line 2: conflict: product_id: the line has 'gems', the ledger 'coins'",
            "line 2: note: date: the line has 2025-06-16T00:00:00Z, the ledger 2025-06-15T00:00:00Z",
            "line 3: conflict: quantity: the line has 3, the ledger 1",
        ]
        for (options, first) in [
            (["--dry-run"], ["added 1", "known 0"]), ([], ["added 1", "known 0"]), ([], ["added 0", "known 1"]),
        ] {
            let (status, output, errors) = try run(file, options)
            #expect(status == 1 && output == ["lines 3"] + first + ["conflicts 2", "faults 0", "notes 1"])
            #expect(errors == differences, "\(errors)")
        }
    }

    // MARK: Runs

    private func runs() throws -> [[String: Any]] {
        let values = try OptionTable(LedgerImport.options).read(["--ledger", location, "--runs"]) { _ in nil }
        let lines = Guarded<[String]>([])
        try LedgerImport.listRuns(values) { text, _ in lines.withLock { $0.append(text) } }
        return try lines.withLock(\.self).map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    @Test func `an import is listed with who, why, its file and its counts`() throws {
        let file = try write("account,token\nanna,\(Self.token)\nben,x\n")
        _ = try run(file, ["--by", "安娜", "--reason", "move"])
        _ = try run(file)
        let found = try runs()
        #expect(found.map { $0["by"] as? String } == [System.loginName, "安娜"])
        let first = try #require(found.last)
        #expect(first["reason"] as? String == "move" && first["state"] as? String == "complete")
        #expect((first["digest"] as? String)?.count == 64 && (first["path"] as? String)?.hasSuffix("/lines") == true)
        #expect(["lines", "added", "known", "conflicts", "faults"].map { first[$0] as? Int } == [3, 1, 0, 0, 1])
        #expect(found[0]["reason"] is NSNull && found[0]["added"] as? Int == 0)
    }

    private static func tokenLines(_ count: Int) -> [String] {
        (1...count).map { number in
            let digits = String(number)
            let token = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
            return #"{"account":"user \#(1_000_000 + number)","token":"\#(token)"}"#
        }
    }

    /// Begins an import in a process of its own, which is killed when it has recorded a part.
    private func kill(_ file: String, by signal: Int32) throws -> Int32 {
        let process = try ChildProcess(
            [
                ServerProcess.executable.path, "import", file, "--ledger", location, "--orders", "--bundle-id",
                MintedEvidence.bundleID,
            ])
        let ledger = try PurchaseLedger(location)
        try wait { try ledger.unfinishedImports().contains { $0.progress.lineCount > 0 } }
        process.signal(signal)
        return process.wait()
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `an interrupted import goes on only with what it has read`() throws {
        var lines = Self.tokenLines(40_000)
        let file = try write(lines.joined(separator: "\n"))
        _ = try kill(file, by: SIGKILL)
        #expect(try runs().map { $0["state"] as? String } == ["unfinished"])
        // Another time zone would give the other lines other dates.
        let zoned = #expect(throws: ConfigurationError.self) { try run(file, ["--time-zone", "UTC"]) }
        #expect(zoned?.description.hasPrefix("file-changed: ") == true)
        // Corrected, with the same length.
        let corrected = lines[0].replacingOccurrences(of: "user 1000001", with: "user 9000001")
        #expect(corrected != lines[0])
        lines[0] = corrected
        _ = try write(lines.joined(separator: "\n"))
        let error = #expect(throws: ConfigurationError.self) { try run(file) }
        #expect(error?.description.hasPrefix("file-changed: ") == true && error?.isTemporary == false)
        // Another file is imported meanwhile.
        let other = folder.appending(path: "other").path
        try #"{"account":"zoe","token":"\#(Self.token)"}"#.write(toFile: other, atomically: true, encoding: .utf8)
        #expect(try run(other).0 == 0)
        let (status, output, errors) = try run(file, ["--restart"])
        // The token was user 1000001's before.
        #expect(status == 1 && output.contains("conflicts 1") && errors.contains("line 1: conflict: token-taken"))
        #expect(try rows("account_tokens").count == 40_001)
        #expect(try runs().map { $0["state"] as? String } == ["complete", "complete", "restarted"])
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `an interrupted import goes on although what it has not read has changed`() throws {
        var lines = Self.tokenLines(40_000)
        let file = try write(lines.joined(separator: "\n"))
        _ = try kill(file, by: SIGKILL)
        lines[39_999] = "{}"
        _ = try write(lines.joined(separator: "\n"))
        let (status, output, errors) = try run(file)
        #expect(status == 1 && output == ["lines 40000", "added 39999", "known 0", "conflicts 0", "faults 1"])
        #expect(errors.first?.hasPrefix("continues after line ") == true)
        #expect(try runs().count == 1)
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: [SIGINT, SIGTERM, SIGHUP])
    func `an import that a signal ends leaves a complete file`(signal: Int32) throws {
        let file = try write(Self.tokenLines(200_000).joined(separator: "\n"))
        // Nobody else has the ledger open.
        let process = try ChildProcess(
            [
                ServerProcess.executable.path, "import", file, "--ledger", location, "--orders", "--bundle-id",
                MintedEvidence.bundleID,
            ])
        try wait {
            (try? FileManager.default.attributesOfItem(atPath: location + "-wal")[.size] as? Int) ?? 0 >= 1 << 20
        }
        process.signal(signal)
        #expect(process.wait() & 0x7F == signal)
        let copy = folder.appending(path: "copy.db").path
        try FileManager.default.copyItem(atPath: location, toPath: copy)
        let run = try #require(try PurchaseLedger(copy).unfinishedImports().first)
        let count = try PurchaseLedger(copy).store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT COUNT(*) FROM account_tokens")[0].integer(0)
        }
        #expect(count > 0 && run.progress.addedCount == count)
        #expect(!FileManager.default.fileExists(atPath: location + "-import"))
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `a slow reader of the output keeps nobody from the ledger, and gets all of it after kill -9`() throws {
        let count = 10_000
        let lines = (1...count).map { #"{"account":"user \#($0)","token":"\#(Self.token)"}"# }
        let file = try write(lines.joined(separator: "\n"))
        // A batch's report doesn't fit into a pipe.
        let process = try ChildProcess(
            [
                "/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", ServerProcess.executable.path, "import", file, "--ledger",
                location, "--orders", "--bundle-id", MintedEvidence.bundleID,
            ])
        let ledger = try PurchaseLedger(location)
        // It waits if it makes no progress for a second.
        var (lineCount, last): (Int64, Int64) = (0, -1)
        try wait {
            usleep(1_000_000)
            last = lineCount
            lineCount = try ledger.unfinishedImports().first?.progress.lineCount ?? 0
            return lineCount > 0 && lineCount == last
        }
        try #require(lineCount < count)
        _ = try ledger.token(for: "zoe")
        process.signal(SIGKILL)
        var reported = Set(process.readAll().split(separator: "\n").dropLast().map(String.init))
        process.wait()
        #expect(reported.count < lineCount - 1)
        let (status, output, errors) = try run(file)
        #expect(status == 1 && output.contains("conflicts \(count - 1)") && output.contains("lines \(count)"))
        #expect(errors.first == "continues after line \(lineCount)")
        reported.formUnion(errors)
        #expect(
            reported.filter { $0.hasPrefix("line ") } == Set((2...count).map { "line \($0): conflict: token-taken" }))
        // Printed reports are not kept.
        let kept = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT untold FROM imports").map { (row) throws(LedgerError) in try row.text(0) }
        }
        #expect(kept == [""])
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `an import whose log cannot be moved into the file says so`() throws {
        let file = try write("account,token\nanna,\(Self.token)\n")
        // Somebody reads for longer than SQLite waits.
        let (status, output, errors) = try PurchaseLedger(location).store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT 1 FROM grants")
            return Result { try run(file) }
        }.get()
        #expect(status == 1 && output == ["lines 2", "added 1", "known 0", "conflicts 0", "faults 0"])
        #expect(errors.count == 1 && errors[0].hasPrefix("a copy of the ledger's file alone lacks"), "\(errors)")
        #expect(try run(file).0 == 0)
    }

    @Test func `two imports do not run at once`() throws {
        let file = try write("account,token\nanna,\(Self.token)\n")
        let lock = try PurchaseLedger(location).lockImports()
        let error = #expect(throws: ConfigurationError.self) { try run(file) }
        #expect(error?.description.hasPrefix("import-running: ") == true && error?.isTemporary == true)
        // A trial changes nothing.
        #expect(try run(file, ["--dry-run"]).0 == 0)
        withExtendedLifetime(lock) {}
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `an import that was killed goes on where it was`() throws {
        let count = 40_000
        let file = try write(Self.tokenLines(count).joined(separator: "\n"))
        _ = try kill(file, by: SIGKILL)
        let (status, output, errors) = try run(file)
        #expect(errors.first?.hasPrefix("continues after line ") == true)
        #expect(status == 0 && output == ["lines \(count)", "added \(count)", "known 0", "conflicts 0", "faults 0"])
        #expect(try rows("account_tokens").count == count)
        #expect(try runs().map { $0["added"] as? Int } == [count])
    }
}
