import SpanASN1

/// The blocks of a PEM file, decoded. The text between them is explanatory (RFC 7468, 2).
public struct PEMFile: Sendable {
    public struct Block: Sendable {
        /// The label, such as `CERTIFICATE` or `PKCS7`.
        public let label: String
        public let bytes: [UInt8]
        /// The position of the block, in bytes from the start of the file.
        public let offset: Int
    }

    public let blocks: [Block]

    /// Returns `nil` if the file is binary, or no line of it begins a block.
    ///
    /// Binary data can contain PEM, which is its content and not the message.
    public init?(_ text: [UInt8]) throws(PEMFileError) {
        if [0x30, 0x31].contains(where: { text.span.isElement(tag: $0) }) { return nil }
        var blocks: [Block] = []
        var position = 0
        while let start = PEMBlock.firstStart(in: text.span, from: position) {
            try Self.checkBetween(text, position, start)
            let block: PEMBlock
            do throws(PEMError) {
                block = try PEMBlock(in: text.span, from: start)
            } catch {
                throw PEMFileError(.block(error.kind), offset: error.kind == .unfinished ? start : error.offset)
            }
            do throws(Base64Error) {
                blocks.append(
                    Block(
                        label: String(decoding: text[block.label], as: UTF8.self),
                        bytes: try Base64.decode(text[block.body].span, as: .pem), offset: start))
            } catch {
                throw PEMFileError(.invalidBase64, offset: block.body.lowerBound + error.offset)
            }
            position = block.end
        }
        guard !blocks.isEmpty else { return nil }
        try Self.checkBetween(text, position, text.count)
        self.blocks = blocks
    }

    /// Checks the text before, between and after blocks. Nothing may follow a block on its last line, and no block may
    /// begin within a line, as after joining files without a line feed: it would be skipped silently.
    private static func checkBetween(_ text: [UInt8], _ start: Int, _ end: Int) throws(PEMFileError) {
        var position = start
        if start > 0 {
            while position < end, text[position] == .space || text[position] == .tab { position += 1 }
            guard position == end || text[position] == .lineFeed || text[position] == .carriageReturn else {
                throw PEMFileError(.block(.malformed), offset: position)
            }
        }
        let mark = Array(PEMBlock.start.utf8)
        while position < end {
            if text[position] == mark[0], end - position >= mark.count,
                text.span.extracting(position..<position + mark.count).hasSameBytes(as: mark.span)
            {
                throw PEMFileError(.block(.malformed), offset: position)
            }
            position += 1
        }
    }

    /// Returns the contents of the only block of a file.
    ///
    /// - Throws: `severalBlocks` if there are several: one verdict would seem to apply to all.
    public func onlyContents() throws(PEMFileError) -> [UInt8] {
        guard blocks.count == 1 else { throw PEMFileError(.severalBlocks, offset: blocks[1].offset) }
        return blocks[0].bytes
    }

    /// Returns the contents of the blocks with a label. A PEM file may have other blocks, such as a private key.
    ///
    /// - Throws: `missingBlock` if there is none, and `otherLabel` if a block's label only ends with this one, such as
    ///   `TRUSTED CERTIFICATE`: skipping it could skip the certificate that matters.
    public func contents(labelled label: String) throws(PEMFileError) -> [[UInt8]] {
        let ending = Array(" \(label)".utf8)
        for block in blocks where block.label.utf8.suffix(ending.count).elementsEqual(ending) {
            throw PEMFileError(.otherLabel, offset: block.offset)
        }
        let contents = blocks.filter { $0.label.hasSameBytes(as: label) }.map(\.bytes)
        guard !contents.isEmpty else { throw PEMFileError(.missingBlock, offset: blocks[0].offset) }
        return contents
    }

    /// Returns a block, without a line feed at its end (RFC 7468, 2).
    public static func text(of bytes: [UInt8], label: String) -> String {
        let base64 = Array(Base64.encode(bytes.span).utf8)
        let lines = stride(from: 0, to: base64.count, by: 64).map { start in
            String(decoding: base64[start..<min(start + 64, base64.count)], as: UTF8.self)
        }
        return (["-----BEGIN \(label)-----"] + lines + ["-----END \(label)-----"]).joined(separator: "\n")
    }
}

/// The reason a text is not PEM, and the place of the fault.
public struct PEMFileError: Error, Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case block(PEMError.Kind)
        case invalidBase64
        /// The file has a second block.
        case severalBlocks
        /// No block has the required label.
        case missingBlock
        /// A block's label only ends with the required one.
        case otherLabel
    }

    public let kind: Kind
    /// The position of the fault, in bytes from the start of the text.
    public let offset: Int

    public init(_ kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}

extension Span<UInt8> {
    /// Returns whether the bytes begin with an element, by default a SEQUENCE, whose length has the long or indefinite
    /// form, or spans all bytes. Text can also begin with `0`.
    public func isElement(tag: UInt8 = 0x30) -> Bool {
        guard count >= 2, self[0] == tag else { return false }
        return self[1] >= 0x80 || Int(self[1]) == count - 2
    }
}

extension PEMFileError: CustomStringConvertible {
    public var description: String {
        let explanation =
            switch kind {
            case .block(.malformed): "a PEM block with a malformed line"
            case .block(.labelMismatch): "a PEM block ends with another label than it began with"
            case .block(.unfinished): "a PEM block without an end"
            case .invalidBase64: "invalid base64 in a PEM block"
            case .severalBlocks: "a second PEM block where one is required"
            case .missingBlock: "no PEM block has the required label: the first one"
            case .otherLabel: "a PEM block with a label that is only like the required one"
            }
        return "\(explanation) at byte \(offset)"
    }
}
