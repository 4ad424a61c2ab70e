import AppStoreReceipt
import SpanASN1

/// Writes a SET OF ReceiptAttribute: a receipt's payload, or one purchase.
///
/// All lengths are known before they are written, so that 100,000 purchases take about as long as copying them.
struct RecordWriter {
    private var bytes: [UInt8] = []
    private var attributes: [Range<Int>] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        attributes.removeAll(keepingCapacity: true)
    }

    // MARK: Attributes

    mutating func add(_ attribute: ReceiptAttribute) {
        add(attribute.type, version: attribute.version, valueCount: attribute.value.count) { bytes in
            bytes.append(contentsOf: attribute.value)
        }
    }

    mutating func addOctets(_ type: AttributeType, version: Int64 = 1, _ octets: [UInt8]?) {
        if let octets { add(ReceiptAttribute(type, version: version, value: octets)) }
    }

    mutating func addText(_ type: AttributeType, _ text: String?, tag: UInt8 = 0x0C) {
        guard let text else { return }
        let count = text.utf8.count
        add(type, valueCount: Self.elementCount(count)) { bytes in
            bytes.append(tag)
            bytes.append(length: count)
            bytes.append(contentsOf: text.utf8)
        }
    }

    mutating func addInteger(_ type: AttributeType, _ value: Int64?) {
        guard let value else { return }
        add(type, valueCount: Self.integerCount(value)) { bytes in Self.append(integer: value, to: &bytes) }
    }

    /// - Parameter isWrittenEmpty: whether `nil` is an empty string.
    mutating func addDate(_ type: AttributeType, _ date: Instant?, isWrittenEmpty: Bool = false) {
        guard let date else {
            if isWrittenEmpty { addText(type, "", tag: 0x16) }
            return
        }
        let parts = date.components
        guard parts.millisecond == 0, 0...9999 ~= parts.year else {
            return addText(type, date.description, tag: 0x16)
        }
        add(type, valueCount: 22) { bytes in
            bytes.append(0x16)
            bytes.append(20)
            Self.append(digits: parts.year / 100, to: &bytes)
            Self.append(digits: parts.year % 100, followedBy: "-", to: &bytes)
            Self.append(digits: parts.month, followedBy: "-", to: &bytes)
            Self.append(digits: parts.day, followedBy: "T", to: &bytes)
            Self.append(digits: parts.hour, followedBy: ":", to: &bytes)
            Self.append(digits: parts.minute, followedBy: ":", to: &bytes)
            Self.append(digits: parts.second, followedBy: "Z", to: &bytes)
        }
    }

    /// Adds an attribute whose value is a whole record.
    mutating func add(_ type: AttributeType, _ record: RecordWriter, order: ReceiptBuilder.AttributeOrder) {
        add(type, valueCount: Self.elementCount(record.bytes.count)) { bytes in record.write(to: &bytes, order: order) }
    }

    private mutating func add(
        _ type: AttributeType, version: Int64 = 1, valueCount: Int, _ writeValue: (inout [UInt8]) -> Void
    ) {
        let start = bytes.count
        bytes.append(0x30)
        bytes.append(
            length: Self.integerCount(type.rawValue) + Self.integerCount(version) + Self.elementCount(valueCount))
        Self.append(integer: type.rawValue, to: &bytes)
        Self.append(integer: version, to: &bytes)
        bytes.append(0x04)
        bytes.append(length: valueCount)
        writeValue(&bytes)
        attributes.append(start..<bytes.count)
    }

    // MARK: The record

    /// Appends the SET.
    func write(to output: inout [UInt8], order: ReceiptBuilder.AttributeOrder) {
        output.append(0x31)
        output.append(length: bytes.count)
        var ordered = attributes
        switch order {
        case .asGiven:
            output.append(contentsOf: bytes)
            return
        case .der:
            let bytes = bytes.span
            ordered.sort { Self.isAscending(bytes, $0, $1) }
        case .shuffled(let seed):
            var generator = SeededGenerator(seed: seed)
            ordered.shuffle(using: &generator)
        }
        for attribute in ordered { output.append(contentsOf: bytes[attribute]) }
    }

    /// X.690, 11.6: octet by octet. No element is the beginning of another.
    private static func isAscending(_ bytes: Span<UInt8>, _ first: Range<Int>, _ second: Range<Int>) -> Bool {
        for distance in 0..<min(first.count, second.count) {
            let (lhs, rhs) = (bytes[first.lowerBound + distance], bytes[second.lowerBound + distance])
            if lhs != rhs { return lhs < rhs }
        }
        return first.count < second.count
    }

    // MARK: Octets

    private static func elementCount(_ contentCount: Int) -> Int {
        1 + [UInt8].lengthOctetCount(contentCount) + contentCount
    }

    private static func octetCount(_ integer: Int64) -> Int {
        (Int64.bitWidth - (integer < 0 ? ~integer : integer).leadingZeroBitCount) / 8 + 1
    }

    private static func integerCount(_ integer: Int64) -> Int { 2 + octetCount(integer) }

    private static func append(integer: Int64, to bytes: inout [UInt8]) {
        let count = octetCount(integer)
        bytes.append(0x02)
        bytes.append(UInt8(count))
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: integer >> (index * 8))) }
    }

    private static func append(digits value: Int, followedBy separator: Unicode.Scalar? = nil, to bytes: inout [UInt8])
    {
        bytes.append(digits: value, 2)
        if let separator { bytes.append(UInt8(truncatingIfNeeded: separator.value)) }
    }
}
