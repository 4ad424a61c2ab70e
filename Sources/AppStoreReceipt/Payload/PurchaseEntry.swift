/// One in-app purchase, as ``ReceiptTable`` keeps it: integers, dates, and where the strings are. One fixed size.
struct PurchaseEntry: AttributeValues, Sendable {
    /// The content of the purchase's SET.
    var record = ByteRange()
    /// Bit *n* for attribute 1701 + *n*: whether it has a value.
    var present: UInt32 = 0
    /// The values of the attributes with a known meaning, at their ``PurchaseField/slot``.
    private var values = InlineArray<16, UInt64>(repeating: 0)
    /// How many there can be.
    static let placeCount = 16

    @inline(__always)
    init(record: ByteRange) { self.record = record }

    func bits(_ type: AttributeType) -> UInt64? {
        guard let field = PurchaseField(type), present & field.bit != 0 else { return nil }
        return self[field]
    }

    /// See ``AttributeValues/shows(_:)``.
    func shows(_ type: AttributeType) -> Bool {
        guard PurchaseField(type) != nil, let row = type.row else { return false }
        return shows(row)
    }

    /// The bits of a value, whether it is there or not.
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
    /// What the value is; for all but `.none` the attribute has a known meaning.
    enum Form: UInt8 { case none, integer, string, date }

    /// The attribute's number less 1701.
    let index: UInt8

    /// `nil` for an attribute that purchases are not known to have.
    @inline(__always)
    init?(index: UInt8) {
        guard index < 22 else { return nil }
        self.index = index
    }

    private init(offset: UInt8) { index = offset }

    // Those that every purchase has that Apple is known to have signed.
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

    /// Where ``PurchaseEntry`` keeps the value: 1714–1718 have none.
    var slot: Int { Int(index < 13 ? index : index &- 5) }

    @inline(__always)
    var form: Form {
        // Two bits for each, from 1722 down to 1701. A word, since a table or a switch costs the hot loop a tenth of its speed;
        // `AttributeTableTests` compares it with the table.
        let forms: UInt64 = 0b00_10_01_01_00_00_00_00_00_01_11_01_01_00_11_01_11_10_11_10_10_01
        return switch forms &>> (2 &* UInt64(index)) & 0b11 {
        case 1: .integer
        case 2: .string
        case 3: .date
        default: .none
        }
    }

    /// The largest integer that is allowed: 1713 and 1719 are flags.
    var maximum: UInt64 { index == 12 || index == 18 ? 1 : UInt64(Int64.max) }
}
