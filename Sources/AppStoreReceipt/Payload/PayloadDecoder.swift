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
    private let purchaseDecoder: PurchaseDecoder
    private var table = ReceiptTable()
    /// Which outer attributes were met, with or without a value: bit *n* for attribute *n*.
    private var seen: UInt64 = 0

    @_lifetime(copy payload)
    private init(_ payload: Span<UInt8>, baseOffset: Int, maximumPurchaseCount: Int) {
        bytes = payload
        self.baseOffset = baseOffset
        self.maximumPurchaseCount = maximumPurchaseCount
        purchaseDecoder = PurchaseDecoder(payload, baseOffset: baseOffset)
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
            if let record = longPurchase(at: position, end) {
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

    /// The content of the SET of an attribute 17 whose lengths all take two octets, as they do from 256 bytes on.
    ///
    /// `30 82 LL LL  02 01 11  02 01 01  04 82 LL LL  31 82 LL LL`, where the lengths say the same end.
    private func longPurchase(at position: Int, _ end: Int) -> Range<Int>? {
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
            // Room for as many as there would be if all were as large as the first, in no more memory than the payload takes.
            let count = (bytes.count - record.lowerBound) / max(record.count, MemoryLayout<PurchaseEntry>.stride) + 1
            table.purchases.reserveCapacity(min(count, maximumPurchaseCount))
        }
        table.purchases.append(PurchaseEntry(record: ByteRange(record)))
        try purchaseDecoder.read(record, index: index, into: &table.purchases[index])
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

    private mutating func store(_ date: Instant?, in field: WritableKeyPath<ReceiptTable, Int64>) -> Bool {
        table[keyPath: field] = date?.millisecondsSince1970 ?? 0
        return date != nil
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
