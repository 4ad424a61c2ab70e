package import AppStoreReceipt
package import HTTPService
import LibcryptoHandles
import PurchaseLedger

/// `receipt-server import FILE`: what existed before the ledger, from JSON lines or CSV.
package struct LedgerImport {
    package static let options: [OptionTable.Option] =
        LedgerService.options.filter { ["--ledger", "--product-id", "--orders"].contains($0.name) } + [
            .init(
                "--dry-run", "",
                "Change nothing, and count what would be imported and what contradicts the ledger or the file itself.")
        ]

    /// Faults and conflicts that are written one by one; the others are counted.
    private static let maximumToldCount = 1000

    private let path: String
    private let file: OpenFile
    private let identity: String
    private let ledger: PurchaseLedger
    /// With `--dry-run`: an empty ledger that takes the lines, and finds those that contradict each other.
    private let trial: TrialLedger?
    private let verifier: AppStoreVerifier
    private let print: (String, _ isError: Bool) -> Void
    private var toldCount = 0

    package init(
        _ path: String, _ values: OptionTable.Values, _ verifier: AppStoreVerifier,
        _ productTypes: [String: StatedProductType], print: @escaping (String, _ isError: Bool) -> Void
    ) throws(ConfigurationError) {
        (self.path, self.verifier, self.print) = (path, verifier, print)
        guard let location = values["--ledger"] else { throw ConfigurationError("import needs --ledger") }
        let beginning: [UInt8]
        do throws(SystemError) {
            file = try OpenFile(path)
            // The beginning and the length are enough to recognise a large file.
            beginning = try file.read(1 << 20, at: 0) + Array(" \(file.byteCount)".utf8)
        } catch {
            throw ConfigurationError("\(path): \(error)")
        }
        do throws(LibcryptoError) {
            identity = try DigestAlgorithm.sha256.digest(of: beginning.span).hexadecimal
        } catch {
            throw ConfigurationError("SHA-256: \(error)")
        }
        var policy = LedgerPolicy()
        let products = values.all("--product-id")
        if !products.isEmpty { policy.productIDs = products }
        policy.productTypes = productTypes
        if values["--orders"] != nil { policy.orders = OrderPolicy() }
        do throws(LedgerError) {
            let isDryRun = values["--dry-run"] != nil
            ledger = try PurchaseLedger(location, policy: policy, asItIs: isDryRun)
            trial = try isDryRun ? TrialLedger(policy) : nil
        } catch {
            throw ConfigurationError("--ledger: \(error)", isTemporary: error.code == .storeUnavailable)
        }
        if ledger.wasCreated { print(LedgerService.createdMessage, true) }
    }

    /// Imports the file, from where an earlier import of it was interrupted.
    ///
    /// - Returns: The exit status: 0, or 1 if a line is faulty or contradicts the ledger.
    package mutating func run() throws(ConfigurationError) -> Int32 {
        do {
            let progress = try importLines()
            for (name, count) in [
                ("lines", progress.lineCount), ("added", progress.addedCount), ("known", progress.knownCount),
                ("conflicts", progress.conflictCount), ("faults", progress.faultCount),
            ] { print("\(name) \(count)", false) }
            return progress.conflictCount + progress.faultCount == 0 ? 0 : 1
        } catch let error as LedgerError {
            throw ConfigurationError("\(error); run it again, and it goes on", isTemporary: true)
        } catch {
            throw ConfigurationError("\(path): \(error)")
        }
    }

    private mutating func importLines() throws -> ImportProgress {
        let isTrial = trial != nil
        var progress = ImportProgress()
        var reader = LineReader(file, from: 0)
        var columns: [ImportRecord.Column]?
        // A file of CSV has no brace before its first comma.
        let beginning = try file.read(4096, at: 0)
        let isCSV = beginning.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") } != UInt8(ascii: "{")
        if isCSV, let first = try reader.next() {
            do throws(ImportRecord.Fault) {
                columns = try ImportRecord.columns(csv: first)
            } catch {
                throw ConfigurationError("line 1: \(error.message)")
            }
            (progress.byteCount, progress.lineCount) = (reader.offset, 1)
        }
        if !isTrial, let earlier = try ledger.importProgress(of: identity) {
            progress = earlier
            reader = LineReader(file, from: earlier.byteCount)
            print("continues after line \(earlier.lineCount)", true)
        }
        let start = ContinuousClock.now
        let firstLine = progress.lineCount
        var nextReport = start + .seconds(5)
        var isAtEnd = false
        while !isAtEnd {
            var lines: [(number: Int64, line: ImportedLine)] = []
            while lines.count < ledger.importedTogether {
                guard let line = try reader.next() else {
                    isAtEnd = true
                    break
                }
                progress.lineCount += 1
                if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) { continue }
                do throws(ImportRecord.Fault) {
                    let record =
                        if let columns { try ImportRecord(csv: line, columns) } else { try ImportRecord(json: line) }
                    lines.append((progress.lineCount, try record.line(verifier)))
                } catch {
                    progress.faultCount += 1
                    tell(progress.lineCount, error.message)
                }
            }
            progress.byteCount = reader.offset
            let outcomes = try importTogether(lines.map(\.line), &progress)
            for (line, outcome) in zip(lines, outcomes) {
                if case .conflict(let code) = outcome { tell(line.number, "conflict: \(code)") }
            }
            if ContinuousClock.now >= nextReport {
                nextReport = ContinuousClock.now + .seconds(5)
                let rate = Double(progress.lineCount - firstLine) / ((ContinuousClock.now - start) / .seconds(1))
                let percent = file.byteCount == 0 ? 100 : progress.byteCount * 100 / file.byteCount
                print("\(percent) %, line \(progress.lineCount), \(Int(rate)) a second", true)
            }
        }
        if !isTrial { try ledger.endImport(of: identity) }
        return progress
    }

    private func importTogether(
        _ lines: [ImportedLine], _ progress: inout ImportProgress
    ) throws(LedgerError) -> [ImportedLine.Outcome] {
        guard let trial else { return try ledger.import(lines, of: identity, &progress) }
        // What the ledger says comes before what the lines say to each other.
        let known = try ledger.check(lines)
        var among = ImportProgress()
        let outcomes = zip(known, try trial.ledger.import(lines, of: identity, &among)).map { first, second in
            if case .added = first { second } else { first }
        }
        for outcome in outcomes {
            switch outcome {
            case .added: progress.addedCount += 1
            case .known: progress.knownCount += 1
            case .conflict: progress.conflictCount += 1
            }
        }
        return outcomes
    }

    private mutating func tell(_ line: Int64, _ message: String) {
        toldCount += 1
        if toldCount <= Self.maximumToldCount { print("line \(line): \(message)", true) }
        if toldCount == Self.maximumToldCount { print("further lines are counted only", true) }
    }
}
