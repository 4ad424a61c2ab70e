import SpanASN1
import Testing

typealias Kind = ASN1DecodingError.Kind

/// What reading the one element of `bytes` gives: a value, or the kind of error, which must lie at an offset of the
/// input.
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
