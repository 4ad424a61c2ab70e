import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import StrictText
import TestSupport
import Testing

@Suite struct Base64Tests {
    static func decode(_ text: String, as syntax: Base64.Syntax = .transported) throws(Base64Error) -> [UInt8] {
        try Base64.decode(text.utf8Span.span, as: syntax)
    }

    static func failure(_ text: String, as syntax: Base64.Syntax = .transported) -> Base64Error? {
        failure(Array(text.utf8), as: syntax)
    }

    static func failure(_ text: [UInt8], as syntax: Base64.Syntax = .transported) -> Base64Error? {
        do {
            _ = try Base64.decode(text.span, as: syntax)
            return nil
        } catch {
            return error
        }
    }

    // MARK: What is read

    @Test(arguments: [
        ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
        ("Zm9vYmFy", "foobar"),
    ])
    func `the vectors of RFC 4648, section 10, are read and written`(text: String, bytes: String) throws {
        let unpadded = text.replacing("=", with: "")
        #expect(try Self.decode(text) == Array(bytes.utf8))
        #expect(try Self.decode(text, as: .strict) == Array(bytes.utf8))
        #expect(try Self.decode(unpadded) == Array(bytes.utf8))
        #expect(try Self.decode(unpadded, as: .jws) == Array(bytes.utf8))
        #expect(Base64.encode(bytes.utf8Span.span) == text)
        #expect(Base64.encode(bytes.utf8Span.span, urlSafe: true) == unpadded)
    }

    /// Each text, and what it would be without what happened to it on its way.
    @Test(arguments: [
        // Alphabets and padding
        ("AB+/CD+/", "AB+/CD+/"), ("AB-_CD-_", "AB+/CD+/"), ("AB-_CQ==", "AB+/CQ=="), ("AB-_CQ", "AB+/CQ=="),
        ("AB+/CQ", "AB+/CQ=="), ("AB+/CDE", "AB+/CDE="),
        // Line breaks, also where they cut a group of four or the padding
        ("AB+/\nCD+/\n", "AB+/CD+/"), ("AB+/\r\nCD+/\r\n", "AB+/CD+/"), ("AB\n+/CD\r\n+/", "AB+/CD+/"),
        ("\r\n\tAB+/CQ=\n=\n\n", "AB+/CQ=="), ("A\nB\n+\n/\nC\nQ\n=\n=\n", "AB+/CQ=="),
        // Spaces around the text, padding complete; and without padding where a `+`, `-` or `_` is in it
        ("  ABCD \r\n", "ABCD"), ("ABCDCQ==  ", "ABCDCQ=="), (" AB+/CQ ", "AB+/CQ=="), (" AB__CQ ", "AB//CQ=="),
        // Spaces around lines, where a `+` or `-` is in the text
        ("  AB+/ \r\n  CD+/ \r\n", "AB+/CD+/"), (" AB-_ \n CQ \n", "AB+/CQ=="),
        // JSON's escape
        ("AB+\\/CD+\\/", "AB+/CD+/"), ("\\/\\/\\/\\/", "////"),
        // Spaces where `+` was, also beside line breaks
        ("AB /CD /", "AB+/CD+/"), ("AB  CD\\/A", "AB++CD/A"),
        ("AB /CDE \nEF /", "AB+/CDE+EF+/"), ("AB /\r\n CDE", "AB+/+CDE"), ("AB /CQ==", "AB+/CQ=="),
        ("AB /CQ", "AB+/CQ=="),
        // … with spaces around
        ("  AB /CD /  ", "AB+/CD+/"), ("AB /CQ== ", "AB+/CQ=="),
    ])
    func `a text is read as if nothing had happened to it on its way`(text: String, original: String) throws {
        let expected = try #require(Data(base64Encoded: original))
        #expect(try Self.decode(text) == Array(expected))
    }

    // MARK: What is refused

    struct Refused: Sendable, CustomStringConvertible {
        let text: String
        let kind: Base64Error.Kind
        let offset: Int
        var syntax: Base64.Syntax = .transported
        var description: String { text.debugDescription }
    }

    @Test(arguments: [
        // Characters
        Refused(text: "AB*D", kind: .invalidCharacter, offset: 2),
        Refused(text: "ABCDEFGHIJKLMNOPQRSTUVWX\u{0}ZAB", kind: .invalidCharacter, offset: 24),
        Refused(text: "ABCDEFGHIJKLMNOPé", kind: .invalidCharacter, offset: 16),
        Refused(text: "ABCD\u{C}", kind: .invalidCharacter, offset: 4),
        Refused(text: "ABCD%2B", kind: .invalidCharacter, offset: 4),
        Refused(text: "\\n", kind: .invalidCharacter, offset: 0),
        Refused(text: "ABC\\", kind: .invalidCharacter, offset: 3),
        Refused(text: "\\u002b", kind: .invalidCharacter, offset: 0),
        // Alphabets
        Refused(text: "AB+-", kind: .mixedAlphabets, offset: 3),
        Refused(text: "AB-+", kind: .mixedAlphabets, offset: 3),
        Refused(text: "ABCDEFGHIJKLMNOPQRSTUVWXYZ_/", kind: .mixedAlphabets, offset: 27),
        Refused(text: "-A\\/A", kind: .mixedAlphabets, offset: 3),
        Refused(text: "AB C+DEF", kind: .mixedAlphabets, offset: 4),
        Refused(text: "AB C-DEF", kind: .mixedAlphabets, offset: 4),
        // Padding
        Refused(text: "=", kind: .invalidPadding, offset: 0),
        Refused(text: "A===", kind: .invalidPadding, offset: 1),
        Refused(text: "AA=", kind: .invalidPadding, offset: 3),
        Refused(text: "AA===", kind: .invalidPadding, offset: 4),
        Refused(text: "AAA==", kind: .invalidPadding, offset: 4),
        Refused(text: "AAAA=", kind: .invalidPadding, offset: 4),
        Refused(text: "AA==AAAA", kind: .invalidPadding, offset: 4),
        Refused(text: "AA= =", kind: .invalidPadding, offset: 3),
        Refused(text: "A", kind: .truncated, offset: 0),
        Refused(text: "AAAA\nA\n", kind: .truncated, offset: 5),
        // Bits that are in no byte
        Refused(text: "AB==", kind: .nonZeroTrailingBits, offset: 1),
        Refused(text: "AB", kind: .nonZeroTrailingBits, offset: 1),
        Refused(text: "AAAAAAB=\n", kind: .nonZeroTrailingBits, offset: 6),
        Refused(text: "AA =", kind: .nonZeroTrailingBits, offset: 2),
        // Spaces that could be a `+`
        Refused(text: "ABE ", kind: .invalidPadding, offset: 4),
        Refused(text: " ABE", kind: .invalidPadding, offset: 4),
        Refused(text: "ABCD \nEFGH", kind: .ambiguousSpace, offset: 4),
        Refused(text: "ABC/\n  EFGH", kind: .ambiguousSpace, offset: 5),
        Refused(text: "AB /CQ ", kind: .invalidPadding, offset: 7),
        Refused(text: "AB /CDE ", kind: .invalidPadding, offset: 8),
        Refused(text: "AB /CDF ", kind: .invalidPadding, offset: 8),
        Refused(text: "AB /CDF \r\n", kind: .invalidPadding, offset: 10),
        Refused(text: " AB /CDF", kind: .invalidPadding, offset: 8),
        Refused(text: "AB /CDF  ", kind: .invalidPadding, offset: 9),
        // Narrower syntaxes
        Refused(text: "AB C", kind: .invalidCharacter, offset: 2, syntax: .pem),
        Refused(text: "AB-_", kind: .invalidCharacter, offset: 2, syntax: .pem),
        Refused(text: "AB\\/", kind: .invalidCharacter, offset: 2, syntax: .pem),
        Refused(text: "AQ\n", kind: .invalidPadding, offset: 3, syntax: .pem),
        Refused(text: "ABCD\n", kind: .invalidCharacter, offset: 4, syntax: .strict),
        Refused(text: "AQ", kind: .invalidPadding, offset: 2, syntax: .strict),
        Refused(text: " ABCD", kind: .invalidCharacter, offset: 0, syntax: .strict),
        Refused(text: "AQ==", kind: .invalidCharacter, offset: 2, syntax: .jws),
        Refused(text: "AB+A", kind: .invalidCharacter, offset: 2, syntax: .jws),
        Refused(text: "AAAA\nAAAA", kind: .invalidCharacter, offset: 4, syntax: .jws),
    ])
    func `anything else is refused where it is`(refused: Refused) {
        #expect(Self.failure(refused.text, as: refused.syntax) == Base64Error(refused.kind, offset: refused.offset))
    }

    @Test func `a PEM body may have spaces around its lines, for none of them can be a plus`() throws {
        #expect(try Self.decode(" ABCD \n ABCD \n", as: .pem) == Self.decode("ABCDABCD"))
    }

    @Test func `every byte outside the alphabets is refused, at every place`() {
        let elsewhere = Set("\t\r\n \\=".utf8)
        for length in [16, 20, 40] {
            for place in 0..<length {
                for byte in UInt8.min ... .max where !elsewhere.contains(byte) {
                    var text = [UInt8](repeating: UInt8(ascii: "A"), count: length)
                    text[place] = byte
                    let expected = byte.isInAnAlphabet ? nil : Base64Error(.invalidCharacter, offset: place)
                    #expect(Self.failure(text) == expected)
                }
            }
        }
    }

    @Test func `a text is read the same in groups of 32 characters and, with line breaks, of four`() {
        var generator = SeededGenerator()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        for round in 0..<4_000 {
            var text = (0..<4 * Int.random(in: 8...40, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            // Some texts have one alphabet, some are URL-safe, and some have a fault.
            if round % 3 == 1 { text = text.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 } }
            if round % 4 == 1 { text = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 } }
            if round % 5 == 1 {
                let faults = [0x00, 0x2A, 0x2C, 0x2E, 0x3A, 0x40, 0x5B, 0x60, 0x7B, 0x7F, 0x80, 0xC1, 0xFF] as [UInt8]
                text[.random(in: text.indices, using: &generator)] = faults.randomElement(using: &generator) ?? 0
            }
            let lines = stride(from: 0, to: text.count, by: 4).flatMap { text[$0..<$0 + 4] + [UInt8(ascii: "\n")] }
            let failure = Self.failure(text)
            #expect(failure?.kind == Self.failure(lines)?.kind, "\(generator) \(text)")
            guard failure == nil else { continue }
            #expect(
                (try? Base64.decode(text.span, as: .transported)) == (try? Base64.decode(lines.span, as: .transported)),
                "\(generator) \(text)")
        }
    }

    // MARK: Round trips

    @Test func `what Foundation writes is read, and read by Foundation what we write`() throws {
        var generator = SeededGenerator()
        for count in Array(0...200) + [1_000, 4_097, 100_000] {
            let bytes = generator.bytes(count)
            let data = Data(bytes)
            let text = data.base64EncodedString()
            #expect(try Self.decode(text, as: .strict) == bytes, "\(generator)")
            #expect(Base64.encode(bytes.span) == text, "\(generator)")
            for options: Data.Base64EncodingOptions in [
                [.lineLength64Characters, .endLineWithCarriageReturn, .endLineWithLineFeed],
                [.lineLength64Characters, .endLineWithLineFeed], [.lineLength76Characters, .endLineWithCarriageReturn],
                [.lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed],
            ] {
                #expect(try Self.decode(data.base64EncodedString(options: options), as: .pem) == bytes, "\(generator)")
            }
            let urlSafe = Base64.encode(bytes.span, urlSafe: true)
            #expect(try Self.decode(urlSafe, as: .jws) == bytes, "\(generator)")
        }
    }

    @Test func `whatever transports do to a receipt, it is read as it was or refused, never as something else`() {
        var generator = SeededGenerator()
        var readings = 0
        for _ in 0..<4_000 {
            // The base64 of a SEQUENCE begins with M.
            let bytes = [0x30] + generator.bytes(.random(in: 1...300, using: &generator))
            let width = [4, 10, 64, 64, 76, 76, 77, 1 << 20].randomElement(using: &generator) ?? 64
            let newline = ["\n", "\r\n"].randomElement(using: &generator) ?? "\n"
            var text = Array(Data(bytes).base64EncodedString())
            if .random(using: &generator) { text.removeAll { $0 == "=" } }
            var lines: [String] = []
            while !text.isEmpty {
                lines.append(String(text.prefix(width)))
                text.removeFirst(min(width, text.count))
            }
            var wrapped = lines.joined(separator: newline)
            if .random(using: &generator) { wrapped += newline }
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: wrapped = wrapped.replacing("+", with: "-").replacing("/", with: "_")
            case 1: wrapped = wrapped.replacing("/", with: "\\/")
            case 2, 3: wrapped = wrapped.replacing("+", with: " ")
            case 4: wrapped = wrapped.replacing("\n", with: " \n  ")
            default: break
            }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: wrapped = "  \(wrapped) \n"
            case 1: wrapped += " "
            default: break
            }
            guard let decoded = try? Self.decode(wrapped) else { continue }
            #expect(decoded == bytes, "\(generator) \(wrapped.debugDescription)")
            readings += 1
        }
        #expect(readings > 2_000, "\(generator)")
    }

    @Test func `time is linear in a text of nothing but exceptions`() throws {
        for unit in ["\n", " ", "A\n", "\\/", "A ", "= ", "+ \n"] {
            let duration = processorTime {
                _ = try? Self.decode(String(repeating: unit, count: 1 << 20 / unit.utf8.count))
            }
            #expect(duration < .seconds(5), "\(unit.debugDescription)")
        }
    }
}

extension UInt8 {
    fileprivate var isInAnAlphabet: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
