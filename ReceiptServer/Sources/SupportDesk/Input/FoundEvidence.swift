import HTTPService

/// The parts of a text that look like evidence: JWS and base64 in a log line, an e-mail, or a body that was escaped.
///
/// It decides nothing: the verifier checks each piece. Each byte is examined a bounded number of times.
struct FoundEvidence {
    /// The pieces in order, and the text without them.
    private(set) var pieces: [[UInt8]] = []
    private(set) var rest: [UInt8] = []
    /// Whether there were more pieces.
    private(set) var hasMore = false

    static let maximumCount = 8
    /// The minimum size of a piece. Shorter ones are ids or digests.
    private static let minimumByteCount = 200

    init(in text: [UInt8]) {
        let text = Self.withoutEscapes(text)
        var index = 0
        var isAtBeginning = true
        while index < text.count {
            if isAtBeginning, let (piece, end) = Self.piece(at: index, text) {
                if pieces.count < Self.maximumCount { pieces.append(piece) } else { hasMore = true }
                rest.append(UInt8(ascii: " "))
                index = end
                continue
            }
            isAtBeginning = !text[index].isOfBase64
            rest.append(text[index])
            index += 1
        }
    }

    /// Returns the piece of evidence that begins at an index, and the index of its end.
    private static func piece(at index: Int, _ text: [UInt8]) -> ([UInt8], end: Int)? {
        let beginning = text[index...].prefix(3)
        return beginning.elementsEqual("eyJ".utf8)
            ? jws(at: index, text)
            // The beginning of a SEQUENCE with two to four length bytes, or of a property list.
            : beginning.starts(with: "MI".utf8) || beginning.elementsEqual("ewo".utf8)
                || beginning.elementsEqual("ewk".utf8) || beginning.elementsEqual("eyA".utf8)
                ? base64(at: index, text) : nil
    }

    /// Returns three base64url parts separated by dots.
    private static func jws(at index: Int, _ text: [UInt8]) -> ([UInt8], end: Int)? {
        var dots = 0
        var end = index
        var previous: UInt8 = 0
        while end < text.count {
            let byte = text[end]
            if byte == UInt8(ascii: ".") {
                guard dots < 2, previous != byte else { break }
                dots += 1
            } else if !byte.isOfBase64URL {
                break
            }
            previous = byte
            end += 1
        }
        guard dots == 2, previous != UInt8(ascii: "."), end - index >= minimumByteCount else { return nil }
        return (Array(text[index..<end]), end)
    }

    /// Returns base64, including base64 that a tool has wrapped into lines of equal length.
    private static func base64(at index: Int, _ text: [UInt8]) -> ([UInt8], end: Int)? {
        var piece: [UInt8] = []
        var end = index
        var length: Int?
        var start = index
        while end < text.count {
            let byte = text[end]
            if byte.isOfBase64 || byte == UInt8(ascii: "=") {
                piece.append(byte)
                end += 1
            } else {
                guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"), end - start == length ?? (end - start),
                    60...128 ~= end - start
                else { break }
                length = end - start
                end += text[end...].starts(with: "\r\n".utf8) ? 2 : 1
                start = end
            }
        }
        return piece.count >= minimumByteCount ? (piece, end) : nil
    }

    /// Undoes the escapes of JSON and URLs in evidence: `\/`, `\n`, `\"`, `\u002B` and `%2B`, at any depth of quoting.
    static func withoutEscapes(_ text: [UInt8]) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte == UInt8(ascii: "%"), let decoded = text.hexadecimal(at: index + 1, 2), decoded.isPlain {
                plain.append(decoded)
                index += 3
            } else if byte == UInt8(ascii: "\\") {
                while index < text.count, text[index] == byte { index += 1 }
                guard index < text.count else { break }
                switch text[index] {
                case UInt8(ascii: "n"): plain.append(UInt8(ascii: "\n"))
                case UInt8(ascii: "r"): plain.append(UInt8(ascii: "\r"))
                case UInt8(ascii: "t"): plain.append(UInt8(ascii: "\t"))
                case UInt8(ascii: "u"):
                    guard let decoded = text.hexadecimal(at: index + 1, 4), decoded.isPlain else { continue }
                    plain.append(decoded)
                    index += 4
                default: plain.append(text[index])
                }
                index += 1
            } else {
                plain.append(byte)
                index += 1
            }
        }
        return plain
    }
}

extension UInt8 {
    fileprivate var isPlain: Bool { 0x20...0x7E ~= self }

    fileprivate var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }

    fileprivate var isOfBase64URL: Bool { isAlphanumeric || self == UInt8(ascii: "-") || self == UInt8(ascii: "_") }

    /// Whether this is a base64 character, but not `=`: evidence can follow `evidence=`.
    fileprivate var isOfBase64: Bool { isOfBase64URL || self == UInt8(ascii: "+") || self == UInt8(ascii: "/") }
}

extension [UInt8] {
    /// Returns the value of hexadecimal digits, or `nil` for other characters or more than a byte.
    fileprivate func hexadecimal(at start: Int, _ digits: Int) -> UInt8? {
        guard start + digits <= count else { return nil }
        var value = 0
        for byte in self[start..<start + digits] {
            guard let digit = byte.hexadecimalDigit else { return nil }
            value = value << 4 | Int(digit)
        }
        return UInt8(exactly: value)
    }
}
