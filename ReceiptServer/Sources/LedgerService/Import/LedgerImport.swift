@_spi(Surfaces) package import AppStoreReceipt
package import HTTPService
import LibcryptoHandles
import PurchaseLedger
import StrictText

/// The command `receipt-server import FILE`: imports purchases from before the ledger, from JSON lines or CSV.
package struct LedgerImport {
    package static let options: [OptionTable.Option] =
        LedgerService.options.filter { ["--ledger", "--product-id", "--orders"].contains($0.name) } + [
            .init(
                "--dry-run", "",
                "Change nothing, and count what would be imported and what contradicts the ledger or the file itself."),
            .init("--by", "NAME", "Who imports; the name of the login by default. It is recorded."),
            .init("--reason", "TEXT", "Why. It is recorded."),
            .init(
                "--time-zone", "NAME",
                "The time zone of dates without one, as MySQL writes them, such as Asia/Shanghai or UTC."),
            .init(
                "--restart", "",
                "Import the whole file, although an earlier import of it was interrupted and the part that it had read has changed since."
            ),
            .init(
                "--runs", "",
                "List the imports in place of importing a file: an object of JSON a line, the latest first."),
        ]

    /// The size in bytes at which a batch ends, because evidence is large.
    private static let maximumBatchByteCount: Int64 = 4 << 20

    private let path: String
    private let file: OpenFile
    private let ledger: PurchaseLedger
    private let isTrial: Bool
    private let policy: LedgerPolicy
    private let verifier: AppStoreVerifier
    private let dates: ImportDate
    private let by: String
    private let reason: String?
    private let isRestarted: Bool
    /// A digest of the options that affect how a line is read. An import can only be resumed with the same ones.
    private let decidingOptions: String
    private let print: (String, _ isError: Bool) -> Void
    /// The maximum number of lines in a batch. It affects only the speed.
    var linesTogether: Int

    package init(
        _ path: String, _ values: OptionTable.Values, _ verifier: AppStoreVerifier,
        _ productTypes: ProductCatalog, print: @escaping (String, _ isError: Bool) -> Void
    ) throws(ConfigurationError) {
        (self.verifier, self.print) = (verifier, print)
        self.path = System.resolved(path)
        let location = try Self.location(values)
        do throws(SystemError) { file = try OpenFile(path) } catch {
            throw ConfigurationError("\(path): \(error)")
        }
        guard file.isRegular else {
            throw ConfigurationError(
                "\(path): not a file, which an interrupted import reads again: write the lines into one")
        }
        dates = try ImportDate(zone: values["--time-zone"], at: .now)
        by = values["--by"] ?? System.loginName
        reason = values["--reason"]
        for (name, text) in [("--by", by), ("--reason", reason ?? "-")] where !LedgerText.isStorable(text) {
            throw ConfigurationError("\(name) must have 1 to 255 bytes without NUL")
        }
        isRestarted = values["--restart"] != nil
        isTrial = values["--dry-run"] != nil
        var policy = LedgerPolicy()
        let products = values.all("--product-id")
        if !products.isEmpty { policy.productIDs = products }
        policy.productTypes = productTypes
        if values["--orders"] != nil { policy.orders = OrderPolicy() }
        self.policy = policy
        decidingOptions = try Self.digest(of: verifier.policy, policy, values)
        ledger = try Self.open(location, policy, asItIs: isTrial)
        linesTogether = ledger.importBatchSize
    }

    private static func digest(
        of verification: VerificationPolicy, _ policy: LedgerPolicy, _ values: OptionTable.Values
    ) throws(ConfigurationError) -> String {
        func list(_ texts: (some Sequence<String>)?) -> String {
            texts.map { $0.sorted().joined(separator: "\t") } ?? "-"
        }
        let texts = [
            list(verification.bundleIDs), list(verification.environments.map { $0.map(\.rawValue) }),
            "\(verification.requiresStrictForm)", verification.appAppleID ?? "-", values["--time-zone"] ?? "-",
            list(policy.productIDs), list(policy.productTypes.types.map { "\($0)=\($1)" }), "\(policy.orders != nil)",
        ]
        do throws(LibcryptoError) {
            var digest = try DigestStream(.sha256)
            let bytes = Array(texts.joined(separator: "\n").utf8)
            try digest.update(bytes.span)
            return try digest.value().hexadecimal
        } catch {
            throw ConfigurationError("libcrypto computes no SHA-256")
        }
    }

    private static func location(_ values: OptionTable.Values) throws(ConfigurationError) -> String {
        guard let location = values["--ledger"] else { throw ConfigurationError("import needs --ledger") }
        return location
    }

    private static func open(
        _ location: String, _ policy: LedgerPolicy, asItIs: Bool
    ) throws(ConfigurationError) -> PurchaseLedger {
        do throws(LedgerError) {
            return try PurchaseLedger(location, policy: policy, asItIs: asItIs)
        } catch {
            throw ConfigurationError("--ledger: \(error)", isTemporary: error.code == .storeUnavailable)
        }
    }

    /// Prints the imports, latest first.
    package static func listRuns(
        _ values: OptionTable.Values, print: (String, _ isError: Bool) -> Void
    ) throws(ConfigurationError) {
        let ledger = try open(location(values), LedgerPolicy(), asItIs: true)
        do throws(LedgerError) {
            for run in try ledger.importRuns() { print(run.json, false) }
        } catch {
            throw ConfigurationError("\(error)", isTemporary: true)
        }
    }

    /// Imports the file, resuming an earlier import of it that was interrupted. A signal to end takes effect when the
    /// current lines are recorded.
    ///
    /// - Returns: The exit status: 0, or 1 if a line is invalid or contradicts the ledger.
    package func run() throws(ConfigurationError) -> Int32 {
        let signals = SignalSet.ending
        signals.block()
        defer { signals.unblock() }
        do {
            let (progress, isFileComplete) = try isTrial ? (trial(signals), true) : importFile(signals)
            for (name, count) in [
                ("lines", progress.lineCount), ("added", progress.addedCount), ("known", progress.knownCount),
                ("conflicts", progress.conflictCount), ("faults", progress.faultCount),
            ] { print("\(name) \(count)", false) }
            for (name, count) in [("notes", progress.noteCount), ("trimmed", progress.trimmedCount)] where count > 0 {
                print("\(name) \(count)", false)
            }
            return progress.conflictCount + progress.faultCount == 0 && isFileComplete ? 0 : 1
        } catch let error as ConfigurationError {
            throw error
        } catch let error as LedgerError {
            if error.code == .importRunning { throw ConfigurationError("\(error)", isTemporary: true) }
            throw ConfigurationError("\(error); run it again, and it goes on", isTemporary: true)
        } catch let interruption as Interruption {
            print("interrupted after line \(interruption.lineCount); run it again, and it goes on", true)
            signals.unblock()
            System.end(by: interruption.signal)
        } catch {
            throw ConfigurationError("\(path): \(error)")
        }
    }

    /// The import was interrupted by a signal.
    private struct Interruption: Error {
        let signal: CInt
        let lineCount: Int64
    }

    // MARK: The import

    /// Imports the file, and returns whether a copy of the ledger's main file alone has all the data.
    private func importFile(_ signals: SignalSet) throws -> (ImportProgress, isFileComplete: Bool) {
        let lock = try ledger.lockImports()
        defer { withExtendedLifetime(lock) {} }
        let progress = Result { try importFile(signals, lock) }
        var isFileComplete = true
        // Do this however the import ended.
        do throws(LedgerError) {
            try ledger.completeFile()
        } catch {
            isFileComplete = false
            print("a copy of the ledger's file alone lacks what its log has, which ends in -wal: \(error)", true)
        }
        return (try progress.get(), isFileComplete)
    }

    private func importFile(_ signals: SignalSet, _ lock: ImportLock) throws -> ImportProgress {
        let (file, ledger) = (file, ledger)
        var run = try begin()
        var digest = try DigestStream(.sha256)
        var digested: Int64 = 0
        try readLines(from: run.progress, signals) { (lines, progress, words) throws in
            try file.add(digested..<progress.byteCount, to: &digest)
            digested = progress.byteCount
            run.progress = progress
            run.readDigest = try digest.value().hexadecimal + " " + decidingOptions
            try lock.hold()
            _ = try ledger.importLines(lines, of: &run, words: words)
            progress = run.progress
            return run.unreported
        }
        try ledger.endImport(run)
        return run.progress
    }

    /// Begins a run, or resumes one that was interrupted.
    private func begin() throws -> ImportRun {
        let unfinished = try ledger.unfinishedImports()
        let (digest, beginnings) = try file.digests(unfinished.map(\.progress.byteCount))
        let ofPath = unfinished.filter { $0.path.hasSameBytes(as: path) }
        let same = unfinished.filter { run in
            run.progress.byteCount > 0
                ? beginnings[run.progress.byteCount].map {
                    run.readDigest.hasSameBytes(as: $0 + " " + decidingOptions)
                } ?? false
                : run.path.hasSameBytes(as: path)
        }
        guard isRestarted || same.isEmpty && ofPath.isEmpty else {
            guard let run = same.max(by: { $0.progress.byteCount < $1.progress.byteCount }) else {
                throw ConfigurationError(
                    "file-changed: the part of \(path) that an interrupted import has read is not the same, or options are not that say what a line means; --restart imports the whole file"
                )
            }
            if run.progress.lineCount > 0 { print("continues after line \(run.progress.lineCount)", true) }
            printMessages(run.unreported)
            return try ledger.continueImport(run, digest: digest)
        }
        return try ledger.beginImport(of: path, digest: digest, by: by, reason: reason, insteadOf: same + ofPath)
    }

    // MARK: A trial

    private func trial(_ signals: SignalSet) throws -> ImportProgress {
        let trial = try TrialLedger(policy)
        var run = try trial.ledger.beginImport(of: path, digest: "", by: by)
        let ledger = ledger
        try readLines(from: ImportProgress(), signals) { (lines, progress, words) throws in
            run.progress = progress
            try trial.copy(about: lines, from: ledger)
            _ = try trial.ledger.importLines(lines, of: &run, words: words)
            progress = run.progress
            return run.unreported
        }
        return run.progress
    }

    // MARK: Lines

    /// Reads all lines from the position of `start`.
    ///
    /// - Parameter apply: Imports lines, counts their results in `progress`, and returns the text to print.
    private func readLines(
        from start: ImportProgress, _ signals: SignalSet,
        _ apply: ([ImportedLine], inout ImportProgress, @escaping ([ImportedLine.Result]) -> String) throws -> String
    ) throws {
        var progress = start
        var format = ImportFormat()
        let beginning = try file.read(4096, at: 0)
        let mark = beginning.span.byteOrderMarkCount
        var reader = LineReader(file, from: Int64(mark))
        // A CSV file has no brace before its first comma.
        let first = beginning.dropFirst(mark).first {
            ![UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains($0)
        }
        guard first != UInt8(ascii: "[") else {
            throw ConfigurationError("line 1: an array; write one JSON object in each line, and nothing between them")
        }
        if first != UInt8(ascii: "{"), let line = try reader.next() {
            do throws(ImportRecord.Fault) {
                format = try ImportFormat(csv: line)
            } catch {
                throw ConfigurationError("line 1: \(error.message)")
            }
            if start.byteCount == 0 { (progress.byteCount, progress.lineCount) = (reader.offset, 1) }
        }
        if start.byteCount > 0 { reader = LineReader(file, from: start.byteCount) }
        var report = ImportReport(start.lineCount, file.byteCount)
        var size = BatchSize(maximum: linesTogether)
        var isAtEnd = false
        while !isAtEnd {
            if let signal = signals.wait(.zero) {
                throw Interruption(signal: signal, lineCount: progress.lineCount)
            }
            var lines: [(number: Int64, line: ImportedLine)] = []
            var faults: [Message] = []
            let end = reader.offset + Self.maximumBatchByteCount
            var weight = 0
            while weight < size.count, reader.offset < end {
                guard var line = try reader.next() else {
                    isAtEnd = true
                    break
                }
                progress.lineCount += 1
                if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) { continue }
                let number = progress.lineCount
                if format.end(of: line) == .withinField, let rest = try reader.restOfField(format) {
                    line += rest.bytes
                    progress.lineCount += rest.lineCount
                }
                do throws(ImportRecord.Fault) {
                    let record = try format.record(line)
                    progress.trimmedCount += record.trimmedCount
                    let imported = try record.line(verifier, dates)
                    weight += imported.weight
                    lines.append((number, imported))
                } catch {
                    weight += 1
                    progress.faultCount += 1
                    let last = progress.lineCount
                    let extent = last == number ? "" : "; its quotation marks make lines \(number) to \(last) one"
                    faults.append((number, error.message + extent))
                }
            }
            progress.byteCount = reader.offset
            let numbers = lines.map(\.number)
            let start = ContinuousClock.now
            let words = try apply(lines.map(\.line), &progress) { [faults] results in
                let reported = zip(numbers, results).flatMap { number, result in
                    result.messages.map { Message(number: number, text: $0) }
                }
                // Merged in the order of the lines.
                return Self.merged(faults, reported).map { "line \($0.number): \($0.text)" }.joined(separator: "\n")
            }
            size.adjust(to: ContinuousClock.now - start)
            // Print while no database lock is held: the reader of the output can be slow.
            printMessages(words)
            if let text = report.text(progress) { print(text, true) }
        }
    }

    /// Prints the messages about lines, one on each line.
    private func printMessages(_ words: String) {
        for line in words.utf8.split(separator: UInt8(ascii: "\n")) { print(String(Substring(line)), true) }
    }

    private typealias Message = (number: Int64, text: String)

    /// Merges two lists of messages, each in the order of the lines.
    private static func merged(_ first: [Message], _ second: [Message]) -> [Message] {
        var (first, second) = (first[...], second[...])
        var merged: [Message] = []
        while let one = first.first, let other = second.first {
            if one.number < other.number {
                merged.append(first.removeFirst())
            } else {
                merged.append(second.removeFirst())
            }
        }
        return merged + first + second
    }
}

extension ImportedLine.Result {
    /// The messages about the line.
    fileprivate var messages: [String] {
        let message: String? =
            switch outcome {
            case .added, .known: nil
            case .conflict(let difference): "conflict: \(difference)"
            case .fault(let fault): fault
            }
        return [message].compactMap(\.self) + notes.map { "note: \($0)" }
    }
}

/// The number of lines to write in one transaction. Servers wait for the transaction, and give up after five seconds.
private struct BatchSize {
    private static let time = Duration.milliseconds(500)

    private(set) var count: Int
    private let maximum, minimum: Int

    init(maximum: Int) {
        self.maximum = maximum
        minimum = min(maximum, 8)
        count = min(maximum, 256)
    }

    /// - Parameter time: The duration of the last batch.
    mutating func adjust(to time: Duration) {
        if time > Self.time { count = max(minimum, count / 2) }
        if time < Self.time / 2 { count = min(maximum, count * 2) }
    }
}

/// A report of the import's speed, every five seconds.
private struct ImportReport {
    private let start = ContinuousClock.now
    private var next = ContinuousClock.now + .seconds(5)
    private let firstLine: Int64
    private let byteCount: Int64

    init(_ firstLine: Int64, _ byteCount: Int64) { (self.firstLine, self.byteCount) = (firstLine, byteCount) }

    mutating func text(_ progress: ImportProgress) -> String? {
        guard ContinuousClock.now >= next else { return nil }
        next = ContinuousClock.now + .seconds(5)
        let rate = Double(progress.lineCount - firstLine) / ((ContinuousClock.now - start) / .seconds(1))
        let percent = byteCount == 0 ? 100 : progress.byteCount * 100 / byteCount
        return "\(percent) %, line \(progress.lineCount), \(Int(rate)) a second"
    }
}

extension ImportRun {
    fileprivate var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", id)
        writer.member("state", state.rawValue)
        writer.member("by", by)
        writer.name("reason")
        if let reason { writer.string(reason) } else { writer.null() }
        writer.member("path", path)
        writer.member("digest", digest)
        writer.member("started_at", startedAt.description)
        writer.member("changed_at", changedAt.description)
        for (name, count) in [
            ("bytes", progress.byteCount), ("lines", progress.lineCount), ("added", progress.addedCount),
            ("known", progress.knownCount), ("conflicts", progress.conflictCount), ("faults", progress.faultCount),
            ("notes", progress.noteCount), ("trimmed", progress.trimmedCount),
        ] as [(StaticString, Int64)] { writer.member(name, count) }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
