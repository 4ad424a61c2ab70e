import AppStoreReceipt

/// The property of a builder that an attribute is made from, by the type of its value.
enum BuilderField<Root>: Sendable {
    case text(any WritableKeyPath<Root, String?> & Sendable)
    case integer(any WritableKeyPath<Root, Int64?> & Sendable)
    /// An identifier, which is a text here and an INTEGER in the attribute.
    case identifier(any WritableKeyPath<Root, String?> & Sendable)
    case date(any WritableKeyPath<Root, Instant?> & Sendable)
    case octets(any WritableKeyPath<Root, [UInt8]?> & Sendable)
    case flag(any WritableKeyPath<Root, Bool?> & Sendable)
    /// A product type, which is a number in the attribute.
    case productType(any WritableKeyPath<Root, ProductType?> & Sendable)

    /// What its value must be, in words.
    var expectation: String {
        switch self {
        case .text: AttributeType.ValueType.utf8String.expectation
        case .integer, .identifier: AttributeType.ValueType.integer.expectation
        case .date: AttributeType.ValueType.date.expectation
        case .octets: AttributeType.ValueType.octets.expectation
        case .flag: AttributeType.ValueType.boolean.expectation
        case .productType:
            "an integer, or " + ProductType.specified.map { "\"\($0.word)\"" }.joined(separator: ", ")
        }
    }
}

extension AttributeType.ValueType {
    /// What its value must be, in words.
    var expectation: String {
        switch self {
        case .utf8String, .ia5String: "a string"
        case .integer: "an integer"
        case .date: Instant.specifiedSyntax
        case .octets, .purchase: "a string of hexadecimal digits"
        case .boolean: "true or false"
        }
    }
}

extension ProductType {
    /// The words that a specification can have in place of Apple's numbers.
    static let specified: [(word: String, type: ProductType)] = [
        ("consumable", .consumable), ("non-consumable", .nonConsumable),
        ("auto-renewable", .autoRenewableSubscription), ("non-renewing", .nonRenewingSubscription),
    ]
}

extension ReceiptBuilder {
    /// The properties for the attributes of `AttributeType.receiptRows`, except the purchases. An attribute without one
    /// is minted as an additional attribute.
    static let fields: [AttributeType: BuilderField<ReceiptBuilder>] = [
        .receiptType: .text(\.receiptType), .appItemID: .identifier(\.appItemID), .bundleID: .text(\.bundleID),
        .applicationVersion: .text(\.applicationVersion), .opaqueValue: .octets(\.opaqueValue),
        .sha1Hash: .octets(\.sha1Hash), .originalCreationDate: .date(\.originalCreationDate),
        .serverBuild: .integer(\.serverBuild), .ageRating: .text(\.ageRating), .sellerID: .identifier(\.sellerID),
        .creationDate: .date(\.creationDate), .clientVersion: .integer(\.clientVersion),
        .downloadID: .identifier(\.downloadID), .versionExternalIdentifier: .identifier(\.versionExternalIdentifier),
        .originalPurchaseDate: .date(\.originalPurchaseDate),
        .originalApplicationVersion: .text(\.originalApplicationVersion), .expirationDate: .date(\.expirationDate),
        .platform: .integer(\.platform), .preorderDate: .date(\.preorderDate),
    ]
}

extension ReceiptBuilder.Purchase {
    /// The properties for the attributes of `AttributeType.purchaseRows`.
    static let fields: [AttributeType: BuilderField<ReceiptBuilder.Purchase>] = [
        .quantity: .integer(\.quantityNumber), .productID: .text(\.productID), .transactionID: .text(\.transactionID),
        .purchaseDate: .date(\.purchaseDate), .originalTransactionID: .text(\.originalTransactionID),
        .purchaseOriginalPurchaseDate: .date(\.originalPurchaseDate), .productType: .productType(\.productType),
        .expiresDate: .date(\.expiresDate), .itemID: .identifier(\.itemID),
        .webOrderLineItemID: .identifier(\.webOrderLineItemID), .revocationDate: .date(\.revocationDate),
        .isTrialPeriod: .flag(\.isTrialPeriod), .isInIntroOfferPeriod: .flag(\.isInIntroOfferPeriod),
        .revocationReason: .integer(\.revocationReasonNumber), .promotionalOfferID: .text(\.promotionalOfferID),
    ]
}

extension RecordWriter {
    /// Adds an attribute by its line of the table.
    ///
    /// - Parameters:
    ///   - fields: the properties of `root`.
    ///   - version: the attribute's version.
    ///   - isWrittenEmpty: whether `nil` is an empty string.
    /// - Throws: `inexpressible-value` if an identifier is not a decimal number of 64 bits.
    mutating func add<Root>(
        _ row: AttributeType.Row, of root: Root, _ fields: [AttributeType: BuilderField<Root>], version: Int64 = 1,
        isWrittenEmpty: Bool = false
    ) throws(MintingError) {
        switch fields[row.type] {
        case .text(let path): addText(row.type, root[keyPath: path], tag: row.valueType == .ia5String ? 0x16 : 0x0C)
        case .integer(let path): addInteger(row.type, root[keyPath: path])
        case .identifier(let path):
            addInteger(
                row.type,
                try root[keyPath: path].map { (text) throws(MintingError) in
                    try Int64(text).orElse { () throws(MintingError) in throw .inexpressibleValue }
                })
        case .flag(let path): addInteger(row.type, root[keyPath: path].map { $0 ? 1 : 0 })
        case .productType(let path): addInteger(row.type, root[keyPath: path]?.receiptNumber)
        case .octets(let path): addOctets(row.type, version: version, root[keyPath: path])
        case .date(let path): addDate(row.type, root[keyPath: path], isWrittenEmpty: isWrittenEmpty)
        // One without a property is among the additional attributes.
        case nil: break
        }
    }
}
