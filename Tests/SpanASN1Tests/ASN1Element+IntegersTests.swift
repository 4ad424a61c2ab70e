import SpanASN1
import TestSupport
import Testing

@Suite struct IntegerTests {
    private func integer<T: FixedWidthInteger>(
        _ text: String, as type: T.Type = Int.self, _ relaxations: ASN1Relaxations = []
    ) -> Result<T, Kind> {
        outcome(hex(text), relaxations) { (element) throws(ASN1DecodingError) in try element.integer(as: type) }
    }

    @Test(arguments: [
        ("02 01 00", 0), ("02 01 7F", 127), ("02 02 00 80", 128), ("02 01 80", -128), ("02 02 FF 7F", -129),
        ("02 01 FF", -1), ("02 02 01 00", 256), ("02 05 00 FF FF FF FF", 4_294_967_295),
        ("02 08 7F FF FF FF FF FF FF FF", Int.max), ("02 08 80 00 00 00 00 00 00 00", Int.min),
    ])
    func `an INTEGER is two's complement`(row: (String, Int)) {
        #expect(integer(row.0) == .success(row.1))
    }

    @Test(arguments: [
        "02 00", "02 02 00 00", "02 02 00 7F", "02 02 FF 80", "02 02 FF FF", "02 09 00 7F FF FF FF FF FF FF FF",
    ])
    func `an INTEGER that is empty or too long is refused`(text: String) {
        #expect(integer(text) == .failure(.invalidInteger))
    }

    @Test func `each type takes what it can hold and nothing else`() {
        #expect(integer("02 02 00 FF", as: UInt8.self) == .success(255))
        #expect(integer("02 02 01 00", as: UInt8.self) == .failure(.integerOutOfRange))
        #expect(integer("02 01 FF", as: UInt8.self) == .failure(.integerOutOfRange))
        #expect(integer("02 01 80", as: Int8.self) == .success(-128))
        #expect(integer("02 02 00 80", as: Int8.self) == .failure(.integerOutOfRange))
        #expect(integer("02 09 00 FF FF FF FF FF FF FF FF", as: UInt64.self) == .success(.max))
        #expect(integer("02 09 00 FF FF FF FF FF FF FF FF") == .failure(.integerOutOfRange))
        #expect(integer("02 09 01 00 00 00 00 00 00 00 00", as: UInt64.self) == .failure(.integerOutOfRange))
        #expect(integer("02 09 FF 00 00 00 00 00 00 00 00", as: UInt64.self) == .failure(.integerOutOfRange))
        #expect(integer("02 09 FF 00 00 00 00 00 00 00 00") == .failure(.integerOutOfRange))
        #expect(integer("02 09 FF 00 00 00 00 00 00 00 00", as: Int128.self) == .success(-1 << 64))
        #expect(integer("02 10 80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", as: Int128.self) == .success(.min))
        #expect(integer("02 11 00 FF FF FF FF FF FF FF FF FF FF FF FF FF FF FF FF", as: UInt128.self) == .success(.max))
        #expect(
            integer("02 11 01 FF FF FF FF FF FF FF FF FF FF FF FF FF FF FF FF", as: UInt128.self)
                == .failure(.integerOutOfRange))
    }

    @Test func `an INTEGER of any size is readable as octets`() {
        func signed(_ text: String) -> Result<[UInt8], Kind> {
            outcome(hex(text)) { (element) throws(ASN1DecodingError) in [UInt8](copying: try element.integerBytes()) }
        }
        func unsigned(_ text: String) -> Result<[UInt8], Kind> {
            outcome(hex(text)) { (element) throws(ASN1DecodingError) in
                [UInt8](copying: try element.unsignedIntegerBytes())
            }
        }
        #expect(signed("02 02 00 80") == .success([0x00, 0x80]))
        #expect(signed("02 01 80") == .success([0x80]))
        #expect(signed("02 02 00 01") == .failure(.invalidInteger))
        #expect(unsigned("02 02 00 80") == .success([0x80]))
        #expect(unsigned("02 01 00") == .success([0]))
        #expect(unsigned("02 01 80") == .failure(.integerOutOfRange))
        #expect(unsigned("02 00") == .failure(.invalidInteger))
    }

    @Test func `a relaxation drops superfluous octets`() {
        #expect(integer("02 04 00 00 00 80", .nonMinimalIntegers) == .success(128))
        #expect(integer("02 03 FF FF FF", .nonMinimalIntegers) == .success(-1))
        #expect(integer("02 0A 00 00 00 00 00 00 00 00 00 05", as: UInt8.self, .nonMinimalIntegers) == .success(5))
        #expect(integer("02 00", .nonMinimalIntegers) == .failure(.invalidInteger))
    }

    @Test func `an ENUMERATED is an INTEGER under another tag, and an implicit tag replaces either`() {
        func read(_ text: String, _ body: (ASN1Element) throws(ASN1DecodingError) -> Int) -> Result<Int, Kind> {
            outcome(hex(text), [], body)
        }
        #expect(read("0A 01 03") { (element) throws(ASN1DecodingError) in try element.enumerated() } == .success(3))
        #expect(
            read("02 01 03") { (element) throws(ASN1DecodingError) in try element.enumerated() }
                == .failure(.unexpectedTag))
        #expect(
            read("80 01 03") { (element) throws(ASN1DecodingError) in try element.integer(tagged: .context(0)) }
                == .success(3))
        #expect(
            read("A0 01 03") { (element) throws(ASN1DecodingError) in try element.integer(tagged: .context(0)) }
                == .failure(.constructedString))
        #expect(
            read("81 01 03") { (element) throws(ASN1DecodingError) in try element.integer(tagged: .context(0)) }
                == .failure(.unexpectedTag))
    }
}

@Suite struct BooleanAndNullTests {
    @Test func `a BOOLEAN is one octet, all zeros or all ones`() {
        func boolean(_ text: String, _ relaxations: ASN1Relaxations = []) -> Result<Bool, Kind> {
            outcome(hex(text), relaxations) { (element) throws(ASN1DecodingError) in try element.boolean() }
        }
        #expect(boolean("01 01 00") == .success(false))
        #expect(boolean("01 01 FF") == .success(true))
        #expect(boolean("01 01 01") == .failure(.invalidBoolean))
        #expect(boolean("01 00") == .failure(.invalidBoolean))
        #expect(boolean("01 02 FF FF") == .failure(.invalidBoolean))
        #expect(boolean("01 01 01", .nonCanonicalBooleans) == .success(true))
        #expect(boolean("01 00", .nonCanonicalBooleans) == .failure(.invalidBoolean))
    }

    @Test func `a NULL is empty`() {
        func isNull(_ text: String) -> Result<Bool, Kind> {
            outcome(hex(text)) { (element) throws(ASN1DecodingError) in
                try element.null()
                return true
            }
        }
        #expect(isNull("05 00") == .success(true))
        #expect(isNull("05 01 00") == .failure(.invalidNull))
        #expect(isNull("25 00") == .failure(.unexpectedTag))
    }
}
