import Instants
import SpanASN1
import StrictText

/// One attribute of a receipt or of a purchase, with readers for the formats of its value.
struct AttributeView: ~Escapable {
    let type: AttributeType
    let version: Int64
    /// The value, an OCTET STRING.
    let value: ASN1Element
    /// The offset of the attribute in the received bytes.
    let offset: Int

    @_lifetime(copy cursor)
    init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        let attribute = try cursor.read(.sequence)
        offset = attribute.offset
        var fields = attribute.contents
        type = AttributeType(rawValue: try fields.read(.integer).integer(as: Int64.self))
        version = try fields.read(.integer).integer(as: Int64.self)
        value = try fields.read(.octetString)
        try fields.finish()
    }

    /// The only element in the value.
    @_lifetime(copy self)
    func element(_ tag: ASN1Tag) throws(ASN1DecodingError) -> ASN1Element {
        var content = value.contents
        let element = try content.read(tag)
        try content.finish()
        return element
    }

    /// An INTEGER that is not negative.
    func integer() throws(ASN1DecodingError) -> Int64 {
        let element = try element(.integer)
        let value: Int64 = try element.integer(as: Int64.self)
        guard value >= 0 else { throw element.error(.integerOutOfRange) }
        return value
    }

    /// An INTEGER 0 or 1.
    func flag() throws(ASN1DecodingError) -> Bool {
        let element = try element(.integer)
        let value: Int64 = try element.integer(as: Int64.self)
        guard 0...1 ~= value else { throw element.error(.integerOutOfRange) }
        return value == 1
    }

    /// The range of the characters of a UTF8String in the received bytes.
    func utf8() throws(ASN1DecodingError) -> Range<Int> {
        let element = try element(.utf8String)
        _ = try element.validatedUTF8()
        return element.contentRange
    }

    /// The range of the characters of an IA5String in the received bytes.
    func ia5() throws(ASN1DecodingError) -> Range<Int> {
        let element = try element(.ia5String)
        _ = try element.validatedIA5()
        return element.contentRange
    }

    /// An IA5String with a date; `nil` if it is empty.
    func date() throws(ASN1DecodingError) -> Instant? {
        let element = try element(.ia5String)
        if element.contentCount == 0 { return nil }
        guard let date = Instant(rfc3339: element.content) else { throw element.error(.invalidTime) }
        return date
    }
}
