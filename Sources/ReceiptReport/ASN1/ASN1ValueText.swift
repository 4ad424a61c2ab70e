package import SpanASN1
import StrictText

/// The value of a primitive element as text.
package enum ASN1ValueText {
    private static let maximumOctetCount = 32
    private static let maximumCharacterCount = 200

    /// The value by its type, or its octets if the type has no text or does not allow the value.
    package static func text(of element: borrowing ASN1Element) -> String {
        do throws(ASN1DecodingError) {
            return try typed(element) ?? octets(element.content)
        } catch {
            return "\(octets(element.content)) (\(error.kind.rawValue))"
        }
    }

    /// Whether the value is valid for its universal type.
    package static func isValid(_ element: borrowing ASN1Element) -> Bool {
        (try? typed(element)) != nil
    }

    /// Returns the text of the value; `nil` for a type without one.
    private static func typed(_ element: borrowing ASN1Element) throws(ASN1DecodingError) -> String? {
        switch element.tag {
        case .boolean: return try element.boolean() ? "TRUE" : "FALSE"
        case .integer: return try integer(element.integerBytes())
        case .enumerated: return try integer(element.integerBytes(tagged: .enumerated))
        case .null:
            try element.null()
            return ""
        case .objectIdentifier:
            guard element.contentCount <= maximumOctetCount else { return nil }
            let identifier = try element.objectIdentifier()
            return identifier.name.map { "\(identifier) \($0)" } ?? identifier.description
        case .relativeOID:
            return element.contentCount <= maximumOctetCount ? try element.relativeOID().description : nil
        case .utf8String, .printableString, .ia5String, .numericString, .visibleString, .bmpString,
            .universalString, .teletexString:
            return quoted(try element.string())
        case .utcTime: return try element.utcTime().text
        case .generalizedTime: return try element.generalizedTime().text
        case .bitString:
            let bits = try element.bitString()
            let unused = bits.unusedBitCount
            return octets(bits.bytes) + (unused == 0 ? "" : ", \(unused) bit\(unused == 1 ? "" : "s") unused")
        case .octetString: return octets(element.content)
        default:
            // Implicitly tagged text, such as the URI in a GeneralName.
            let content = element.content
            guard !element.tag.isUniversal, content.count > 3 else { return nil }
            for index in content.indices where !(0x20...0x7E ~= content[index]) { return nil }
            return quoted(String(decoding: [UInt8](copying: content), as: UTF8.self))
        }
    }

    private static func integer(_ octets: Span<UInt8>) -> String {
        guard octets.count > 8 else {
            var value = Int64(Int8(bitPattern: octets[0]))
            for index in 1..<octets.count { value = value << 8 | Int64(octets[index]) }
            return String(value)
        }
        return "\(hexadecimal(octets)) (\(octets.count * 8) bits)"
    }

    private static func quoted(_ text: String) -> String {
        let end = text.index(text.startIndex, offsetBy: maximumCharacterCount, limitedBy: text.endIndex)
        guard let end, end != text.endIndex else { return "\"\(text.printable)\"" }
        return "\"\(String(text[..<end]).printable)\"… (\(text.utf8.count) bytes)"
    }

    private static func octets(_ octets: Span<UInt8>) -> String {
        octets.isEmpty ? "(empty)" : hexadecimal(octets)
    }

    private static func hexadecimal(_ octets: Span<UInt8>) -> String {
        let shown = octets.extracting(first: maximumOctetCount)
        return Hexadecimal.text(shown) + (octets.count > shown.count ? "…" : "")
    }
}
