import AppStoreReceipt
import StrictText

/// The file of `--continue`: the verdicts of earlier runs, after which this one appends its own.
///
/// A process that is killed leaves a file that ends within a line. That line has no verdict.
struct VerdictFile {
    let descriptor: CInt
    /// The number of the first line of the input that has no verdict.
    let nextNumber: Int
    /// The verdicts on all lines before it.
    let tally: Tally

    /// Opens a file, creates it if it does not exist, and removes its last line if that was cut off.
    ///
    /// - Parameters:
    ///   - only: Which verdicts the file has, with the numbers of their lines; `nil` for all.
    ///   - jobs: The number of threads; by default one for each processor.
    static func open(_ path: String, only: BatchWorker.Verdict?, jobs: Int?) throws(VerdictFileError) -> VerdictFile {
        let descriptor = try system { () throws(SystemError) in try System.openForAppending(path) }
        do throws(VerdictFileError) {
            return try VerdictFile(repairing: descriptor, only: only, jobs: jobs)
        } catch {
            System.close(descriptor)
            throw error
        }
    }

    private init(repairing descriptor: CInt, only: BatchWorker.Verdict?, jobs: Int?) throws(VerdictFileError) {
        self.descriptor = descriptor
        // Only files have a size. Another process may write until this one has the lock.
        guard System.byteCount(of: descriptor) != nil else { throw .noFile }
        try Self.system { () throws(SystemError) in try System.lock(descriptor) }
        guard let size = System.byteCount(of: descriptor) else { throw .noFile }
        let verdicts = try Verdicts(in: descriptor, only: only, jobs: jobs)
        if verdicts.byteCount < size {
            try Self.system { () throws(SystemError) in try System.truncate(descriptor, to: verdicts.byteCount) }
        }
        var tally = verdicts.tally
        switch only {
        case nil: nextNumber = verdicts.lineCount + 1
        case .refused:
            nextNumber = verdicts.lastNumber + 1
            tally.add(verifiedCount: verdicts.lastNumber - tally.refusedCount, refusedCount: 0)
        case .verified:
            nextNumber = verdicts.lastNumber + 1
            tally.add(
                verifiedCount: 0, refusedCount: verdicts.lastNumber - tally.verifiedCount - tally.refusedCount)
        }
        self.tally = tally
    }

    private static func system<Result>(_ body: () throws(SystemError) -> Result) throws(VerdictFileError) -> Result {
        do throws(SystemError) { return try body() } catch { throw .system(error) }
    }
}

/// The reasons that verdicts cannot be appended to a file. It was not changed.
enum VerdictFileError: Error {
    case system(SystemError)
    case noFile
    /// The line is not a verdict, and not the beginning of one at the end of the file.
    case noVerdict(line: Int)
    /// The verdict has the number of its line, or lacks it, unlike those of this run.
    case otherNumbering(line: Int, isNumbered: Bool)
    /// The verdict is one that this run does not print.
    case otherVerdict(line: Int)
}

extension VerdictFileError: CustomStringConvertible {
    var description: String {
        switch self {
        case .system(.locked): "another process is writing to it"
        case .system(let error): "\(error)"
        case .noFile: "--continue needs a file, which it can read and repair"
        case .noVerdict(let line):
            "line \(line) is no verdict of 'receipt batch', and nothing was changed; to work again from there, keep the lines before it: head -n \(line - 1)"
        case .otherNumbering(let line, let isNumbered):
            "line \(line) was written with\(isNumbered ? "out" : "") --only; use the same options in each run"
        case .otherVerdict(let line): "line \(line) was written with another --only; use the same options in each run"
        }
    }
}

/// The complete verdicts at the beginning of a file.
private struct Verdicts {
    var lineCount = 0
    var byteCount = 0
    /// The number of the last verdict's line, if verdicts have it.
    var lastNumber = 0
    /// The number of the first verdict's line, if verdicts have it.
    var firstNumber = 0
    var tally = Tally()

    init() {}

    init(in descriptor: CInt, only: BatchWorker.Verdict?, jobs: Int?) throws(VerdictFileError) {
        let pool = BlockPool()
        let parts = BatchSequence(
            LineBlocks(descriptor: descriptor, maximumLineByteCount: .max, pool: pool), concurrency: jobs
        ) { block in
            block.map { block in
                let part = block.withContents { Part($0, only: only) }
                pool.give(block)
                return part
            }
        }.makeIterator()
        defer { parts.end() }
        var tornLine: Int?
        while let part = parts.next() {
            switch part {
            case .failure(let error): throw .system(error)
            case .success(let part):
                // Only the last write of a process can be cut off.
                if let tornLine { throw .noVerdict(line: tornLine) }
                switch part.end {
                case .complete: break
                case .torn: tornLine = lineCount + part.verdicts.lineCount + 1
                case .other: throw .noVerdict(line: lineCount + part.verdicts.lineCount + 1)
                case .otherNumbering:
                    throw .otherNumbering(line: lineCount + part.verdicts.lineCount + 1, isNumbered: only != nil)
                case .otherVerdict: throw .otherVerdict(line: lineCount + part.verdicts.lineCount + 1)
                }
                guard only == nil || part.verdicts.lineCount == 0 || lastNumber < part.verdicts.firstNumber else {
                    throw .noVerdict(line: lineCount + 1)
                }
                lineCount += part.verdicts.lineCount
                byteCount += part.verdicts.byteCount
                lastNumber = max(lastNumber, part.verdicts.lastNumber)
                tally.add(part.verdicts.tally)
            }
        }
    }

    /// The verdicts of a block of lines, and what follows them.
    struct Part {
        var verdicts = Verdicts()
        var end = End.complete

        enum End { case complete, torn, other, otherNumbering, otherVerdict }

        init(_ block: borrowing LineBlock.Contents, only: BatchWorker.Verdict?) {
            for (index, line) in block.lines.enumerated() {
                let text = block.bytes.span.extracting(line)
                // The last line of a file may lack its line feed, and is then cut off, however complete it looks.
                guard line.upperBound < block.bytes.count, let verdict = Verdict(text) else {
                    end = index == block.lines.count - 1 && Verdict.canBegin(text) ? .torn : .other
                    return
                }
                guard (only != nil) == (verdict.number != nil) else {
                    end = .otherNumbering
                    return
                }
                guard verdict.result.isPrinted(by: only) else {
                    end = .otherVerdict
                    return
                }
                if let number = verdict.number {
                    guard verdicts.lastNumber < number else {
                        end = .other
                        return
                    }
                    if verdicts.lineCount == 0 { verdicts.firstNumber = number }
                }
                verdicts.lineCount += 1
                verdicts.byteCount += line.count + 1
                verdicts.lastNumber = verdict.number ?? 0
                verdicts.tally.add(CollectionOfOne(verdict.result))
            }
        }
    }
}

/// A line that `receipt batch` wrote.
private struct Verdict {
    /// The number of its line in the input, with `--only`.
    private(set) var number: Int?
    private(set) var result = LineResult.verified

    /// Reads the members of the object; `nil` if the text is not one complete verdict.
    ///
    /// A `JSONCursor` would refuse the deepest nesting that it allows in the input, because it is a level deeper here.
    /// This loop accepts no truncated verdict, nor the start of one before another line, whose first name would be
    /// outside a string.
    init?(_ text: Span<UInt8>) {
        var (hasVerdict, isVerified, isInError) = (false, false, false)
        var (code, party): (String, String) = ("", "")
        var (depth, position) = (0, 0)
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""):
                let start = position + 1
                guard let end = Self.endOfString(in: text, from: start) else { return nil }
                position = end
                guard end + 2 < text.count, text[end + 1] == UInt8(ascii: ":") else { break }
                let name = text.extracting(start..<end)
                switch depth {
                case 1:
                    isInError = name.hasSameBytes(as: "error")
                    if name.hasSameBytes(as: "verified") {
                        isVerified = text[end + 2] == UInt8(ascii: "t")
                        hasVerdict = isVerified || text[end + 2] == UInt8(ascii: "f")
                    } else if name.hasSameBytes(as: "line") {
                        number = Self.number(in: text, from: end + 2)
                    }
                case 2 where isInError:
                    if name.hasSameBytes(as: "code") {
                        code = Self.string(in: text, from: end + 2)
                    } else if name.hasSameBytes(as: "at_fault") {
                        party = Self.string(in: text, from: end + 2)
                    }
                default: break
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                guard depth > 0 || position == text.count - 1 else { return nil }
            case let byte: guard Self.isBetweenStrings[Int(byte)] else { return nil }
            }
            position += 1
        }
        guard depth == 0, hasVerdict else { return nil }
        if !isVerified { result = .refused(code: code, party.hasSameBytes(as: "host") ? .unusable : .refused) }
    }

    /// Returns the text of a string that begins at a position, without decoding escapes; empty if there is none.
    private static func string(in text: Span<UInt8>, from position: Int) -> String {
        guard text[position] == UInt8(ascii: "\""), let end = endOfString(in: text, from: position + 1) else {
            return ""
        }
        return String(decoding: [UInt8](copying: text.extracting((position + 1)..<end)), as: UTF8.self)
    }

    private static let beginnings = ["{\"input\":{", "{\"line\":", "{\"verified\":"].map { Array($0.utf8) }
    /// The bytes of numbers, literals, separators, and the whitespace that other members of the input keep.
    private static let isBetweenStrings: [Bool] = {
        let bytes = Array(",:0123456789+-.eEtrufalsn \t".utf8)
        return (0...255).map { bytes.contains(UInt8($0)) }
    }()

    private static func endOfString(in text: Span<UInt8>, from start: Int) -> Int? {
        var position = start
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            position += text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return position < text.count ? position : nil
    }

    private static func number(in text: Span<UInt8>, from start: Int) -> Int? {
        var end = start
        while end < text.count, 0x30...0x39 ~= text[end] { end += 1 }
        return Int(String(decoding: [UInt8](copying: text.extracting(start..<end)), as: UTF8.self))
    }

    /// Whether a verdict can begin so. After a power failure, a file may end in zeros.
    static func canBegin(_ text: Span<UInt8>) -> Bool {
        guard !text.isEmpty, text[0] != 0 else { return true }
        return beginnings.contains { beginning in
            let count = min(beginning.count, text.count)
            return beginning.prefix(count).isPrefix(of: text)
        }
    }
}

extension RandomAccessCollection<UInt8> {
    fileprivate func isPrefix(of text: Span<UInt8>) -> Bool {
        count <= text.count && zip(0..<count, self).allSatisfy { text[$0] == $1 }
    }
}
