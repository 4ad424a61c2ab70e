import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import SpanASN1
import TestSupport
import Testing

@testable import receipt

@Suite struct ASN1CommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The lines below the head of the table, with single spaces between columns.
    private func list(_ bytes: [UInt8]) throws -> (status: Int32, lines: [String]) {
        let result = run("asn1", try folder.write("input", bytes))
        return (
            result.status,
            result.lines.dropFirst().map { $0.split(separator: " ").joined(separator: " ") }
        )
    }

    @Test(arguments: [
        ("01 01 FF", "0 2 1 BOOLEAN TRUE"), ("01 01 02", "0 2 1 BOOLEAN 02 (invalid-boolean)"),
        ("02 02 01 00", "0 2 2 INTEGER 256"), ("02 01 80", "0 2 1 INTEGER -128"),
        ("02 09 00 FF FF FF FF FF FF FF FF", "0 2 9 INTEGER 00ffffffffffffffff (72 bits)"),
        ("02 02 00 01", "0 2 2 INTEGER 0001 (invalid-integer)"), ("02 00", "0 2 0 INTEGER (empty) (invalid-integer)"),
        ("0A 01 05", "0 2 1 ENUMERATED 5"), ("05 00", "0 2 0 NULL"), ("05 01 00", "0 2 1 NULL 00 (invalid-null)"),
        ("06 03 55 04 03", "0 2 3 OBJECT IDENTIFIER 2.5.4.3 commonName"),
        ("06 03 2A 03 04", "0 2 3 OBJECT IDENTIFIER 1.2.3.4"), ("0D 02 81 01", "0 2 2 RELATIVE-OID 129"),
        ("0C 02 C3 A4", "0 2 2 UTF8String \"ä\""), ("0C 01 C3", "0 2 1 UTF8String c3 (invalid-string)"),
        ("16 03 61 1B 62", "0 2 3 IA5String \"a\\u{1B}b\""), ("1E 04 00 41 00 42", "0 2 4 BMPString \"AB\""),
        ("17 0D 32 30 30 34 30 31 30 34 30 37 33 39 5A", "0 2 13 UTCTime 2020-04-01 04:07:39 UTC"),
        ("03 02 05 A0", "0 2 2 BIT STRING a0, 5 bits unused"), ("04 02 DE AD", "0 2 2 OCTET STRING dead"),
        ("86 04 68 74 74 70", "0 2 4 [6] \"http\""), ("81 02 01 02", "0 2 2 [1] 0102"),
        // Three letters are too few for a text, and a universal type has no text that it does not say.
        ("86 03 68 74 74", "0 2 3 [6] 687474"), ("07 04 68 74 74 70", "0 2 4 ObjectDescriptor 68747470"),
        ("5F 81 01 00", "0 4 0 [APPLICATION 129] (empty)"),
        ("04 82 00 01 41", "0 4 1 OCTET STRING 41"),
    ])
    func `a value is shown by its type`(bytes: String, line: String) throws {
        let (status, lines) = try list(hex(bytes))
        #expect(lines == [line])
        #expect(status == 0)
    }

    @Test(arguments: [
        ("06", "OBJECT IDENTIFIER", "2a", 32, "1.2" + String(repeating: ".42", count: 31)),
        ("06", "OBJECT IDENTIFIER", "2a", 33, String(repeating: "2a", count: 32) + "…"),
        ("04", "OCTET STRING", "2a", 33, String(repeating: "2a", count: 32) + "…"),
        ("0c", "UTF8String", "2a", 200, "\"" + String(repeating: "*", count: 200) + "\""),
        ("0c", "UTF8String", "2a", 201, "\"" + String(repeating: "*", count: 200) + "\"… (201 bytes)"),
    ])
    func `of a long value, the beginning is shown`(tag: String, type: String, octet: String, count: Int, text: String)
        throws
    {
        let length = count < 128 ? [UInt8(count)] : [0x81, UInt8(count)]
        let bytes = hex(tag) + length + [UInt8](repeating: hex(octet)[0], count: count)
        #expect(try list(bytes).lines == ["0 \(length.count + 1) \(count) \(type) \(text)"])
    }

    @Test func `strings that wrap structure are shown with it`() throws {
        let (_, lines) = try list(hex("30 0E 04 04 30 02 05 00 03 06 00 30 03 02 01 07"))
        #expect(
            lines == [
                "0 2 14 SEQUENCE", "2 2 4 OCTET STRING", "4 2 2 SEQUENCE", "6 2 0 NULL", "8 2 6 BIT STRING",
                "11 2 3 SEQUENCE", "13 2 1 INTEGER 7",
            ])
    }

    @Test(arguments: [
        // A tag that is none, trailing bytes, an invalid value, a bit unused.
        "04 03 00 01 41", "04 03 05 00 41", "04 02 02 01", "03 05 01 30 02 05 00", "04 04 01 02 03 04",
        "04 02 80 00",
    ])
    func `a string of anything else is left alone`(bytes: String) throws {
        let (status, lines) = try list(hex(bytes))
        #expect(status == 0)
        #expect(lines.count == 1)
    }

    @Test func `indefinite lengths and segments are shown, and what the segments hold together`() throws {
        let (status, lines) = try list(hex("30 80 24 80 04 02 30 03 04 03 02 01 07 00 00 00 00"))
        #expect(status == 0)
        #expect(
            lines == [
                "0 2 indef SEQUENCE", "2 2 indef OCTET STRING (in segments)", "4 2 2 OCTET STRING 3003",
                "8 2 3 OCTET STRING 020107", "13 2 0 END OF CONTENTS", "the 2 segments joined", "6 2 3 SEQUENCE",
                "10 2 1 INTEGER 7", "15 2 0 END OF CONTENTS",
            ])
    }

    @Test(arguments: [nil, 7, 100] as [Int?])
    func `a receipt's attributes have their names, in any encoding`(segmentSize: Int?) throws {
        var builder = ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: [
                .consumable("a", transactionID: "1"), .consumable("b", transactionID: "2"),
            ])
        builder.attributeOrder = .asGiven
        let authority = try Minted.authority
        let plain = run("asn1", try folder.write("plain", try builder.signed(by: authority)))
        builder.encoding = .ber(segmentSize: segmentSize)
        let result = run("asn1", try folder.write("input", try builder.signed(by: authority)))
        #expect(result.status == 0)
        for text in [
            "SET  receipt attributes", "SEQUENCE  attribute 2 bundle id", "UTF8String \"com.example.app\"",
            "SEQUENCE  attribute 17 in-app purchase", "SET  in_app[0]", "SET  in_app[1]",
            "SEQUENCE  attribute 1702 product id", "SEQUENCE  attribute 1714\n",
            "1.2.840.113635.100.6.11.1 receiptSigningMarker",
            "IA5String \"2025-06-15T12:00:00Z\"", "PrintableString", "1.2.840.113549.1.7.2 signedData",
        ] {
            #expect(result.output.contains(text), "\(text)")
        }
        func named(_ run: Run) -> [Substring] {
            run.lines.compactMap { line in line.firstRange(of: "attribute ").map { line[$0.lowerBound...] } }
        }
        #expect(named(plain) == named(result))
    }

    @Test func `PEM of any label, several blocks, base64 and JSON are taken apart`() throws {
        let der = hex("30 03 02 01 05")
        let text = pem("CERTIFICATE REQUEST", der) + "words\n" + pem("X509 CRL", der)
        let result = run("asn1", try folder.write("text.pem", text))
        #expect(result.status == 0)
        #expect(result.output.contains("CERTIFICATE REQUEST, offsets count from the decoded bytes\n"))
        #expect(result.output.components(separatedBy: "INTEGER 5").count == 3)
        for text in ["MAMC\r\nAQU=\n", #"{"receipt-data":"MAMCAQU="}"#] {
            #expect(
                run("asn1", try folder.write("text", text)).output.contains("     2       2        1    INTEGER 5\n"))
        }
        // All of these bytes are characters of base64.
        #expect(
            try list(Array("00abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX".utf8)).lines.first
                == "0 2 48 SEQUENCE")
    }

    @Test(arguments: [
        ("30 03 02 01", "truncated: an element runs past the end of its container at byte 0", 2),
        ("30 80 02 01 05", "truncated: an element runs past the end of its container at byte 0", 2),
        ("30 05 02 01 05 02 05", "truncated: an element runs past the end of its container at byte 5", 2),
        ("02 01 05 30 88 FF FF FF FF FF FF FF FF", "length-overflow: a length does not fit in 63 bits at byte 4", 1),
        (
            "02 01 05 00 00",
            "unexpected-end-of-contents: an end-of-contents marker stands outside an element of indefinite length at byte 3",
            1
        ),
        ("30 06 30 0A 02 01 05 05", "truncated: an element runs past the end of its container at byte 2", 1),
        ("02", "truncated: an element runs past the end of its container at byte 1", 0),
    ])
    func `what comes before a fault is shown, then the fault and its place`(bytes: String, fault: String, count: Int)
        throws
    {
        let (status, lines) = try list(hex(bytes))
        #expect(status == 1)
        #expect(lines.count == count + 1)
        #expect(lines.last == "MALFORMED \(fault)")
    }

    @Test func `a truncated receipt is shown up to where it ends`() throws {
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable("a", transactionID: "1")])
        let whole = try builder.signed(by: Minted.authority)
        let all = try list(whole).lines
        for count in [1, 3, 4, 19, 60, 100, 300, 600, 1000, 2000, whole.count - 1] {
            let (status, lines) = try list(Array(whole.prefix(count)))
            #expect(status == 1)
            #expect(
                lines.last
                    == "MALFORMED truncated: an element runs past the end of its container at byte \(count < 4 ? 1 : 0)"
            )
            // The same but for what is cut off.
            let whole = lines.dropLast().filter { !$0.contains("(cut off") }
            #expect(whole.allSatisfy(all.contains), "\(count)")
            #expect(count < 100 || lines.contains { $0.contains("attribute ") })
        }
    }

    @Test(
        arguments: [
            ([0x30, 0x80], 64), ([0x24, 0x80], 64), ([0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF], 64),
            ([0x04, 0x82, 0xFF, 0xFF], 1),
        ] as [([UInt8], Int)])
    func `deep nesting ends in an error, not in a trap`(header: [UInt8], count: Int) throws {
        let bytes = Array(repeatElement(header, count: 100_000).joined())
        let (status, lines) = try list(bytes)
        #expect(status == 1)
        #expect(lines.count == count + 1)
    }

    @Test func `random bytes and mutated receipts never trap`() throws {
        var generator = SeededGenerator()
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable("a", transactionID: "1")])
        let receipt = try builder.signed(by: Minted.authority)
        for round in 0..<400 {
            var bytes = receipt
            if round % 4 == 0 {
                bytes = generator.bytes(.random(in: 1...300, using: &generator))
            } else {
                for _ in 0...round % 5 {
                    bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(
                        in: .min ... .max, using: &generator)
                }
                bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
            }
            var console = Console.memory()
            _ = try? ASN1Listing(style: Style(), byteCount: bytes.count).print(bytes.span, to: &console)
            #expect(console.output.count < 400_000)
        }
    }

    @Test func `an empty file is refused`() throws {
        let result = run("asn1", try folder.write("empty", ""))
        #expect(result.status == 1)
        #expect(result.output == "MALFORMED  empty-input: the input is empty\n")
    }
}
