import SignatureTrust
import StrictText

/// A JWS in its compact serialization (RFC 7515, 7.1), `header.payload.signature`, read strictly. Nothing is verified.
struct CompactJWS {
    let certificates: CertificateSequence
    /// The payload, decoded.
    let payload: [UInt8]
    let signature: [UInt8]
    /// The range that the signature covers: header and payload as received, with the dot between them.
    let signed: Range<Int>

    /// - Parameters:
    ///   - text: the JWS, and whitespace around it.
    ///   - maximumByteCount: the maximum size of the text.
    ///   - certificateCount: the number of certificates that the header must have.
    init(
        _ text: Span<UInt8>, maximumByteCount: Int, certificateCount: Int
    ) throws(VerificationError) {
        let (header, payload, signature) = try Self.parts(of: text, maximumByteCount: maximumByteCount)
        signed = header.lowerBound..<payload.upperBound
        let decodedHeader = try Self.decode(text, header)
        self.payload = try Self.decode(text, payload)
        self.signature = try Self.decode(text, signature)
        certificates = try JOSEHeader.certificates(in: decodedHeader, count: certificateCount)
    }

    /// Decodes the header and the payload, to be shown without verification. The signature must be base64url, too.
    static func decodeUnverified(
        _ text: Span<UInt8>, maximumByteCount: Int
    ) throws(VerificationError) -> (header: [UInt8], payload: [UInt8]) {
        let parts = try parts(of: text, maximumByteCount: maximumByteCount)
        let decoded = (try decode(text, parts.header), try decode(text, parts.payload))
        _ = try decode(text, parts.signature)
        return decoded
    }

    private static func parts(
        of text: Span<UInt8>, maximumByteCount: Int
    ) throws(VerificationError) -> (header: Range<Int>, payload: Range<Int>, signature: Range<Int>) {
        guard text.count <= maximumByteCount else {
            throw VerificationError(.compactJWS(.inputTooLarge, offset: maximumByteCount))
        }
        let trimmed = text.trimmedRange
        guard !trimmed.isEmpty else { throw VerificationError(.compactJWS(.emptyInput, offset: text.count)) }
        return try split(text.extracting(0..<trimmed.upperBound), from: trimmed.lowerBound)
    }

    private static func split(
        _ text: Span<UInt8>, from start: Int
    ) throws(VerificationError) -> (header: Range<Int>, payload: Range<Int>, signature: Range<Int>) {
        let first = text.firstDot(from: start)
        // Without a first dot, there is no second one.
        let second = text.firstDot(from: first + 1)
        guard second < text.count else { throw VerificationError(.compactJWS(.partCount, offset: text.count)) }
        let third = text.firstDot(from: second + 1)
        guard third == text.count else { throw VerificationError(.compactJWS(.partCount, offset: third)) }
        return (start..<first, first + 1..<second, second + 1..<text.count)
    }

    private static func decode(_ text: Span<UInt8>, _ part: Range<Int>) throws(VerificationError) -> [UInt8] {
        do throws(Base64Error) {
            return try Base64.decode(text.extracting(part), as: .jws)
        } catch {
            throw VerificationError(.compactJWS(.invalidBase64URL, offset: part.lowerBound + error.offset))
        }
    }
}

extension Span<UInt8> {
    /// The first dot from `start` on; `count` if there is none, or `start` if it is greater.
    ///
    /// The compiler turns a loop of constant length into a few vector instructions.
    fileprivate func firstDot(from start: Int) -> Int {
        let dot = UInt8(ascii: ".")
        var position = start
        while count - position >= 32 {
            let chunk = extracting(position..<position + 32)
            var found: UInt8 = 0
            for index in 0..<32 { found |= chunk[index] == dot ? 1 : 0 }
            guard found == 0 else { break }
            position += 32
        }
        while position < count, self[position] != dot { position += 1 }
        return position
    }
}

/// The faults of the text of a JWS.
package enum CompactJWSFault: String, Sendable, CaseIterable {
    /// The text is empty or has only whitespace.
    case emptyInput = "empty-input"
    /// The text is larger than ``VerificationLimits/maximumJWSByteCount``.
    case inputTooLarge = "input-too-large"
    /// The text does not have exactly three parts, separated by dots.
    case partCount = "part-count"
    /// A part is not base64url without padding (RFC 7515, 2) in its canonical spelling.
    case invalidBase64URL = "invalid-base64url"
}

extension CompactJWS {
    /// Returns whether a text has three parts of base64url, and whitespace around them at most.
    static func hasForm(_ text: Span<UInt8>) -> Bool {
        do throws(VerificationError) {
            _ = try decodeUnverified(text, maximumByteCount: .max)
            return true
        } catch {
            return false
        }
    }

    /// Returns whether a text begins like a JWS: three parts of base64url, separated by dots.
    ///
    /// The base64url of most headers begins with `e`, like that of `{"`. The base64 of a receipt always begins with
    /// `M`, and PEM with `-`; these are not searched for dots.
    static func isBeginning(of input: Span<UInt8>) -> Bool {
        let trimmed = input.trimmedRange
        guard !trimmed.isEmpty else { return false }
        return switch input[trimmed.lowerBound] {
        case UInt8(ascii: "e"): !TransactionReceiptText.isBase64(input)
        case UInt8(ascii: "M"), UInt8(ascii: "-"): false
        default: hasTwoDots(input.extracting(trimmed))
        }
    }

    private static func hasTwoDots(_ text: Span<UInt8>) -> Bool {
        var dotCount = 0
        for index in text.indices {
            if text[index] == UInt8(ascii: ".") {
                dotCount += 1
                if dotCount == 2 { return true }
            } else if !text[index].isBase64URL {
                return false
            }
        }
        return false
    }
}

extension UInt8 {
    fileprivate var isBase64URL: Bool {
        self &- UInt8(ascii: "0") < 10 || (self | 0x20) &- UInt8(ascii: "a") < 26 || self == UInt8(ascii: "-")
            || self == UInt8(ascii: "_")
    }
}
