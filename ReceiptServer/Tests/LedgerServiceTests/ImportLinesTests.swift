import Foundation
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing
import TrialSupport

/// Many lines, one in a hundred wrong, in an import that is killed in the middle.
@Suite(.serialized) struct ImportLinesTests {
    /// Writes lines, and remembers their expected reports.
    private struct Lines {
        private(set) var bytes: [UInt8] = Array(
            "account,token,transaction_id,original_transaction_id,product_id,quantity,date\n".utf8)
        /// The report about a line, by its number.
        private(set) var expected: [Int: String] = [:]
        private(set) var goodCount = 0
        private var generator: SeededGenerator
        private var number = 1
        /// Lines that later ones contradict.
        private var known: [(account: String, id: String, product: String, quantity: Int)] = []

        init(_ count: Int, _ generator: SeededGenerator) {
            self.generator = generator
            // Of each form, one is near the beginning.
            for index in 0..<count {
                if index % 100 == 99 { addWrong(index / 100) } else { addGood(index) }
            }
        }

        private mutating func add(_ line: [UInt8], _ expected: String? = nil) {
            number += 1
            bytes += line + [0x0A]
            if let expected { self.expected[number] = expected } else { goodCount += 1 }
        }

        private mutating func addGood(_ index: Int) {
            if index % 10 == 0 {
                add(Array("user\(index % 7919),\(Self.token(index)),,,,,".utf8))
                return
            }
            let (account, quantity) = ("user\(index % 7919)", Int.random(in: 1...9, using: &generator))
            let id = "\(340_000_000_000_000 + index)"
            if known.count < 50_000 { known.append((account, id, "coins", quantity)) }
            add(Array("\(account),,\(id),,coins,\(quantity),2025-06-15".utf8))
        }

        private static func token(_ number: Int) -> String {
            let digits = String(number)
            return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        }

        private mutating func digits(_ count: Int) -> String {
            "3" + (1..<count).map { _ in String(Int.random(in: 0...9, using: &generator)) }.joined()
        }

        /// The forms of wrong lines.
        private static var ids: [(inout Lines) -> String] {
            [
                { "\($0.digits(1)).\($0.digits(3))E+\($0.digits(1))4" }, { "\($0.digits(15)).00" },
                { "\($0.digits(12))e3" },
                { "\($0.digits(5)) \($0.digits(5))" }, { "\($0.digits(3))'\($0.digits(3))'\($0.digits(3))" },
                { "\($0.digits(3))_\($0.digits(3))" }, { "0\($0.digits(14))" }, { _ in "0" }, { "-\($0.digits(15))" },
                { "+\($0.digits(15))" }, { $0.digits(20) },
                { "GPA.\($0.digits(4))-\($0.digits(4))-\($0.digits(4))-\($0.digits(5))..0" },
                {
                    ["null", "undefined", "NULL", "\\N", "nil", "None", "(null)", "#N/A", "NaN"].randomElement(
                        using: &$0.generator)!
                },
                { "\($0.digits(15))L" }, { "0x\($0.digits(12))" }, { "=\($0.digits(15))" }, { "٣\($0.digits(3))" },
                { "support-\($0.digits(8))" }, { "\u{200B}\($0.digits(15))" },
            ]
        }

        private mutating func addWrong(_ index: Int) {
            let (account, fresh) = ("wrong\(index)", "\(350_000_000_000_000 + index)")
            let earlier = known.randomElement(using: &generator)!
            func line(
                _ id: String, original: String = "", product: String = "coins", quantity: String = "1",
                date: String = "2025-06-15", account: String? = nil
            ) -> [UInt8] {
                Array("\(account ?? "wrong\(index)"),,\(id),\(original),\(product),\(quantity),\(date)".utf8)
            }
            let form = index % (Self.ids.count * 2 + 20)
            if form < Self.ids.count {
                let id = Self.ids[form](&self)
                let isOfSupport = id.hasPrefix("support-")
                return add(
                    line(id),
                    isOfSupport
                        ? "'transaction_id' is none that this ledger has made"
                        : "'transaction_id' must be 1 to 19 digits")
            }
            if form < Self.ids.count * 2 {
                let id = Self.ids[form - Self.ids.count](&self)
                return add(line(fresh, original: id), "'original_transaction_id' must be 1 to 19 digits")
            }
            switch form - Self.ids.count * 2 {
            case 0: add(line(fresh, date: "1749945600"), "'date' is before the App Store opened")
            case 1: add(line(fresh, date: "1749945600000000"), "'date' is in the future; a number is milliseconds")
            case 2: add(line(fresh, date: "1749945600000000000"), "'date' is in the future; a number is milliseconds")
            case 3: add(line(fresh, date: "2099-12-31T00:00:00+08:00"), "'date' is in the future")
            case 4: add(line(fresh, date: "2025-02-30"), "'date' must be")
            case 5: add(line(fresh, date: "2025-06-15 10:00:00"), "'date' has no time zone")
            case 6: add(line(fresh, quantity: "0"), "'quantity' must be a number")
            case 7: add(line(fresh, quantity: "1.0"), "'quantity' must be a number")
            case 8: add(line(fresh, quantity: "+2"), "'quantity' must be a number")
            case 9:
                add(
                    [0xC0, 0xEE, 0xCB, 0xC4] + line(fresh).drop { $0 != UInt8(ascii: ",") },
                    "not UTF-8: save as CSV UTF-8")
            case 10: add(Array("\(account),,\(fresh),,coins,1".utf8), "6 fields; the first line has 7")
            case 11: add(Array("\"\(account),,\(fresh),,coins,1,2025-06-15".utf8), "a quotation mark is not closed")
            case 12: add(Array(",,\(fresh),,coins,1,2025-06-15".utf8), "'account' is missing")
            case 13: add(Array("\(account),{\(Self.token(index))},,,,,".utf8), "'token' must be a UUID")
            case 14: add(Array("\(account),\(Self.token(0)),,,,,".utf8), "conflict: token-taken")
            case 15: add(line(earlier.id), "conflict: belongs-to-another")
            case 16:
                add(
                    line(earlier.id, product: "gems", quantity: "\(earlier.quantity)", account: earlier.account),
                    "conflict: product_id: ")
            case 17:
                add(
                    line(earlier.id, quantity: "\(earlier.quantity + 10)", account: earlier.account),
                    "conflict: quantity: ")
            case 18: add(line(fresh, original: earlier.id), "conflict: belongs-to-another")
            default:
                add(
                    Array("3.4E+5,,\(fresh),,coins,1,2025-06-15".utf8),
                    "'account' is a number that a spreadsheet shortened")
            }
        }
    }

    /// The greatest memory of a process so far, in bytes.
    private static func peakMemory(_ process: ChildProcess) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(process.id)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }

    @Test(arguments: [false, true])
    func `each wrong line is reported with its cause, no other is refused, and kill -9 loses nothing`(
        isServer: Bool
    ) throws {
        guard !isServer || PostgreSQLServer.binaries != nil else { return }
        let folder = FileManager.default.temporaryDirectory.appending(path: "import-lines-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let location =
            isServer ? try PostgreSQLServer.shared.get().makeDatabase() : folder.appending(path: "ledger.db").path
        let ledger = try PurchaseLedger(creating: location)
        let count = Sampling.count("import-lines")
        let lines = Lines(count, SeededGenerator())
        let file = folder.appending(path: "lines.csv").path
        try Data(lines.bytes).write(to: URL(filePath: file))
        let reported = folder.appending(path: "reported").path
        func start() throws -> ChildProcess {
            try ChildProcess([
                "/bin/sh", "-c", "exec \"$@\" 2>> '\(reported)'", "sh", ServerProcess.executable.path, "import", file,
                "--ledger", location, "--bundle-id", MintedEvidence.bundleID,
            ])
        }
        let begin = ContinuousClock.now
        let killed = try start()
        // Until it has read a third, or has ended.
        var hasBegun = false
        try wait {
            let lineCount = try ledger.unfinishedImports().first?.progress.lineCount
            hasBegun = hasBegun || lineCount != nil
            return lineCount.map { $0 >= count / 3 } ?? hasBegun
        }
        killed.signal(SIGKILL)
        killed.wait()
        let interrupted = try #require(try ledger.unfinishedImports().first)
        let process = try start()
        var peak = 0
        // Its output ends with it.
        let reader = Guarded<String?>(nil)
        let thread = Thread {
            let text = process.readAll(); reader.withLock { $0 = text }
        }
        thread.start()
        while reader.withLock({ $0 == nil }) {
            peak = max(peak, Self.peakMemory(process))
            usleep(5000)
        }
        #expect(process.wait() >> 8 == 1)
        let seconds = Double((ContinuousClock.now - begin).components.seconds)
        print(
            "\(count) lines on \(isServer ? "PostgreSQL" : "SQLite"): \(Int(seconds)) s, \(peak >> 20) MB, killed after line \(interrupted.progress.lineCount)"
        )
        let conflicts = lines.expected.values.count { $0.hasPrefix("conflict") }
        let text = reader.withLock { $0 } ?? ""
        let output = text.split(separator: "\n")
        #expect(
            output
                == [
                    "lines \(count + 1)", "added \(lines.goodCount)", "known 0", "conflicts \(conflicts)",
                    "faults \(lines.expected.count - conflicts)",
                ].map { Substring($0) })
        // A line can be reported twice, but not left out.
        var found: [Int: String] = [:]
        for line in try String(contentsOfFile: reported, encoding: .utf8).split(separator: "\n")
        where line.hasPrefix("line ") {
            let parts = line.dropFirst(5).split(separator: ":", maxSplits: 1)
            found[try #require(Int(parts[0]))] = String(parts[1].dropFirst())
        }
        #expect(found.keys.sorted() == lines.expected.keys.sorted())
        let wrong = lines.expected.filter { !(found[$0.key] ?? "").hasPrefix($0.value) }
        #expect(wrong.isEmpty, "\(wrong.prefix(3).map { "\($0): \(found[$0.key] ?? "")" })")
        #expect(peak < 200 << 20)
    }
}
