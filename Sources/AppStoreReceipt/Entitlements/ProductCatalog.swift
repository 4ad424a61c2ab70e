import StrictText

/// What an app states of its products, for evidence that does not say it. Make it once.
///
/// ```swift
/// let catalog: ProductCatalog = ["com.example.season": .nonRenewing(days: 90), "com.example.coins": .consumable]
/// let now = Entitlements([evidence], at: .now, productTypes: catalog)
/// ```
public struct ProductCatalog: Hashable, Sendable {
    private var typesByID: [UTF8Bytes: CatalogType]

    /// Creates a catalog.
    ///
    /// - Parameter types: The types of products, by their identifiers, which are compared byte for byte.
    public init(_ types: [String: CatalogType]) {
        typesByID = Dictionary(types.map { (UTF8Bytes($0.key), $0.value) }) { first, _ in first }
    }

    /// A Boolean value that indicates whether nothing is stated.
    public var isEmpty: Bool { typesByID.isEmpty }

    /// The types by the products' identifiers.
    @_spi(Surfaces) @_spi(Ledger) public var types: [String: CatalogType] {
        Dictionary(typesByID.map { ($0.key.string, $0.value) }) { first, _ in first }
    }

    /// What is stated of a product; `nil` for nothing.
    public subscript(productID: String) -> CatalogType? {
        get { typesByID[UTF8Bytes(productID)] }
        set { typesByID[UTF8Bytes(productID)] = newValue }
    }
}

extension ProductCatalog: ExpressibleByDictionaryLiteral {
    /// Creates a catalog. Of a product that is repeated, the first type counts.
    public init(dictionaryLiteral types: (String, CatalogType)...) {
        typesByID = Dictionary(types.map { (UTF8Bytes($0.0), $0.1) }) { first, _ in first }
    }
}
