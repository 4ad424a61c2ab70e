import SpanASN1
import Testing

/// Bytes from hexadecimal digits, with spaces anywhere.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// One element in DER, encoded apart from the code under test.
func tlv(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    var length: [UInt8] = [UInt8(truncatingIfNeeded: content.count)]
    if content.count >= 0x80 {
        var octets: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            octets.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        length = [0x80 | UInt8(octets.count)] + octets
    }
    return [tag] + length + content
}

func tlv(_ tag: UInt8, _ text: String) -> [UInt8] { tlv(tag, [UInt8](text.utf8)) }

typealias Kind = ASN1DecodingError.Kind

/// What reading the one element of `bytes` gives: a value, or the kind of error, which must lie at an offset of the input.
func outcome<Value>(
    _ bytes: [UInt8], _ relaxations: ASN1Relaxations = [], _ read: (ASN1Element) throws(ASN1DecodingError) -> Value,
    location: SourceLocation = #_sourceLocation
) -> Result<Value, ASN1DecodingError.Kind> {
    decode(bytes, relaxations, location: location) { (cursor) throws(ASN1DecodingError) in try read(cursor.read()) }
}

func decode<Value>(
    _ bytes: [UInt8], _ relaxations: ASN1Relaxations = [], location: SourceLocation = #_sourceLocation,
    _ read: (inout ASN1Cursor) throws(ASN1DecodingError) -> Value
) -> Result<Value, ASN1DecodingError.Kind> {
    do {
        return .success(try ASN1Cursor.decode(bytes.span, baseOffset: 1000, allowing: relaxations, read))
    } catch {
        #expect(1000...1000 + bytes.count ~= error.offset, sourceLocation: location)
        return .failure(error.kind)
    }
}

/// The error that reading from a cursor throws, if any, and how far the cursor came.
func failure(
    _ bytes: Span<UInt8>, baseOffset: Int = 0, _ read: (inout ASN1Cursor) throws(ASN1DecodingError) -> Void
) -> (error: ASN1DecodingError?, offset: Int) {
    var cursor = ASN1Cursor(bytes, baseOffset: baseOffset)
    do {
        try read(&cursor)
        return (nil, cursor.offset)
    } catch {
        return (error, cursor.offset)
    }
}

extension ASN1DecodingError.Kind: Error {}
