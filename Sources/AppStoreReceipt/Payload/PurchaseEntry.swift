/// One in-app purchase in a ``ReceiptTable``: integers, dates, and the ranges of strings. The size is fixed.
struct PurchaseEntry: AttributeValues, Sendable {
    /// The content of the purchase's SET.
    var record = ByteRange()
    /// The attributes with a value: bit *n* for attribute 1701 + *n*.
    var present: UInt32 = 0
    /// The values of the attributes with a known meaning, at their ``PurchaseField/slot``.
    private var values = InlineArray<16, UInt64>(repeating: 0)
    /// The maximum number of values.
    static let placeCount = 16

    @inline(__always)
    init(record: ByteRange) { self.record = record }

    // Inlined, as is `number(_:)`: for an attribute that the caller names, its place and bit are constants.
    @inline(__always)
    func bits(_ type: AttributeType) -> UInt64? {
        guard let field = PurchaseField(type), present & field.bit != 0 else { return nil }
        return self[field]
    }

    /// See ``AttributeValues/shows(_:)``.
    func shows(_ type: AttributeType) -> Bool {
        guard PurchaseField(type) != nil, let row = type.row else { return false }
        return shows(row)
    }

    /// The bits of a value; undefined if there is none.
    subscript(field: PurchaseField) -> UInt64 {
        @inline(__always) get { values[field.slot] }
        @inline(__always) set { values[field.slot] = newValue }
    }

    mutating func set(_ field: PurchaseField, _ bits: UInt64) {
        self[field] = bits
        present |= field.bit
    }
}

/// One of the attributes 1701–1722.
struct PurchaseField {
    /// What the value is stored as; `.none` for an attribute without a known meaning.
    enum Storage: UInt8 { case none, integer, string, date, flag }

    /// The attribute's number minus 1701.
    let index: UInt8

    /// `nil` for an attribute that purchases are not known to have.
    @inline(__always)
    init?(index: UInt8) {
        guard index < 22 else { return nil }
        self.index = index
    }

    private init(offset: UInt8) { index = offset }

    // The attributes that every purchase in Apple's known receipts has.
    static let quantity = PurchaseField(offset: 0)
    static let productID = PurchaseField(offset: 1)
    static let transactionID = PurchaseField(offset: 2)
    static let purchaseDate = PurchaseField(offset: 3)
    /// Their bits.
    static let required = quantity.bit | productID.bit | transactionID.bit | purchaseDate.bit

    init?(_ type: AttributeType) {
        guard let index = UInt8(exactly: type.rawValue &- 1701) else { return nil }
        self.init(index: index)
    }

    var bit: UInt32 { 1 &<< UInt32(index) }

    /// The index of the value in a ``PurchaseEntry``: five less from 1717 on. The attributes 1714–1718 and 1722 have no
    /// value, but a number that others have, too.
    var slot: Int { Int((index &- index >> 4 &* 5) & 15) }

    @inline(__always)
    var storage: Storage {
        switch AttributeType.purchaseStorage &>> (3 &* UInt64(index)) & 0b111 {
        case 1: .integer
        case 2: .string
        case 3: .date
        case 4: .flag
        default: .none
        }
    }
}
