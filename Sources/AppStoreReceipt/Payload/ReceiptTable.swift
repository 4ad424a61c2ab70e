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

/// What was read of a receipt: integers, dates, and where the strings are. One fixed size, whatever the receipt.
///
/// A field holds a value only where its bit in `present` is set.
struct ReceiptTable: Sendable {
    /// Where the content of the payload's SET begins.
    var contentStart = 0
    /// Bit *n* for attribute *n*.
    var present: UInt64 = 0
    var receiptType = ByteRange()
    var bundleID = ByteRange()
    /// The encoded value of attribute 2, which enters the device hash.
    var encodedBundleID = ByteRange()
    var applicationVersion = ByteRange()
    var originalApplicationVersion = ByteRange()
    var ageRating = ByteRange()
    var opaqueValue = ByteRange()
    var sha1Hash = ByteRange()
    var appItemID: Int64 = 0
    var serverBuild: Int64 = 0
    var sellerID: Int64 = 0
    var clientVersion: Int64 = 0
    var downloadID: Int64 = 0
    var versionExternalIdentifier: Int64 = 0
    var platform: Int64 = 0
    var originalCreationDate: Int64 = 0
    var creationDate: Int64 = 0
    var originalPurchaseDate: Int64 = 0
    var expirationDate: Int64 = 0
    var preorderDate: Int64 = 0
    var purchases: [PurchaseEntry] = []

    func has(_ type: AttributeType) -> Bool { present & (1 << UInt64(type.rawValue)) != 0 }

    /// Whether a typed field says what an attribute says. The value of an inferred one may have another form than its field.
    func shows(_ type: AttributeType) -> Bool {
        guard 0..<64 ~= type.rawValue, type.form != nil else { return false }
        return !type.isInferred || has(type)
    }
}
