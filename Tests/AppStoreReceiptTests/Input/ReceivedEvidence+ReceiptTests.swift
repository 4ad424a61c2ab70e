import AppStoreReceiptTesting
import Foundation
import StrictText
import TestSupport
import Testing

@testable @_spi(Surfaces) import AppStoreReceipt

@Suite struct ReceivedReceiptTests {
    /// Not a receipt, but a SEQUENCE with a long length, and with `+` and `/` in its base64.
    static let binary: [UInt8] =
        [0x30, 0x82, 0x01, 0x00] + (0..<256).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ 0xBF) }
    static let base64 = Data(binary).base64EncodedString()
    static let wrapped = Data(binary).base64EncodedString(options: [
        .lineLength64Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
    ])

    struct Reading: Equatable {
        let armor: Armor?
        let bytes: [UInt8]
    }

    static func read(
        _ input: [UInt8], maximumReceiptByteCount: Int = VerificationLimits().maximumReceiptByteCount
    ) throws(InputError) -> Reading {
        var limits = VerificationLimits()
        limits.maximumReceiptByteCount = maximumReceiptByteCount
        let received = ReceivedEvidence(input, as: .receipt, limits)
        do throws(VerificationError) {
            let binary = try received.binary()
            return Reading(armor: received.armor, bytes: binary)
        } catch {
            guard case .input(let fault) = error.reason else {
                Issue.record("no error of the armor: \(error)")
                return Reading(armor: nil, bytes: [])
            }
            throw fault
        }
    }

    static func failure(_ input: [UInt8], maximumReceiptByteCount: Int = VerificationLimits().maximumReceiptByteCount)
        -> InputError?
    {
        do {
            _ = try read(input, maximumReceiptByteCount: maximumReceiptByteCount)
            return nil
        } catch {
            return error
        }
    }

    static func pem(_ label: String, _ body: String = wrapped) -> String {
        "-----BEGIN \(label)-----\r\n\(body)\r\n-----END \(label)-----\r\n"
    }

    static func json(_ value: String) -> String { "{\"receipt-data\":\"\(value)\"}" }

    // MARK: What is read

    static let texts: [(Armor, String)] = [
        (.base64, base64),
        (.base64, base64.replacing("=", with: "")),
        (.base64, base64.replacing("+", with: "-").replacing("/", with: "_")),
        (.base64, base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")),
        (.base64, wrapped), (.base64, wrapped.replacing("\r\n", with: "\n") + "\n"),
        (.base64, Data(binary).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])),
        (.base64, "\u{FEFF}  \r\n\(base64)  \n"),
        (.base64, base64.replacing("/", with: "\\/")),
        (.base64, base64.replacing("+", with: " ")),
        (.base64, wrapped.replacing("+", with: " ")),
        (.base64, " \(base64.replacing("+", with: " ")) \r\n"),
        (.pem, pem("PKCS7")), (.pem, pem("CMS")), (.pem, pem("CMS", base64).replacing("\r\n", with: "\n")),
        (.pem, "\u{FEFF}\n \(pem("PKCS7").replacing("\r\n", with: " \r\n")) \n"),
        (.json, json(base64)), (.json, json(base64.replacing("/", with: "\\/"))),
        (.json, json(base64.replacing("+", with: "\\u002b"))),
        (.json, json(wrapped.replacing("\r\n", with: "\\r\\n") + "\\n")),
        (.json, json(base64.replacing("/", with: "\\\\/"))),
        (.json, json(base64.replacing("+", with: " "))),
        (.json, json(base64.replacing("+", with: "-").replacing("/", with: "_"))),
        (
            .json,
            " \n{ \"password\" : null, \"receipt\\u002ddata\" :\t\"\(base64)\" , \"exclude-old-transactions\":true } \n"
        ),
        (
            .json,
            "\u{FEFF}{\"nested\":{\"receipt-data\":1},\"receipt-data\":\"\(base64)\",\"x\":[{\"receipt-data\":\"\"}]}"
        ),
    ]

    @Test(arguments: texts) func `every armor gives the same binary receipt`(armor: Armor, text: String) throws {
        #expect(try Self.read(Array(text.utf8)) == Reading(armor: armor, bytes: Self.binary))
    }

    @Test(arguments: [
        [0x30, 0x00], [0x30, 0x80], [0x30, 0x80, 0x00, 0x00], [0x30, 0x03, 0x02, 0x01, 0x05],
        [0x30, 0x88, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        [0x30, 0x41] + [UInt8](repeating: 0x41, count: 0x41),
        binary, binary + [0x0A],
    ])
    func `what begins like a SEQUENCE is taken as it is`(input: [UInt8]) throws {
        #expect(try Self.read(input) == Reading(armor: .binary, bytes: input))
    }

    @Test func `a binary receipt is not copied`() throws {
        let received = try ReceivedEvidence(Self.binary, VerificationLimits()).binary()
        let isSame = unsafe received.withUnsafeBufferPointer { received in
            unsafe Self.binary.withUnsafeBufferPointer { unsafe $0.baseAddress == received.baseAddress }
        }
        #expect(isSame)
    }

    // MARK: What is refused

    @Test func `a small receipt in a large JSON text does not keep room for the rest of it`() throws {
        let body = "{\"receipt-data\":\"\(Self.base64)\",\"padding\":\"\(String(repeating: "A", count: 1 << 20))\"}"
        let binary = try ReceivedEvidence(body, VerificationLimits()).binary()
        #expect(binary == Self.binary)
        #expect(binary.capacity < 4 * Self.binary.count)
    }

    @Test(
        arguments: [
            // Nothing
            ("", .emptyInput, nil, 0), (" \r\n\t ", .emptyInput, nil, 5), ("\u{FEFF}", .emptyInput, nil, 3),
            ("{\"receipt-data\":\"\"}", .emptyInput, .json, 16),
            ("{\"receipt-data\":\" \\n\"}", .emptyInput, .json, 16),
            ("-----BEGIN CMS-----\n\n-----END CMS-----", .emptyInput, .pem, 21),
            // Nothing known
            ("\u{0}", .unrecognizedForm, nil, 0), ("0", .unrecognizedForm, nil, 0),
            (" hello", .unrecognizedForm, nil, 1),
            ("0x30820100", .unrecognizedForm, nil, 0), ("30820100", .unrecognizedForm, nil, 0),
            ("[]", .unrecognizedForm, nil, 0),
            ("\"MIIB\"", .unrecognizedForm, nil, 0), ("receipt-data=MIIB", .unrecognizedForm, nil, 0),
            ("<html>", .unrecognizedForm, nil, 0), ("-", .unrecognizedForm, nil, 0),
            ("----", .unrecognizedForm, nil, 0),
            ("\u{FEFF}\u{FEFF}MIIB", .unrecognizedForm, nil, 3),
            ("eyJhbGciOiJFUzI1NiJ9.e30.", .unrecognizedForm, nil, 0),
            // Base64
            ("MIIB*", .invalidBase64, .base64, 4), ("\n MIIBMIIBMIIBMIIBMIIB!MIIB", .invalidBase64, .base64, 22),
            ("MIIB\u{0}", .invalidBase64, .base64, 4), ("MIIB=", .invalidBase64, .base64, 4),
            ("MIIBM", .invalidBase64, .base64, 4),
            ("MIIB+-AA", .invalidBase64, .base64, 5), ("MIIB%2B", .invalidBase64, .base64, 4),
            ("MIIB\u{FEFF}", .invalidBase64, .base64, 4), ("MIIB{}", .invalidBase64, .base64, 4),
            // PEM
            ("-----", .invalidPEM, .pem, 0),
            ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", .invalidPEM, .pem, 11),
            ("-----BEGIN CMS-----", .invalidPEM, .pem, 19), ("-----BEGIN CMS-----\nMIIB", .invalidPEM, .pem, 24),
            ("-----BEGIN CMS----- MIIB\n-----END CMS-----", .invalidPEM, .pem, 20),
            ("-----BEGIN CMS-----\nMIIB-----END CMS-----", .invalidPEM, .pem, 24),
            ("-----BEGIN CMS-----\nMIIB\n-----END PKCS7-----", .invalidPEM, .pem, 34),
            ("-----BEGIN CMS-----\nMIIB\n-----END CMS----", .invalidPEM, .pem, 37),
            ("-----BEGIN CMS-----\nMIIB\n-----END CMS-----\nMIIB", .invalidPEM, .pem, 43),
            ("-----BEGIN CMS2-----\nMIIB\n-----END CMS2-----", .invalidPEM, .pem, 11),
            ("-----BEGIN CMS-----\nA: b\nMIIB\n-----END CMS-----", .invalidBase64, .pem, 21),
            ("-----BEGIN CMS-----\nMII_\n-----END CMS-----", .invalidBase64, .pem, 23),
            ("-----BEGIN CMS-----\nMI IB\n-----END CMS-----", .invalidBase64, .pem, 22),
            ("-----BEGIN CMS-----\nMIIBMA\n-----END CMS-----", .invalidBase64, .pem, 27),
            // JSON
            ("{", .invalidJSON, .json, 1), ("{\"receipt-data\":", .invalidJSON, .json, 16),
            ("{\"receipt-data\":\"MIIB", .invalidJSON, .json, 21), ("{\"receipt-data\":null}", .invalidJSON, .json, 16),
            ("{\"receipt-data\":[\"MIIB\"]}", .invalidJSON, .json, 16),
            ("{\"receipt-data\":\"MIIB\",\"receipt-data\":\"MIIB\"}", .invalidJSON, .json, 23),
            ("{\"receipt-data\":\"MIIB\",\"receipt\\u002Ddata\":\"MIIB\"}", .invalidJSON, .json, 23),
            ("{\"receipt-data\":\"MIIB\"}MIIB", .invalidJSON, .json, 23),
            ("{\"receipt-data\":\"MIIB\",}", .invalidJSON, .json, 23),
            ("{\"receipt-data\":\"MI\nIB\"}", .invalidJSON, .json, 19),
            ("{\"receipt-data\":\"MI\\xIB\"}", .invalidJSON, .json, 19),
            ("{ \"signature\" = \"A\"; }", .invalidJSON, .json, 14),
            ("{\"a\":01,\"receipt-data\":\"MIIB\"}", .invalidJSON, .json, 6),
            ("{}", .missingReceiptData, .json, 0), (" {\"receipt_data\":\"MIIB\"}", .missingReceiptData, .json, 1),
            ("{\"a\":{\"receipt-data\":\"MIIB\"}}", .missingReceiptData, .json, 0),
            ("{\"receipt-data\":\"MIIB*\"}", .invalidBase64, .json, 21),
            ("{\"receipt-data\":\"\\/\\u004dMIIB*\"}", .invalidBase64, .json, 29),
            ("{\"receipt-data\":\"MIIB\\u00e9\"}", .invalidBase64, .json, 21),
            ("{\"receipt-data\":\"\\u004dIIBM\"}", .invalidBase64, .json, 26),
        ] as [(String, InputError.Kind, Armor?, Int)])
    func `anything else is refused, with the armor that was tried and the place`(
        text: String, kind: InputError.Kind, armor: Armor?, offset: Int
    ) {
        #expect(Self.failure(Array(text.utf8)) == InputError(kind, armor: armor, offset: offset))
    }

    @Test(arguments: [
        [0xFF, 0xFE, 0x4D, 0x00], [0x30], [0x30, 0x03, 0x02], [0x31, 0x80], [0x0A, 0x30, 0x80], [0x00, 0x30, 0x80],
    ])
    func `other binary data is refused`(input: [UInt8]) {
        #expect(Self.failure(input)?.kind == .unrecognizedForm)
    }

    @Test func `an empty input known to be base64 is refused as such`() throws {
        #expect(throws: InputError(.emptyInput, armor: .base64, offset: 1)) {
            try ReceiptText.decode(base64: " ".utf8Span.span, .max)
        }
        #expect(throws: InputError(.invalidBase64, armor: .base64, offset: 0)) {
            try ReceiptText.decode(base64: "{}".utf8Span.span, .max)
        }
        // A space in front could be a `+` here.
        #expect(throws: InputError(.invalidBase64, armor: .base64, offset: 4)) {
            try ReceiptText.decode(base64: " ABE".utf8Span.span, .max)
        }
        #expect(try ReceiptText.decode(base64: Self.base64.utf8Span.span, .max) == Self.binary)
    }

    // MARK: Limits

    @Test func `the size of a text is checked before anything of it is read`() {
        let text = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 16 + 1)
        let tooLarge = InputError(.inputTooLarge, armor: .base64, offset: 1 << 16)
        #expect(throws: tooLarge) { try ReceiptText.decode(base64: text.span, 0) }
        #expect(throws: InputError(.emptyInput, armor: .base64, offset: 1 << 16)) {
            try ReceiptText.decode(base64: text.span.extracting(droppingFirst: 1), 0)
        }
        var limits = VerificationLimits()
        (limits.maximumReceiptByteCount, limits.maximumJWSByteCount, limits.maximumTransactionReceiptByteCount) = (
            0, 0, 0
        )
        let jws = Array("eyJ".utf8) + [UInt8](repeating: UInt8(ascii: "A"), count: 1 << 18)
        let error = #expect(throws: InputError.self) { try ReceivedEvidence.Beginning(jws.span, limits) }
        #expect(error?.kind == .inputTooLarge && error?.armor == nil)
        // The armor is not known either.
        let list = Array("{".utf8) + text
        #expect(throws: InputError(.inputTooLarge, armor: nil, offset: 1 << 16)) {
            try TransactionReceiptText.decode(list.span, limits)
        }
    }

    @Test func `a binary receipt is no larger than allowed, whoever took it out of its armor`() throws {
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        var limits = VerificationLimits()
        limits.maximumReceiptByteCount = receipt.count
        #expect(try UnverifiedReceipt(binary: receipt, limits) == UnverifiedReceipt(decoding: receipt))
        limits.maximumReceiptByteCount -= 1
        let error = ASN1DecodingError(.inputTooLarge, offset: receipt.count - 1)
        #expect(throws: VerificationError(.container(error))) { try UnverifiedReceipt(binary: receipt, limits) }
    }

    @Test(arguments: [Armor.binary, .base64, .pem, .json])
    func `a receipt of more bytes than allowed is refused, one of as many is read`(armor: Armor) {
        let count = Self.binary.count
        for input in [Self.binary] + Self.texts.map({ Array($0.1.utf8) }) {
            guard (try? Self.read(input))?.armor == armor else { continue }
            #expect(Self.failure(input, maximumReceiptByteCount: count) == nil)
            #expect(Self.failure(input, maximumReceiptByteCount: .max) == nil)
            let error = Self.failure(input, maximumReceiptByteCount: count - 1)
            #expect(error?.kind == .inputTooLarge)
            #expect(error?.armor == armor)
        }
    }

    @Test func `a text that is much too long is refused before it is read`() {
        let limit = 2 * 100 + 65_536
        for (armor, start) in [(Armor.base64, "M"), (.json, "{"), (.pem, "-----")] {
            var text = Array(start.utf8)
            text += [UInt8](repeating: 0, count: limit + 1 - text.count)
            let error = InputError(.inputTooLarge, armor: armor, offset: limit)
            #expect(Self.failure(text, maximumReceiptByteCount: 100) == error)
            #expect(Self.failure(text.dropLast(), maximumReceiptByteCount: 100)?.kind != .inputTooLarge)
        }
    }

    @Test func `hostile inputs end in an error in linear time`() {
        let count = 1 << 20
        let inputs: [(String, InputError.Kind)] = [
            (String(repeating: " ", count: count), .emptyInput),
            ("{\"a\":" + String(repeating: "[", count: count), .invalidJSON),
            ("{" + String(repeating: "\"a\":{", count: count / 5), .invalidJSON),
            ("{" + String(repeating: "\"receipt-dat\":0,", count: count / 16), .invalidJSON),
            ("{\"receipt-data\":\"" + String(repeating: "\\u0041", count: count / 6) + "*\"}", .invalidBase64),
            ("{\"receipt-data\":\"" + String(repeating: " \\n", count: count / 3) + "\"}", .emptyInput),
            ("M" + String(repeating: "\n \\/", count: count / 4), .invalidBase64),
            ("M" + String(repeating: " \n", count: count / 2) + "IIB", .invalidBase64),
            ("-----BEGIN CMS-----" + String(repeating: "\n", count: count), .invalidPEM),
            (String(repeating: "-----BEGIN CMS-----\n", count: count / 20), .invalidPEM),
        ]
        for (input, kind) in inputs {
            let duration = processorTime {
                #expect(Self.failure(Array(input.utf8))?.kind == kind, "\(input.prefix(40))")
            }
            #expect(duration < .seconds(5), "\(input.prefix(40))")
        }
    }

    @Test func `no change of a byte traps, and every error points into the text`() {
        var generator = SeededGenerator()
        for (_, text) in Self.texts {
            let original = Array(text.utf8)
            for _ in 0..<200 {
                var changed = original
                let place = Int.random(in: 0..<changed.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: changed[place] = UInt8(truncatingIfNeeded: generator.next())
                case 1: changed.insert(UInt8(truncatingIfNeeded: generator.next()), at: place)
                default: changed.remove(at: place)
                }
                if let error = Self.failure(changed) {
                    #expect(0...changed.count ~= error.offset, "\(generator)")
                }
                _ = Self.failure(Array(changed[..<place]))
            }
        }
    }

    // MARK: Errors

    @Test func `an error says what, in which armor and where`() {
        let error = InputError(.invalidBase64, armor: .base64, offset: 57)
        #expect(error.description == "the base64 has an invalid character or is incomplete at byte 57 of the text")
        #expect(MemoryLayout<InputError>.size <= 16)
        let words = InputError.Kind.allCases.map(\.rawValue)
        #expect(words.allSatisfy { word in word.allSatisfy { $0.isLowercase || $0 == "-" || $0.isNumber } })
        #expect(Set(InputError.Kind.allCases.map(\.fault.explanation)).count == words.count)
    }
}
