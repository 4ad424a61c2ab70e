import AppStoreReceipt
import StrictText

/// A block of a PEM file (RFC 7468).
struct PEMBlock {
    /// The label, such as `CERTIFICATE` or `PKCS7`.
    let label: String
    let bytes: [UInt8]
    /// The position of the block in the text, in bytes.
    let offset: Int
}

enum PEM {
    static func isPEM(_ text: [UInt8]) -> Bool {
        var position = 0
        while position < text.count {
            let end = text[position...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
            if label(text[position..<end], "BEGIN") != nil { return true }
            position = end + 1
        }
        return false
    }

    /// Returns all blocks of a text. The text between them is explanatory (RFC 7468, 2).
    static func blocks(in text: [UInt8]) throws(PEMError) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var open: (label: String, offset: Int, bodyStart: Int)?
        var position = 0
        while position < text.count {
            let end = text[position...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
            let line = text[position..<end]
            if let begun = open {
                if let label = label(line, "END") {
                    guard label.hasSameBytes(as: begun.label) else {
                        throw PEMError(kind: .labelMismatch, offset: position)
                    }
                    let body = text[begun.bodyStart..<position]
                    do throws(Base64Error) {
                        let bytes = try Base64.decode(body.span, as: .pem)
                        blocks.append(PEMBlock(label: label, bytes: bytes, offset: begun.offset))
                    } catch {
                        throw PEMError(kind: .invalidBase64, offset: begun.bodyStart + error.offset)
                    }
                    open = nil
                }
            } else if let label = label(line, "BEGIN") {
                open = (label, position, min(end + 1, text.count))
            }
            position = end + 1
        }
        if let open { throw PEMError(kind: .unfinished, offset: open.offset) }
        return blocks
    }

    /// Returns the label of a line `-----BEGIN label-----`.
    private static func label(_ line: ArraySlice<UInt8>, _ keyword: StaticString) -> String? {
        guard line.starts(with: "-----".utf8) else { return nil }
        let isBlank: (UInt8) -> Bool = {
            $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t")
        }
        guard let last = line.lastIndex(where: { !isBlank($0) }) else { return nil }
        let text = line[...last]
        let head = Array("-----\(keyword) ".utf8)
        let tail = Array("-----".utf8)
        guard text.starts(with: head), text.suffix(tail.count) == tail[...], text.count > head.count + tail.count else {
            return nil
        }
        return String(decoding: text.dropFirst(head.count).dropLast(tail.count), as: UTF8.self)
    }
}

/// The reason a text is not PEM, and the place of the fault.
struct PEMError: Error, Hashable {
    enum Kind { case labelMismatch, unfinished, invalidBase64 }

    let kind: Kind
    /// The position of the fault, in bytes from the start of the text.
    let offset: Int
}

extension PEMError: CustomStringConvertible {
    var description: String {
        let explanation =
            switch kind {
            case .labelMismatch: "a PEM block ends with another label than it began with"
            case .unfinished: "a PEM block without an end"
            case .invalidBase64: "invalid base64 in a PEM block"
            }
        return "\(explanation) at byte \(offset)"
    }
}
