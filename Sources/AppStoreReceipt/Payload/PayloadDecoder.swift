import LargeMemory
import Instants
import SpanASN1

/// Reads a receipt's payload once and checks every value in it.
///
/// ```asn1
/// Payload          ::= SET OF ReceiptAttribute
/// ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }
/// ```
///
/// The value of an attribute is DER. The value of attribute 17 is another SET OF ReceiptAttribute: one in-app purchase.
/// Offsets in the table count from the start of the payload. Offsets in errors count from the start of the received
/// bytes.
struct PayloadDecoder: ~Escapable {
    private let bytes: Span<UInt8>
    private let baseOffset: Int
    private let maximumPurchaseCount: Int
    private let purchaseDecoder: PurchaseDecoder
    private var table = ReceiptTable()
    /// The outer attributes that were found, with or without a value: bit *n* for attribute *n*.
    private var seen: UInt64 = 0

    @_lifetime(copy payload)
    private init(_ payload: Span<UInt8>, baseOffset: Int, maximumPurchaseCount: Int) {
        bytes = payload
        self.baseOffset = baseOffset
        self.maximumPurchaseCount = maximumPurchaseCount
        purchaseDecoder = PurchaseDecoder(payload, baseOffset: baseOffset)
    }

    /// - Parameter baseOffset: the offset of `payload` in the received bytes.
    /// - Throws: an error whose path names the attribute and, inside a purchase, the purchase's index.
    static func decode(
        _ payload: Span<UInt8>, baseOffset: Int, maximumPurchaseCount: Int = .max
    ) throws(ASN1DecodingError) -> ReceiptTable {
        var decoder = PayloadDecoder(payload, baseOffset: baseOffset, maximumPurchaseCount: maximumPurchaseCount)
        var cursor = ASN1Cursor(payload, baseOffset: baseOffset)
        let set = try cursor.read(.set)
        try cursor.finish()
        decoder.table.contentStart = set.headerCount
        try decoder.readOuter(from: set.headerCount, to: payload.count)
        return decoder.table
    }

    /// The creation date alone, which is needed to validate the signer's chain before the payload is decoded.
    ///
    /// This function allocates nothing. For a payload that ``decode(_:baseOffset:maximumPurchaseCount:)`` accepts it
    /// returns the same date.
    static func creationDate(_ payload: Span<UInt8>, baseOffset: Int) throws(VerificationError) -> Instant {
        var found: Instant?
        var isSeen = false
        do throws(ASN1DecodingError) {
            var cursor = ASN1Cursor(payload, baseOffset: baseOffset)
            var attributes = try cursor.read(.set).contents
            try cursor.finish()
            while !attributes.isAtEnd {
                let attribute = try AttributeView(&attributes)
                guard attribute.type == .creationDate else { continue }
                do throws(ASN1DecodingError) {
                    guard !isSeen else { throw ASN1DecodingError(.duplicateElement, offset: attribute.offset) }
                    isSeen = true
                    found = try attribute.date()
                } catch {
                    throw error.within(.creationDate)
                }
            }
        } catch {
            guard error.path.field?.attributeType == .creationDate else { throw VerificationError(.payload(error)) }
            let isRepeated = error.kind == .duplicateElement
            throw VerificationError(
                .date(isRepeated ? .repeatedCreationDate : .unreadableCreationDate, offset: error.offset))
        }
        guard let found else { throw VerificationError(.date(.missingCreationDate, offset: baseOffset)) }
        return found
    }
}

// MARK: - The receipt's own attributes

extension PayloadDecoder {
    private mutating func readOuter(from start: Int, to end: Int) throws(ASN1DecodingError) {
        var position = start
        while position < end {
            if let record = Self.longPurchase(in: bytes, at: position, end) {
                try readPurchase(record)
                position = record.upperBound
                continue
            }
            var cursor = ASN1Cursor(bytes.extracting(position..<end), baseOffset: baseOffset + position)
            let attribute = try AttributeView(&cursor)
            if attribute.type == .inAppPurchase {
                let record: Range<Int>
                do throws(ASN1DecodingError) {
                    let set = try attribute.element(.set)
                    record = set.contentRange.lowerBound - baseOffset..<set.contentRange.upperBound - baseOffset
                } catch {
                    throw error.within(.inAppPurchase, index: table.purchases.count)
                }
                try readPurchase(record)
            } else {
                do throws(ASN1DecodingError) {
                    try store(attribute)
                } catch {
                    throw error.within(attribute.type)
                }
            }
            position = end - cursor.remainingCount
        }
    }

    /// The content of the SET of an attribute 17 whose lengths all have two octets, as in purchases of 256 bytes and
    /// more.
    ///
    /// `30 82 LL LL  02 01 11  02 01 01  04 82 LL LL  31 82 LL LL`, where all lengths give the same end.
    ///
    /// Static, because the compiler copies `self` with its table for a method: 76 instructions for each purchase.
    private static func longPurchase(in bytes: Span<UInt8>, at position: Int, _ end: Int) -> Range<Int>? {
        guard position &+ 24 <= bytes.count else { return nil }
        let window = bytes.extracting(position..<position &+ 24)
        let head = window.word(at: 0)
        let tail = window.word(at: 8)
        guard head & 0xFFFF_FFFF_0000_FFFF == 0x0211_0102_0000_8230,
            tail & 0xFFFF_0000_FFFF_FFFF == 0x8231_0000_8204_0101
        else { return nil }
        let outer = Int(UInt16(truncatingIfNeeded: head >> 16).byteSwapped)
        let middle = Int(UInt16(truncatingIfNeeded: tail >> 32).byteSwapped)
        let inner = Int(UInt16(truncatingIfNeeded: window.word(at: 16)).byteSwapped)
        guard inner >= 256, middle == inner &+ 4, outer == middle &+ 10, outer <= end &- position &- 4 else {
            return nil
        }
        return position &+ 18..<position &+ 18 &+ inner
    }

    private mutating func readPurchase(_ record: Range<Int>) throws(ASN1DecodingError) {
        let index = table.purchases.count
        guard index < maximumPurchaseCount else {
            throw ASN1DecodingError(.tooManyElements, offset: baseOffset + record.lowerBound)
                .within(.inAppPurchase, index: index)
        }
        if index == 0 {
            // Reserve memory as if all purchases were as large as the first, but no more than the size of the payload.
            let count = (bytes.count - record.lowerBound) / max(record.count, MemoryLayout<PurchaseEntry>.stride) + 1
            table.purchases.reserveLargeCapacity(min(count, maximumPurchaseCount), likelyCount: count / 8 * 7)
        }
        table.purchases.append(PurchaseEntry(record: ByteRange(record)))
        try purchaseDecoder.read(record, index: index, into: &table.purchases[index])
    }

    private mutating func store(_ attribute: AttributeView) throws(ASN1DecodingError) {
        let type = attribute.type
        guard 0..<Int64(ReceiptTable.placeCount) ~= type.rawValue, let row = type.row else { return }
        let bit: UInt64 = 1 << UInt64(type.rawValue)
        guard seen & bit == 0 else { throw ASN1DecodingError(.duplicateElement, offset: attribute.offset) }
        seen |= bit
        if type == .bundleID {
            table.encodedBundleID = ByteRange(attribute.value.contentRange.shifted(by: -baseOffset))
        }
        do throws(ASN1DecodingError) {
            if let bits = try attribute.bits(row.valueType, baseOffset: baseOffset) { table.set(type, bits) }
        } catch {
            guard row.source == .inferred else { throw error }
        }
    }
}

extension Range<Int> {
    func shifted(by distance: Int) -> Range<Int> { lowerBound + distance..<upperBound + distance }
}

extension ASN1DecodingError {
    /// The field of an attribute: its name is that of the attribute's number, if it is known.
    func within(_ type: AttributeType, index: Int? = nil) -> ASN1DecodingError {
        within(ASN1Field(rawValue: UInt16(exactly: type.rawValue) ?? ASN1Field.unknownAttribute.rawValue), index: index)
    }
}
