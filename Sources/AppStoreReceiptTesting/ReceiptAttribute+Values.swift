public import AppStoreReceipt
import SpanASN1

extension ReceiptAttribute {
    /// Returns an attribute whose value is a UTF8String, such as an id, a name or a version.
    public static func utf8String(_ type: AttributeType, _ text: String) -> ReceiptAttribute {
        ReceiptAttribute(type, value: ASN1Writer.encode { $0.writeUTF8String(text) })
    }

    /// Returns an attribute whose value is an IA5String. The characters are not checked.
    public static func ia5String(_ type: AttributeType, _ text: String) -> ReceiptAttribute {
        ReceiptAttribute(type, value: ASN1Writer.encode { $0.writeUTF8String(text, tagged: .ia5String) })
    }

    /// Returns an attribute whose value is an INTEGER. Boolean values are 0 and 1.
    public static func integer(_ type: AttributeType, _ value: Int64) -> ReceiptAttribute {
        ReceiptAttribute(type, value: ASN1Writer.encode { $0.writeInteger(value) })
    }

    /// Returns an attribute whose value is a date. With `nil`, it is an empty string, which means that there is no
    /// date.
    public static func date(_ type: AttributeType, _ date: Instant?) -> ReceiptAttribute {
        .ia5String(type, date?.description ?? "")
    }
}

extension AttributeType {
    // Attributes that are known but not understood.
    static let unknownOpaque6 = AttributeType(rawValue: 6)
    static let unknownOpaque7 = AttributeType(rawValue: 7)
    static let unknownInteger14 = AttributeType(rawValue: 14)
    static let unknownString20 = AttributeType(rawValue: 20)
}
