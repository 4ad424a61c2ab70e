import Instants
import SpanASN1

/// Bytes of the payload, by offset from its start.
struct ByteRange: Sendable {
    var start: UInt32 = 0
    var count: UInt32 = 0

    init() {}
    init(bits: UInt64) {
        start = UInt32(truncatingIfNeeded: bits)
        count = UInt32(truncatingIfNeeded: bits >> 32)
    }
    init(_ range: Range<Int>) {
        start = UInt32(truncatingIfNeeded: range.lowerBound)
        count = UInt32(truncatingIfNeeded: range.count)
    }

    var bits: UInt64 { UInt64(start) | UInt64(count) << 32 }
    var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
}

/// The values of attributes, by type: integers, dates, and the ranges of strings and octets.
protocol AttributeValues {
    /// The bits of a value, which must be present.
    func bits(_ type: AttributeType) -> UInt64?
}

extension AttributeValues {
    func has(_ type: AttributeType) -> Bool { bits(type) != nil }

    /// An integer; a date in milliseconds since 1970; 0 or 1 for a flag.
    @inline(__always)
    func number(_ type: AttributeType) -> Int64? { bits(type).map { Int64(bitPattern: $0) } }

    /// A date.
    func date(_ type: AttributeType) -> Instant? { number(type).map(Instant.init(millisecondsSince1970:)) }

    /// The range of a string or of octets.
    @inline(__always)
    func bytes(_ type: AttributeType) -> ByteRange? { bits(type).map(ByteRange.init(bits:)) }

    /// Whether a typed field shows the value of an attribute. The value of an inferred attribute can have another
    /// format than its field.
    func shows(_ row: AttributeType.Row) -> Bool { row.source != .inferred || has(row.type) }
}

extension AttributeView {
    /// The bits of the value for the table; `nil` for an empty string, which counts as no value.
    ///
    /// - Parameter baseOffset: the offset of the payload in the received bytes.
    func bits(_ type: AttributeType.ValueType, baseOffset: Int) throws(ASN1DecodingError) -> UInt64? {
        func bits(_ range: Range<Int>) -> UInt64? {
            range.isEmpty ? nil : ByteRange(range.shifted(by: -baseOffset)).bits
        }
        switch type {
        case .integer: return UInt64(bitPattern: try integer())
        case .boolean: return try flag() ? 1 : 0
        case .date: return try date().map { UInt64(bitPattern: $0.millisecondsSince1970) }
        case .utf8String: return bits(try utf8())
        case .ia5String: return bits(try ia5())
        case .octets: return bits(value.contentRange)
        case .purchase: return nil
        }
    }
}

/// The decoded contents of a receipt. The size is fixed, except for the purchases.
struct ReceiptTable: AttributeValues, Sendable {
    /// Only attributes 0 to 39 have a slot.
    static let placeCount = 40

    /// The offset of the content of the payload's SET.
    var contentStart = 0
    /// The attributes with a value: bit *n* for attribute *n*.
    private var present: UInt64 = 0
    private var values = InlineArray<40, UInt64>(repeating: 0)
    /// The encoded value of attribute 2, which is part of the input of the device hash.
    var encodedBundleID = ByteRange()
    var purchases: [PurchaseEntry] = []

    func bits(_ type: AttributeType) -> UInt64? {
        guard 0..<Int64(Self.placeCount) ~= type.rawValue, present >> UInt64(type.rawValue) & 1 == 1 else { return nil }
        return values[Int(type.rawValue)]
    }

    mutating func set(_ type: AttributeType, _ bits: UInt64) {
        guard 0..<Int64(Self.placeCount) ~= type.rawValue else { return }
        values[Int(type.rawValue)] = bits
        present |= 1 << UInt64(type.rawValue)
    }

    /// See ``AttributeValues/shows(_:)``.
    func shows(_ type: AttributeType) -> Bool {
        guard 0..<Int64(Self.placeCount) ~= type.rawValue, let row = type.row else { return false }
        return shows(row)
    }
}
