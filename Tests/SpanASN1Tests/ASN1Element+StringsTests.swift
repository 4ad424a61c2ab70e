import AppStoreReceiptTesting
import SpanASN1
import TestSupport
import Testing

@Suite struct StringTests {
    private func string(_ bytes: [UInt8], _ relaxations: ASN1Relaxations = []) -> Result<String, Kind> {
        outcome(bytes, relaxations) { (element) throws(ASN1DecodingError) in try element.string() }
    }

    private static func ascii(_ octets: ClosedRange<UInt8>) -> String { String(decoding: Array(octets), as: UTF8.self) }

    /// Every ASCII type by its tag, and the characters it has.
    static let characters: [(UInt8, String)] = [
        (0x12, "0123456789 "),
        (0x13, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 '()+,-./:=?"),
        (0x1A, ascii(0x20...0x7E)), (0x16, ascii(0...0x7F)),
    ]

    @Test(arguments: characters)
    func `a restricted string has the characters of its type`(row: (UInt8, String)) {
        let allowed = Set(row.1.utf8)
        #expect(string(tlv(row.0, row.1)) == .success(row.1))
        for octet in 0...255 as ClosedRange<UInt8> {
            let isAllowed = (try? string(tlv(row.0, [0x30, octet, 0x31])).get()) != nil
            #expect(isAllowed == allowed.contains(octet), "octet \(octet) in type \(row.0)")
        }
        #expect(string(tlv(row.0, [])) == .success(""))
        #expect(string(tlv(row.0 | 0x20, [])) == .failure(.constructedString))
    }

    @Test func `a relaxation allows any printing character in a PrintableString`() {
        #expect(string(tlv(0x13, "*.example_1.com & @")) == .failure(.invalidString))
        #expect(string(tlv(0x13, "*.example_1.com & @"), .anyPrintableCharacter) == .success("*.example_1.com & @"))
        #expect(string(tlv(0x13, [0x07]), .anyPrintableCharacter) == .failure(.invalidString))
        #expect(string(tlv(0x13, [0xE9]), .anyPrintableCharacter) == .failure(.invalidString))
    }

    @Test(arguments: [
        ("1E 04 00 41 00 E9", "Aé"), ("1E 02 D7 FF", "\u{D7FF}"), ("1E 02 E0 00", "\u{E000}"), ("1E 00", ""),
        ("1C 08 00 00 00 41 00 01 F6 00", "A😀"), ("1C 04 00 10 FF FF", "\u{10FFFF}"),
        ("14 03 41 E9 FF", "Aéÿ"), ("0C 04 F0 9F 98 80", "😀"),
    ])
    func `wide and Latin strings become Unicode`(row: (String, String)) {
        #expect(string(hex(row.0)) == .success(row.1))
    }

    @Test(arguments: [
        "1E 01 00", "1E 03 00 41 00", "1E 04 D8 3D DE 00", "1E 02 DF FF", "1C 02 00 41", "1C 04 00 11 00 00",
        "1C 04 00 00 D8 00", "1C 04 FF FF FF FF",
    ])
    func `half characters, surrogates and numbers beyond Unicode are refused`(text: String) {
        #expect(string(hex(text)) == .failure(.invalidString))
    }

    @Test(arguments: ["02 01 41", "19 01 41", "1B 01 41", "80 01 41", "30 00"])
    func `other types are no strings`(text: String) {
        #expect(string(hex(text)) == .failure(.unexpectedTag))
    }

    @Test func `each type asks for its own tag, and an implicit tag replaces it`() {
        let utf8 = outcome(hex("0C 01 41")) { (element) throws(ASN1DecodingError) in try element.ia5String() }
        #expect(utf8 == .failure(.unexpectedTag))
        let implicit = outcome(hex("82 01 41")) { (element) throws(ASN1DecodingError) in
            try element.ia5String(tagged: .context(2))
        }
        #expect(implicit == .success("A"))
        let control = outcome(hex("16 01 80")) { (element) throws(ASN1DecodingError) in try element.validatedIA5().count
        }
        #expect(control == .failure(.invalidString))
    }
}

@Suite struct UTF8ValidationTests {
    private func isValid(_ octets: [UInt8]) -> Bool {
        (try? outcome(tlv(0x0C, octets)) { (element) throws(ASN1DecodingError) in try element.validatedUTF8().count }
            .get()) != nil
    }

    /// The standard library decides, which calls text valid when decoding repairs nothing.
    private func isValidToStandardLibrary(_ octets: [UInt8]) -> Bool {
        String(validating: octets, as: UTF8.self) != nil
    }

    @Test func `all Unicode scalars are accepted, behind any number of ASCII characters`() {
        var text: [UInt8] = []
        for value in 0...0x10FFFF as ClosedRange<UInt32> {
            guard let scalar = Unicode.Scalar(value) else { continue }
            text += Array(UTF8.encode(scalar)!)
            if value % 5 == 0 { text.append(0x61) }
            if value % 0x1000 == 0xFFF {
                #expect(isValid(text))
                text = []
            }
        }
    }

    @Test(arguments: [
        "80", "BF", "C0 80", "C1 BF", "C2", "C2 41", "E0 9F BF", "E0 80 80", "ED A0 80", "ED BF BF", "E1 80",
        "E1 80 C0", "F0 8F BF BF",
        "F4 90 80 80", "F5 80 80 80", "F8 88 80 80 80", "FE", "FF", "F0 9F 98", "F0 9F 98 41",
    ])
    func `overlong forms, surrogates, stray and missing octets are refused at any distance`(text: String) {
        for padding in 0...17 {
            let octets = [UInt8](repeating: 0x61, count: padding) + hex(text)
            #expect(!isValid(octets))
            #expect(!isValid(octets + [UInt8](repeating: 0x61, count: 17 - padding)))
        }
    }

    @Test func `all two- and three-octet sequences are judged like the standard library`() {
        for lead in 0x7F...0xFF as ClosedRange<UInt8> {
            for second in 0...255 as ClosedRange<UInt8> {
                #expect(isValid([lead, second]) == isValidToStandardLibrary([lead, second]))
                guard lead >= 0xE0 else { continue }
                for third in [0x00, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xFF] as [UInt8] {
                    #expect(isValid([lead, second, third]) == isValidToStandardLibrary([lead, second, third]))
                    let four = [lead, second, third, 0x80]
                    #expect(isValid(four) == isValidToStandardLibrary(four))
                }
            }
        }
    }

    @Test func `random octets are judged like the standard library`() {
        var generator = SeededGenerator()
        let pieces: [[UInt8]] = [
            [0x61], [0xC3, 0xA9], [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x98, 0x80], [0x80], [0xED, 0xA0, 0x80],
            [0xF4, 0x90],
        ]
        for _ in 0..<20_000 {
            var octets: [UInt8] = []
            let bound = Bool.random(using: &generator) ? 4 : pieces.count
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                octets += pieces[Int.random(in: 0..<bound, using: &generator)]
            }
            #expect(isValid(octets) == isValidToStandardLibrary(octets))
        }
    }
}
