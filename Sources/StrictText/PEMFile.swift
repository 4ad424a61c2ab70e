/// The blocks of a PEM file, decoded. The text between them is explanatory (RFC 7468, 2).
public struct PEMFile: Sendable {
    public struct Block: Sendable {
        /// The label, such as `CERTIFICATE` or `PKCS7`.
        public let label: String
        public let bytes: [UInt8]
    }

    public let blocks: [Block]

    /// Returns `nil` if no line of the text begins a block.
    public init?(_ text: [UInt8]) throws(PEMFileError) {
        var blocks: [Block] = []
        var position = 0
        while let start = PEMBlock.firstStart(in: text.span, from: position) {
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
                        bytes: try Base64.decode(text[block.body].span, as: .pem)))
            } catch {
                throw PEMFileError(.invalidBase64, offset: block.body.lowerBound + error.offset)
            }
            position = block.end
        }
        guard !blocks.isEmpty else { return nil }
        self.blocks = blocks
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
    }

    public let kind: Kind
    /// The position of the fault, in bytes from the start of the text.
    public let offset: Int

    init(_ kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
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
            }
        return "\(explanation) at byte \(offset)"
    }
}
