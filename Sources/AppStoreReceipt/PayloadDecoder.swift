import SpanASN1

/// Reads a receipt's payload once and checks every value in it.
///
/// ```asn1
/// Payload          ::= SET OF ReceiptAttribute
/// ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }
/// ```
///
/// The value of an attribute is itself DER; that of attribute 17 is another SET OF ReceiptAttribute, one in-app purchase.
/// Offsets in the table count from the start of the payload, those of errors from the start of the received bytes.
struct PayloadDecoder: ~Escapable {
    private let bytes: Span<UInt8>
    private let baseOffset: Int
    private let maximumPurchaseCount: Int
    private var table = ReceiptTable()
    /// Which outer attributes were met, with or without a value: bit *n* for attribute *n*.
    private var seen: UInt64 = 0

    @_lifetime(copy payload)
    private init(_ payload: Span<UInt8>, baseOffset: Int, maximumPurchaseCount: Int) {
        bytes = payload
        self.baseOffset = baseOffset
        self.maximumPurchaseCount = maximumPurchaseCount
    }

    /// - Parameter baseOffset: where `payload` begins in the received bytes.
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

    /// The creation date alone: what must be known to judge the signer of a payload that is not worth decoding before.
    ///
    /// Allocates nothing. Of a payload that ``decode(_:baseOffset:maximumPurchaseCount:)`` accepts it gives the same date.
    static func creationDate(_ payload: Span<UInt8>, baseOffset: Int) throws(ReceiptError) -> Timestamp {
        var found: Timestamp?
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
            guard error.path.field?.attributeType == .creationDate else { throw .payload(error) }
            throw .creationDate(error.kind == .duplicateElement ? .repeated : .unreadable, offset: error.offset)
        }
        guard let found else { throw .creationDate(.missing, offset: baseOffset) }
        return found
    }
}

// MARK: - The receipt's own attributes

extension PayloadDecoder {
    private mutating func readOuter(from start: Int, to end: Int) throws(ASN1DecodingError) {
        var position = start
        while position < end {
            if let record = longPurchase(at: position, end) {
                try readPurchase(from: record.lowerBound, to: record.upperBound)
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
                try readPurchase(from: record.lowerBound, to: record.upperBound)
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

    /// The content of the SET of an attribute 17 whose lengths all take two octets, as they do from 256 bytes on.
    ///
    /// `30 82 LL LL  02 01 11  02 01 01  04 82 LL LL  31 82 LL LL`, where the lengths say the same end.
    private func longPurchase(at position: Int, _ end: Int) -> Range<Int>? {
        guard position &+ 24 <= bytes.count else { return nil }
        let head = word(at: position)
        let tail = word(at: position &+ 8)
        guard head & 0xFFFF_FFFF_0000_FFFF == 0x0211_0102_0000_8230,
            tail & 0xFFFF_0000_FFFF_FFFF == 0x8231_0000_8204_0101
        else { return nil }
        let outer = Int(UInt16(truncatingIfNeeded: head >> 16).byteSwapped)
        let middle = Int(UInt16(truncatingIfNeeded: tail >> 32).byteSwapped)
        let inner = Int(UInt16(truncatingIfNeeded: word(at: position &+ 16)).byteSwapped)
        guard inner >= 256, middle == inner &+ 4, outer == middle &+ 10, outer <= end &- position &- 4 else {
            return nil
        }
        return position &+ 18..<position &+ 18 &+ inner
    }

    private mutating func store(_ attribute: AttributeView) throws(ASN1DecodingError) {
        guard attribute.type.form != nil, 0..<64 ~= attribute.type.rawValue else { return }
        let bit: UInt64 = 1 << UInt64(attribute.type.rawValue)
        guard seen & bit == 0 else { throw ASN1DecodingError(.duplicateElement, offset: attribute.offset) }
        seen |= bit
        do throws(ASN1DecodingError) {
            if try storeValue(of: attribute) { table.present |= bit }
        } catch {
            guard attribute.type.isInferred else { throw error }
        }
    }

    /// Whether there is a value: an empty string is none.
    private mutating func storeValue(of attribute: AttributeView) throws(ASN1DecodingError) -> Bool {
        switch attribute.type {
        case .receiptType: return try store(attribute.utf8(), in: \.receiptType)
        case .appItemID: table.appItemID = try attribute.integer()
        case .bundleID:
            table.encodedBundleID = ByteRange(attribute.value.contentRange.shifted(by: -baseOffset))
            return try store(attribute.utf8(), in: \.bundleID)
        case .applicationVersion: return try store(attribute.utf8(), in: \.applicationVersion)
        case .opaqueValue: return store(attribute.value.contentRange, in: \.opaqueValue)
        case .sha1Hash: return store(attribute.value.contentRange, in: \.sha1Hash)
        case .originalCreationDate: return try store(attribute.date(), in: \.originalCreationDate)
        case .serverBuild: table.serverBuild = try attribute.integer()
        case .ageRating: return try store(attribute.ia5(), in: \.ageRating)
        case .sellerID: table.sellerID = try attribute.integer()
        case .creationDate: return try store(attribute.date(), in: \.creationDate)
        case .clientVersion: table.clientVersion = try attribute.integer()
        case .downloadID: table.downloadID = try attribute.integer()
        case .versionExternalIdentifier: table.versionExternalIdentifier = try attribute.integer()
        case .originalPurchaseDate: return try store(attribute.date(), in: \.originalPurchaseDate)
        case .originalApplicationVersion: return try store(attribute.utf8(), in: \.originalApplicationVersion)
        case .expirationDate: return try store(attribute.date(), in: \.expirationDate)
        case .platform: table.platform = try attribute.integer()
        case .preorderDate: return try store(attribute.date(), in: \.preorderDate)
        default: return false
        }
        return true
    }

    private mutating func store(_ range: Range<Int>, in field: WritableKeyPath<ReceiptTable, ByteRange>) -> Bool {
        table[keyPath: field] = ByteRange(range.shifted(by: -baseOffset))
        return !range.isEmpty
    }

    private mutating func store(_ date: Timestamp?, in field: WritableKeyPath<ReceiptTable, Int64>) -> Bool {
        table[keyPath: field] = date?.millisecondsSince1970 ?? 0
        return date != nil
    }
}

// MARK: - In-app purchases: the hot loop

extension PayloadDecoder {
    private mutating func readPurchase(from start: Int, to end: Int) throws(ASN1DecodingError) {
        let index = table.purchases.count
        guard index < maximumPurchaseCount else {
            throw ASN1DecodingError(.tooManyElements, offset: baseOffset + start).within(.inAppPurchase, index: index)
        }
        var entry = PurchaseEntry()
        entry.record = ByteRange(start..<end)
        /// Which of 1701–1722 were met, with or without a value.
        var seen: UInt32 = 0
        var position = start
        while position < end {
            let next = readShortAttribute(at: position, end, &entry, &seen)
            position =
                next != 0 ? next : try readAttribute(at: position, end, &entry, &seen, purchaseIndex: index)
        }
        table.purchases.append(entry)
    }

    /// Reads an attribute of the shape that nearly all have, and returns where the next begins; 0 when it has another or is wrong in any way,
    /// for ``readAttribute(at:_:_:_:purchaseIndex:)`` to judge.
    ///
    /// `30 LL  02 02 TT TT  02 01 01  04 LL  tag LL …`, all lengths short and saying the same end, type 1701–1722.
    @inline(__always)
    private func readShortAttribute(
        at position: Int, _ end: Int, _ entry: inout PurchaseEntry, _ seen: inout UInt32
    ) -> Int {
        // 13 octets of header, and a value that is read in words of 8 up to 24 octets from its start.
        guard position &+ 37 <= bytes.count else { return 0 }
        let head = word(at: position)
        let tail = word(at: position &+ 8)
        let count = Int(head >> 8 & 0xFF)
        let valueCount = Int(tail >> 32 & 0xFF)
        let next = position &+ 2 &+ count
        guard head & 0xFFFF_0000_FFFF_00FF == 0x0102_0000_0202_0030, tail & 0xFFFF == 0x0401,
            Int(tail >> 16 & 0xFF) == valueCount &+ 2, count == valueCount &+ 11, count < 0x80, next <= end
        else { return 0 }
        let type = Int(UInt16(truncatingIfNeeded: head >> 32).byteSwapped) &- 1701
        guard 0..<22 ~= type else { return 0 }
        let bit: UInt32 = 1 << UInt32(truncatingIfNeeded: type)
        guard seen & bit == 0 else { return 0 }
        let tag = UInt8(truncatingIfNeeded: tail >> 24)
        let start = position &+ 13

        switch type {
        case 0, 6, 9, 10, 19:
            guard tag == 0x02, let value = shortInteger(at: start, valueCount) else { return 0 }
            switch type {
            case 0: entry.quantity = value
            case 6: entry.productType = value
            case 9: entry.itemID = value
            case 10: entry.webOrderLineItemID = value
            default: entry.cancellationReason = value
            }
            entry.present |= bit
        case 12, 18:
            guard tag == 0x02, valueCount == 1, case let value = bytes[start], value < 2 else { return 0 }
            if value == 1 { entry.flags |= bit }
            entry.present |= bit
        case 1, 2, 4, 20:
            guard tag == 0x0C, valueCount > 0, isASCII(start, valueCount) else { return 0 }
            var string = ByteRange()
            string.start = UInt32(truncatingIfNeeded: start)
            string.count = UInt32(truncatingIfNeeded: valueCount)
            switch type {
            case 1: entry.productID = string
            case 2: entry.transactionID = string
            case 4: entry.originalTransactionID = string
            default: entry.promotionalOfferID = string
            }
            entry.present |= bit
        case 3, 5, 7, 11:
            guard tag == 0x16 else { return 0 }
            if valueCount == 0 { break }
            guard valueCount == 20, let value = plainDate(at: start) else { return 0 }
            switch type {
            case 3: entry.purchaseDate = value
            case 5: entry.originalPurchaseDate = value
            case 7: entry.expiresDate = value
            default: entry.cancellationDate = value
            }
            entry.present |= bit
        default:
            // No meaning is known: it may say anything, and be repeated.
            return next
        }
        seen |= bit
        return next
    }

    /// Reads an attribute of any shape, and returns where the next begins.
    @inline(never)
    private func readAttribute(
        at position: Int, _ end: Int, _ entry: inout PurchaseEntry, _ seen: inout UInt32, purchaseIndex: Int
    ) throws(ASN1DecodingError) -> Int {
        var type: AttributeType?
        do throws(ASN1DecodingError) {
            var cursor = ASN1Cursor(bytes.extracting(position..<end), baseOffset: baseOffset + position)
            let attribute = try AttributeView(&cursor)
            type = attribute.type
            if attribute.type.form != nil, 1701..<1733 ~= attribute.type.rawValue {
                let bit = PurchaseEntry.bit(attribute.type)
                guard seen & bit == 0 else { throw ASN1DecodingError(.duplicateElement, offset: attribute.offset) }
                seen |= bit
                do throws(ASN1DecodingError) {
                    if try store(attribute, in: &entry, bit) { entry.present |= bit }
                } catch {
                    guard attribute.type.isInferred else { throw error }
                }
            }
            return end - cursor.remainingCount
        } catch {
            throw error.within(type ?? .inAppPurchase, index: purchaseIndex)
        }
    }

    /// Whether there is a value: an empty string is none.
    private func store(
        _ attribute: AttributeView, in entry: inout PurchaseEntry, _ bit: UInt32
    ) throws(ASN1DecodingError) -> Bool {
        func string() throws(ASN1DecodingError) -> ByteRange {
            ByteRange(try attribute.utf8().shifted(by: -baseOffset))
        }
        func date() throws(ASN1DecodingError) -> Int64? { try attribute.date()?.millisecondsSince1970 }
        switch attribute.type {
        case .quantity: entry.quantity = try attribute.integer()
        case .productType: entry.productType = try attribute.integer()
        case .itemID: entry.itemID = try attribute.integer()
        case .webOrderLineItemID: entry.webOrderLineItemID = try attribute.integer()
        case .cancellationReason: entry.cancellationReason = try attribute.integer()
        case .isTrialPeriod, .isInIntroOfferPeriod: if try attribute.flag() { entry.flags |= bit }
        case .productID:
            entry.productID = try string()
            return entry.productID.count > 0
        case .transactionID:
            entry.transactionID = try string()
            return entry.transactionID.count > 0
        case .originalTransactionID:
            entry.originalTransactionID = try string()
            return entry.originalTransactionID.count > 0
        case .promotionalOfferID:
            entry.promotionalOfferID = try string()
            return entry.promotionalOfferID.count > 0
        case .purchaseDate:
            guard let date = try date() else { return false }
            entry.purchaseDate = date
        case .purchaseOriginalPurchaseDate:
            guard let date = try date() else { return false }
            entry.originalPurchaseDate = date
        case .expiresDate:
            guard let date = try date() else { return false }
            entry.expiresDate = date
        case .cancellationDate:
            guard let date = try date() else { return false }
            entry.cancellationDate = date
        default: return false
        }
        return true
    }
}

// MARK: - Eight octets at a time

extension PayloadDecoder {
    /// Eight octets, the first in the lowest byte.
    ///
    /// `unsafe` by name only: the offset is checked, and any bits are a `UInt64`. (A load of eight checked octets one by one costs the hot
    /// loop a third of its speed.)
    @inline(__always)
    private func word(at position: Int) -> UInt64 {
        UInt64(littleEndian: unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    /// The value of 1 to 8 content octets that are minimal and not negative.
    @inline(__always)
    private func shortInteger(at start: Int, _ count: Int) -> Int64? {
        if count == 1 {
            let octet = bytes[start]
            return octet < 0x80 ? Int64(octet) : nil
        }
        guard 2...8 ~= count else { return nil }
        let value = word(at: start).byteSwapped >> UInt64(64 &- 8 &* count)
        // The first nine bits must not all be 0 (X.690, 8.3.2), and the first must not be 1.
        let leading = value >> UInt64(8 &* count &- 9)
        return leading != 0 && leading < 0x100 ? Int64(truncatingIfNeeded: value) : nil
    }

    @inline(__always)
    private func isASCII(_ start: Int, _ count: Int) -> Bool {
        // Above 24 octets the words would pass what readShortAttribute proved to be there.
        guard count <= 24 else { return isLongASCII(start, count) }
        var bits: UInt64 = 0
        var remaining = count
        var position = start
        while remaining > 8 {
            bits |= word(at: position)
            position &+= 8
            remaining &-= 8
        }
        bits |= word(at: position) << UInt64(64 &- 8 &* remaining)
        return bits & 0x8080_8080_8080_8080 == 0
    }

    private func isLongASCII(_ start: Int, _ count: Int) -> Bool {
        var bits: UInt8 = 0
        for index in start..<start &+ count { bits |= bytes[index] }
        return bits < 0x80
    }

    /// `YYYY-MM-DDThh:mm:ssZ`, 20 octets, in milliseconds since 1970.
    @inline(__always)
    private func plainDate(at start: Int) -> Int64? {
        // Exclusive or leaves 0–9 where a digit stands and 0 where the right separator does.
        let first = word(at: start) ^ 0x2D30_302D_3030_3030  // YYYY-MM-
        let second = word(at: start &+ 8) ^ 0x3030_3A30_3054_3030  // DDThh:mm
        let third = word(at: start &+ 12) ^ 0x5A30_303A_3030_3A30  // h:mm:ssZ
        let wrong =
            first | (first &+ 0x7F76_767F_7676_7676) | second | (second &+ 0x7676_7F76_767F_7676)
            | third | (third &+ 0x7F76_767F_7676_7F76)
        guard wrong & 0x8080_8080_8080_8080 == 0 else { return nil }
        @inline(__always)
        func pair(_ word: UInt64, _ shift: UInt64) -> Int {
            Int(word >> shift & 0xFF) &* 10 &+ Int(word >> (shift &+ 8) & 0xFF)
        }
        return Timestamp(
            year: pair(first, 0) &* 100 &+ pair(first, 16), month: pair(first, 40), day: pair(second, 0),
            hour: pair(second, 24), minute: pair(second, 48), second: pair(third, 40)
        )?.millisecondsSince1970
    }
}

extension Range<Int> {
    func shifted(by distance: Int) -> Range<Int> { lowerBound + distance..<upperBound + distance }
}

extension ASN1DecodingError {
    /// In an attribute: the field's number is the attribute's, where it has a known one.
    func within(_ type: AttributeType, index: Int? = nil) -> ASN1DecodingError {
        within(ASN1Field(rawValue: UInt16(exactly: type.rawValue) ?? ASN1Field.unknownAttribute.rawValue), index: index)
    }
}
