import StrictText
import Testing

@Suite struct PEMTests {
    private static let block = "-----BEGIN PKCS7----- \r\nAAEC\n-----END PKCS7-----"

    /// The label and the base64 of the block that begins a text.
    private func parts(_ text: String) throws(PEMError) -> [String] {
        let bytes = Array(text.utf8)
        let block = try PEMBlock(in: bytes.span, from: 0)
        return [block.label, block.body].map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    @Test func `a block has its label twice, and lines between`() throws {
        for rest in ["", "\n", " and more", "-----BEGIN PKCS7-----"] {
            #expect(try parts(Self.block + rest) == ["PKCS7", "\r\nAAEC\n"])
        }
        #expect(try parts("-----BEGIN -----\n-----END -----") == ["", "\n"])
    }

    @Test func `every beginning of a block is refused as unfinished, or where it breaks off`() {
        for count in 0..<Self.block.utf8.count {
            let text = String(decoding: Self.block.utf8.prefix(count), as: UTF8.self)
            let error = #expect(throws: PEMError.self) { try parts(text) }
            #expect(error.map { 0...count ~= $0.offset } == true, "\(count) bytes")
        }
    }

    @Test(
        arguments: [
            ("----BEGIN A-----\n-----END A-----", .malformed, 0), ("-----BEGIN A----\n-----END A-----", .malformed, 12),
            ("-----BEGIN A-----AA==\n-----END A-----", .malformed, 17),
            // A line of base64 does not end a block.
            ("-----BEGIN A-----\nAA==-----END A-----", .malformed, 22),
            ("-----BEGIN A-----\n----END A-----", .malformed, 18),
            ("-----BEGIN A-----\n-----END B-----", .labelMismatch, 27),
            ("-----BEGIN A-----\n-----END AB-----", .labelMismatch, 28),
        ] as [(String, PEMError.Kind, Int)])
    func `anything else is refused where it is`(text: String, kind: PEMError.Kind, offset: Int) {
        #expect(throws: PEMError(kind, offset: offset)) { try parts(text) }
    }

    @Test func `a file without a block is no PEM file`() throws {
        for text in ["", "text", "text -----BEGIN A-----", "AAEC"] { #expect(try PEMFile(Array(text.utf8)) == nil) }
        #expect(try PEMFile(Array(Self.block.utf8))?.blocks.map(\.bytes) == [[0, 1, 2]])
    }

    @Test func `a binary file has no blocks, whatever it contains`() throws {
        let block = Array(("\n" + Self.block).utf8)
        for bytes in [[0x30, UInt8(block.count)] + block, [0x31, UInt8(block.count)] + block, [0x30, 0x80] + block] {
            #expect(try PEMFile(bytes) == nil)
        }
        for bytes in [[0x30, UInt8(block.count - 1)] + block, [0x04, UInt8(block.count)] + block] {
            #expect(try PEMFile(bytes)?.blocks.map(\.offset) == [3])
        }
    }

    @Test func `a file has one block, or those with a label`() throws {
        let other = "-----BEGIN A-----\nAA==\n-----END A-----"
        func file(_ text: String) throws -> PEMFile { try #require(try PEMFile(Array(text.utf8))) }
        #expect(try file(other).onlyContents() == [0])
        let both = try file(Self.block + "\n" + other + "\n" + other)
        #expect(try both.contents(labelled: "A") == [[0], [0]])
        #expect(throws: PEMFileError(.severalBlocks, offset: Self.block.utf8.count + 1)) { try both.onlyContents() }
        for label in ["B", "a", "", "PKCS"] {
            #expect(throws: PEMFileError(.missingBlock, offset: 0)) { try both.contents(labelled: label) }
        }
    }

    /// A block that nobody reads could have the certificate that is distrusted, or the newer revocation list.
    @Test(
        arguments: [
            ("\(block)\(block)", block.utf8.count), ("\(block) \(block)", block.utf8.count + 1),
            ("\(block)\r\(block)", block.utf8.count + 1), ("\(block)\n \(block)", block.utf8.count + 2),
            ("\(block)\n\u{FEFF}\(block)", block.utf8.count + 4), (" \(block)\n\(block)", 1),
            ("\(block).", block.utf8.count), ("\(block)\n\(block)-", 2 * block.utf8.count + 1),
            ("\(block)\n -----BEGIN ", block.utf8.count + 2),
        ] as [(String, Int)])
    func `a file in which a block is not read is refused`(text: String, offset: Int) {
        #expect(throws: PEMFileError(.block(.malformed), offset: offset)) { try PEMFile(Array(text.utf8)) }
    }

    /// RFC 7468, 2.
    @Test(arguments: ["-", "- in a list -", "----------------", "-----BEGIN", " -----END A-----"])
    func `the text before, between and after blocks may have hyphens`(text: String) throws {
        let file = try PEMFile(Array("\(text)\n\(Self.block)\n\(text)\n\(Self.block)\n\(text)".utf8))
        #expect(file?.blocks.map(\.bytes) == [[0, 1, 2], [0, 1, 2]])
    }

    @Test func `a label that only ends with the required one is refused`() throws {
        let text = "\(Self.block)\n-----BEGIN X A-----\nAA==\n-----END X A-----"
        let file = try #require(try PEMFile(Array(text.utf8)))
        #expect(throws: PEMFileError(.otherLabel, offset: Self.block.utf8.count + 1)) {
            try file.contents(labelled: "A")
        }
    }

    @Test(
        arguments: [
            (block, 0), ("\n\(block)", 1), ("text\n\(block)", 5), ("text\r\n\(block)", 6), ("text \(block)", nil),
            ("\u{FEFF}\(block)", 3), ("\n\u{FEFF}\(block)", nil),
            ("-\(block)", nil), ("text \(block)\n-----BEGIN ", 54), ("-----BEGIN", nil), ("", nil),
        ] as [(String, Int?)])
    func `a block begins at the start of a line`(text: String, start: Int?) {
        let found = PEMBlock.firstStart(in: Array(text.utf8).span, from: 0)
        #expect(found == start)
    }
}
