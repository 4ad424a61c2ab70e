import AppStoreReceipt
import Foundation

/// One of the processes beside the batch. It verifies in a loop, as the task `verify-base64` of the benchmarks does.
struct Part {
    static let word = "part"

    /// What a part does beside verifying.
    enum Work: String, CaseIterable {
        /// It repeats some receipts that are in memory. It writes their whole JSON, or nothing instead of brief
        /// verdicts.
        case verifies
        /// It reads its share of the lines, and writes a line for each, as the batch does.
        case readsAndWrites
    }

    private let verifier: AppStoreVerifier
    private let work: Work
    private let file: String
    private let index, count: Int
    private let output: Output
    private var text = ""

    /// - Parameter words: The root, the kind of work, the file with the receipts or the lines, the index of the part,
    ///   the number of receipts or of parts, and the output.
    init(_ words: ArraySlice<String>) throws {
        let words = Array(words)
        guard words.count == 6, let work = Work(rawValue: words[1]), let index = Int(words[3]),
            let count = Int(words[4]), let output = Output(rawValue: words[5])
        else { throw BatchRateError.usage }
        let root = try TrustAnchor(der: [UInt8](try Data(contentsOf: URL(filePath: words[0]))))
        verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox]), trust: .roots([root]))
        self.work = work
        file = words[2]
        self.index = index
        self.count = count
        self.output = output
    }

    mutating func run() throws {
        switch work {
        case .verifies: try verifyReceipts()
        case .readsAndWrites: try verifyLines()
        }
        write()
    }

    private mutating func verifyReceipts() throws {
        let receipts = try String(contentsOf: URL(filePath: file), encoding: .utf8).split(separator: "\n").map(
            String.init)
        for index in 0..<count {
            let receipt = receipts[index % receipts.count]
            guard output == .json else {
                _ = try verifier.verifyReceipt(receipt)
                continue
            }
            append(try verifier.verify(receipt).json)
        }
    }

    /// Verifies the lines that begin in its share of the file.
    private mutating func verifyLines() throws {
        let handle = try FileHandle(forReadingFrom: URL(filePath: file))
        let size = try handle.seekToEnd()
        let (start, end) = (size * UInt64(index) / UInt64(count), size * UInt64(index + 1) / UInt64(count))
        // A line that began before the share is that of the part before.
        var isWhole = index == 0
        var position = isWhole ? start : start - 1
        try handle.seek(toOffset: position)
        var rest: [UInt8] = []
        while position < end {
            guard let block = try handle.read(upToCount: 1 << 18), !block.isEmpty else { break }
            rest += block
            var lineStart = 0
            while position < end, let lineEnd = Self.lineFeed(in: rest, from: lineStart) {
                if isWhole { try verify(Array(rest[lineStart..<lineEnd])) }
                isWhole = true
                position += UInt64(lineEnd + 1 - lineStart)
                lineStart = lineEnd + 1
            }
            rest.removeFirst(lineStart)
        }
    }

    private static func lineFeed(in bytes: [UInt8], from start: Int) -> Int? {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = unsafe memchr(base + start, 0x0A, bytes.count - start)
            else {
                return nil
            }
            return unsafe UnsafeRawPointer(found) - base
        }
    }

    private mutating func verify(_ line: [UInt8]) throws {
        let evidence = try verifier.verify(line)
        switch output {
        case .brief:
            let ids = evidence.transactionIDs.joined(separator: "\",\"")
            append("{\"verified\":true,\"bundle_id\":\"\(evidence.bundleID ?? "")\",\"transaction_ids\":[\"\(ids)\"]}")
        case .json: append(evidence.json)
        }
    }

    private mutating func append(_ line: String) {
        text += line
        text += "\n"
        if text.utf8.count >= 1 << 16 { write() }
    }

    private mutating func write() {
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while unsafe !rest.isEmpty {
                let count = unsafe Foundation.write(1, rest.baseAddress, rest.count)
                guard count > 0 else { exit(2) }
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
        text.removeAll(keepingCapacity: true)
    }
}
