import Instants
import SpanASN1

/// Reads one in-app purchase: a SET OF ReceiptAttribute with types from 1701. This is the hot loop of a large receipt.
struct PurchaseDecoder: ~Escapable {
    /// The whole payload.
    private let bytes: Span<UInt8>
    private let baseOffset: Int

    @_lifetime(copy payload)
    init(_ payload: Span<UInt8>, baseOffset: Int) {
        bytes = payload
        self.baseOffset = baseOffset
    }

    /// - Parameter index: the index of the purchase in the receipt.
    func read(_ range: Range<Int>, index: Int, into entry: inout PurchaseEntry) throws(ASN1DecodingError) {
        /// The attributes 1701–1722 that were found, with or without a value.
        var seen: UInt32 = 0
        var position = range.lowerBound
        while true {
            position = readShort(at: position, range.upperBound, &entry, &seen)
            guard position < range.upperBound else { return }
            position = try readAny(at: position, range.upperBound, &entry, &seen, index: index)
        }
    }

    /// Reads attributes of the most common encoding, and returns the offset of the first attribute with another
    /// encoding or with a fault, which ``readAny(at:_:_:_:index:)`` reads.
    ///
    /// `30 L  02 02 06 TT  02 01 01  04 L−9  tag L−11 …`, all lengths short and giving the same end, type 1701–1722.
    @inline(never)
    private func readShort(
        at start: Int, _ end: Int, _ entry: inout PurchaseEntry, _ allSeen: inout UInt32
    ) -> Int {
        let bytes = bytes
        var position = start
        var seen = allSeen
        /// Those of `seen` that have no value.
        var empty: UInt32 = allSeen
        // The header has 13 octets. The next one is the first of the value, or follows it.
        attributes: while position < end, bytes.count &- position >= 24 {
            let words = bytes.load(at: position, as: AttributeWords.self)
            let count = words.head >> 8 & 0xFF
            // Zero if everything is valid. A length above 127 sets bit 15, a length below 11 the upper half.
            let wrong =
                ((words.head & 0xFFFF_00FF_FFFF_80FF) ^ 0x0102_0006_0202_0030)
                | ((words.tail & 0x0000_00FF_00FF_FFFF) ^ (count &* 0x1_0001_0000 &- 0xB_0008_FBFF))
            let next = position &+ 2 &+ Int(truncatingIfNeeded: count)
            guard wrong == 0, next <= end,
                let field = PurchaseField(index: UInt8(truncatingIfNeeded: words.head >> 40) &- 0xA5)
            else { break }
            guard seen & field.bit == 0 else { break }
            let tag = UInt8(truncatingIfNeeded: words.tail >> 24)
            let valueCount = count &- 11
            switch field.storage {
            case .none:
                // An unknown attribute can have any value, and can be repeated.
                position = next
                continue attributes
            case .integer:
                guard tag == 0x02, let value = words.value.minimalInteger(octetCount: valueCount)
                else { break attributes }
                entry[field] = value
            case .flag:
                guard tag == 0x02, valueCount == 1, words.value & 0xFF <= 1 else { break attributes }
                entry[field] = words.value & 0xFF
            case .string:
                guard tag == 0x0C, valueCount > 0,
                    bytes.isASCII(position &+ 13, Int(truncatingIfNeeded: valueCount), startingWith: words.value)
                else { break attributes }
                entry[field] = UInt64(UInt32(truncatingIfNeeded: position &+ 13)) | valueCount << 32
            case .date:
                guard tag == 0x16 else { break attributes }
                if valueCount == 0 {
                    empty |= field.bit
                } else {
                    guard valueCount == 20,
                        let date = Instant(plain: bytes.load(at: position &+ 13, as: PlainDateWords.self))
                    else { break attributes }
                    entry[field] = UInt64(bitPattern: date.millisecondsSince1970)
                }
            }
            seen |= field.bit
            position = next
        }
        allSeen = seen
        entry.present |= seen & ~empty
        return position
    }

    /// Reads an attribute of any encoding, and returns the offset of the next.
    @inline(never)
    private func readAny(
        at position: Int, _ end: Int, _ entry: inout PurchaseEntry, _ seen: inout UInt32, index: Int
    ) throws(ASN1DecodingError) -> Int {
        var type: AttributeType?
        do throws(ASN1DecodingError) {
            var cursor = ASN1Cursor(bytes.extracting(position..<end), baseOffset: baseOffset + position)
            let attribute = try AttributeView(&cursor)
            type = attribute.type
            if let row = attribute.type.row, let field = PurchaseField(attribute.type) {
                guard seen & field.bit == 0 else {
                    throw ASN1DecodingError(.duplicateElement, offset: attribute.offset)
                }
                seen |= field.bit
                do throws(ASN1DecodingError) {
                    if let bits = try attribute.bits(row.valueType, baseOffset: baseOffset) { entry.set(field, bits) }
                } catch {
                    guard row.source == .inferred else { throw error }
                }
            }
            return end - cursor.remainingCount
        } catch {
            throw error.within(type ?? .inAppPurchase, index: index)
        }
    }
}

/// The first 24 octets of an attribute. The value begins at octet 13.
private struct AttributeWords: BitwiseCopyable {
    var head, tail, rest: UInt64

    /// 8 octets from the start of the value.
    var value: UInt64 { tail >> 40 | rest << 24 }
}

extension Span<UInt8> {
    /// Words of 8 octets, the first in the lowest byte.
    ///
    /// This is safe: the bounds are checked, and `Words` consists of integers, for which all bits are valid. (Loads of
    /// one checked octet after the other cost the hot loop a third of its speed.)
    @inline(__always)
    func load<Words: BitwiseCopyable>(at offset: Int, as words: Words.Type) -> Words {
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: words)
    }

    @inline(__always)
    func word(at offset: Int) -> UInt64 { load(at: offset, as: UInt64.self) }

    /// Whether octets are ASCII. `word` has the first 8, or all of them and the octets that follow.
    @inline(__always)
    fileprivate func isASCII(_ start: Int, _ count: Int, startingWith word: UInt64) -> Bool {
        var bits = word
        if count < 8 {
            bits &<<= UInt64(64 &- 8 &* count)
        } else {
            // The last word overlaps the one before it.
            let last = start &+ count &- 8
            var offset = start &+ 8
            while offset < last {
                bits |= self.word(at: offset)
                offset &+= 8
            }
            bits |= self.word(at: last)
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }
}

extension UInt64 {
    /// The value of an INTEGER's content, 1 to 8 octets, the first in the lowest byte of this word; `nil` when it is
    /// negative or not in the fewest octets: the first nine bits must not all be 0 (X.690, 8.3.2).
    @inline(__always)
    fileprivate func minimalInteger(octetCount: UInt64) -> UInt64? {
        let content = byteSwapped
        guard octetCount &- 1 < 8, content >> 63 == 0, content >> 55 != 0 || octetCount == 1 else { return nil }
        return content &>> (64 &- 8 &* octetCount)
    }
}
