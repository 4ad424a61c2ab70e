import AppStoreReceipt
import Foundation
import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
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
        _ = try PurchaseLedger(location)
    }

    private var location: String { folder.appending(path: "ledger.db").path }

    private func write(_ text: String) throws -> String {
        let file = folder.appending(path: "lines").path
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    /// Returns the exit status, what was printed, and what was written as errors.
    private func run(_ file: String, _ options: [String] = []) throws -> (Int32, [String], [String]) {
        let values = try OptionTable(LedgerImport.options).read(["--ledger", location, "--orders"] + options) { _ in nil
        }
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production], trust: evidence.trust)
        let (output, errors) = (Guarded<[String]>([]), Guarded<[String]>([]))
        var work = try LedgerImport(file, values, verifier, [:]) { text, isError in
            (isError ? errors : output).withLock { $0.append(text) }
        }
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
    ])
    func `a faulty line of CSV is named, and the others are imported`(line: String, message: String) throws {
        let good = "ben,00000000-0000-4000-8000-000000000001"
        let faulty = line.replacingOccurrences(of: "TOKEN", with: Self.token)
        let (status, output, errors) = try run(write("account,token\n\(faulty)\n\(good)\n"))
        #expect(status == 1 && output == ["lines 3", "added 1", "known 0", "conflicts 0", "faults 1"])
        #expect(errors.count == 1 && errors[0].hasPrefix("line 2: \(message)"), "\(errors)")
        #expect(try rows("account_tokens") == ["ben"])
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

    @Test func `a dry run makes no ledger, and an import says that it made one`() throws {
        try FileManager.default.removeItem(atPath: location)
        let file = try write(#"{"account":"anna","token":"\#(Self.token)"}"#)
        let error = #expect(throws: ConfigurationError.self) { try run(file, ["--dry-run"]) }
        #expect(error?.description.hasPrefix("--ledger: not-found: there is no ledger") == true)
        #expect(error?.isTemporary == false)
        #expect(!FileManager.default.fileExists(atPath: location))
        let (status, _, errors) = try run(file)
        #expect(status == 0 && errors == ["a new, empty ledger was created; stop if one existed"])
        #expect(try run(file).2.isEmpty)
    }

    @Test func `an import that was killed goes on where it was`() throws {
        let count = 9000
        let file = try write(
            (1...count).map { number in
                let digits = String(number)
                let token = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
                return #"{"account":"user \#(number)","token":"\#(token)"}"#
            }.joined(separator: "\n"))
        let process = try ChildProcess(
            [
                ServerProcess.executable.path, "import", file, "--ledger", location, "--orders", "--bundle-id",
                MintedEvidence.bundleID,
            ])
        let ledger = try PurchaseLedger(location)
        let end = Date.now.addingTimeInterval(60)
        while try ledger.store.read({ (connection) throws(LedgerError) in
            try connection.run("SELECT 1 FROM imports WHERE lines > 0").isEmpty
        }) {
            try #require(Date.now < end)
            usleep(10_000)
        }
        process.signal(SIGKILL)
        process.wait()
        let (status, output, errors) = try run(file)
        #expect(errors.first?.hasPrefix("continues after line ") == true)
        #expect(status == 0 && output == ["lines \(count)", "added \(count)", "known 0", "conflicts 0", "faults 0"])
        #expect(try rows("account_tokens").count == count)
    }
}
