import AppStoreReceiptTesting
import Foundation
import Sampling
import TestSupport
import Testing

@testable import receipt

@Suite struct LineBlocksTests {
    /// All lines from a number on of what a pipe gives in chunks of these sizes; those too long as they are kept.
    private func lines(
        _ text: [UInt8], chunks: [Int], maximumLineByteCount: Int, from firstNumber: Int
    ) throws -> [[UInt8]] {
        let pipe = Pipe()
        let input = pipe.fileHandleForWriting
        Thread.detachNewThread {
            var rest = text[...]
            for count in chunks where !rest.isEmpty {
                try? input.write(contentsOf: Data(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            try? input.write(contentsOf: Data(rest))
            try? input.close()
        }
        var lines: [[UInt8]] = []
        var received = 0
        let pool = BlockPool()
        for block in LineBlocks(
            descriptor: pipe.fileHandleForReading.fileDescriptor, maximumLineByteCount: maximumLineByteCount,
            firstNumber: firstNumber, pool: pool)
        {
            let block = try block.get()
            block.withContents { contents in
                #expect(!contents.lines.isEmpty && contents.lines.count <= 4096)
                #expect(contents.firstNumber == firstNumber + lines.count)
                lines += contents.lines.map { Array(contents.bytes[$0]) }
                received += contents.receivedByteCount
            }
            pool.give(block)
        }
        withExtendedLifetime(pipe) {}
        #expect(firstNumber == 1 ? received == text.count : received <= text.count)
        return lines
    }

    @Test func `the lines of blocks are those of the text, however it arrives`() throws {
        var generator = SeededGenerator()
        for _ in 0..<Sampling.count("line-texts") {
            let typical = [1, 3, 40, 6000, 200_000].randomElement(using: &generator) ?? 1
            var text: [UInt8] = []
            for _ in 0..<Int.random(in: 0...(typical < 100 ? 10_000 : 20), using: &generator) {
                let byte = UInt8.random(in: .min ... .max, using: &generator)
                let count = Int.random(in: 0...typical, using: &generator)
                text += [UInt8](repeating: byte == 0x0A ? 0x78 : byte, count: count) + [0x0A]
            }
            if Bool.random(using: &generator) { text += Array("the last line".utf8) }
            let chunks = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                Int.random(in: 1...(Bool.random(using: &generator) ? 100 : 100_000), using: &generator)
            }
            let limit = [10, 5000, 1 << 20].randomElement(using: &generator) ?? 0
            var expected = text.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
            if expected.last?.isEmpty == true { expected.removeLast() }
            let first = Bool.random(using: &generator) ? 1 : Int.random(in: 1...expected.count + 2, using: &generator)
            expected.removeFirst(min(first - 1, expected.count))
            let found = try lines(text, chunks: chunks, maximumLineByteCount: limit, from: first)
            #expect(found.count == expected.count, "\(generator)")
            for (found, expected) in zip(found, expected) {
                // Of a line that is too long there need not be all.
                #expect(found == expected || found.count > limit && expected.count > limit, "\(generator)")
            }
        }
    }
}
