@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import Instants
import StrictText

/// The names for access that `--entitlement` defines, and the products that grant each.
struct EntitlementNames: Sendable {
    private var names: [(name: String, productIDs: Set<UTF8Bytes>)] = []

    /// Creates an empty set of names.
    init() {}

    /// Parses the values of `--entitlement`, such as `premium=pro.month,pro.year`.
    init(_ values: [String]) throws(ConfigurationError) {
        var seen: Set<UTF8Bytes> = []
        for value in values {
            let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let productIDs = parts.dropFirst().flatMap { text in
                text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
            guard parts.count == 2, (parts + productIDs).allSatisfy(\.isWord) else {
                throw ConfigurationError(
                    "--entitlement must be a name and its products, such as premium=pro.month,pro.year, and is '\(value)'"
                )
            }
            guard seen.insert(UTF8Bytes(parts[0])).inserted else {
                throw ConfigurationError("--entitlement names '\(parts[0])' twice")
            }
            names.append((parts[0], Set(productIDs.map(UTF8Bytes.init))))
        }
    }

    /// Writes `"names":{"production":{"com.example.app":{"premium":{"active":true,"until":…}}}}`, or nothing if there
    /// are no names.
    ///
    /// - Parameters:
    ///   - entitlements: The entitlements of an account in the environment.
    ///   - apps: The apps to write all names for, in addition to those of the entitlements.
    func write(
        _ entitlements: Entitlements, in environment: AppStoreEnvironment, apps: Set<String>,
        to writer: inout JSONWriter
    ) {
        guard !names.isEmpty else { return }
        var items = Dictionary(uniqueKeysWithValues: Set(apps.map(UTF8Bytes.init)).map { ($0, [Entitlements.Item]()) })
        for item in entitlements.items where item.environment == environment {
            guard let app = item.bundleID else { continue }
            items[UTF8Bytes(app), default: []].append(item)
        }
        writer.object("names") { writer in
            environment.rawValue.withUTF8Bytes { writer.name(utf8: $0) }
            writer.beginObject()
            for (app, items) in items.sorted(by: { $0.key < $1.key }) {
                app.string.withUTF8Bytes { writer.name(utf8: $0) }
                writer.beginObject()
                for (name, productIDs) in names {
                    let access = Access(items.filter { productIDs.contains(UTF8Bytes($0.productID)) })
                    name.withUTF8Bytes { writer.name(utf8: $0) }
                    writer.beginObject()
                    writer.member("active", access.isActive)
                    writer.name("until")
                    if let date = access.until { writer.string(date.description) } else { writer.null() }
                    writer.endObject()
                }
                writer.endObject()
            }
            writer.endObject()
        }
    }

    /// The combined access from the products of one name.
    private struct Access {
        var isActive = false
        /// The date access ends, or `nil` if there is no access or it doesn't end.
        var until: Instant?

        /// - Parameter items: Items of one app, ordered by purchase date.
        init(_ items: [Entitlements.Item]) {
            let active = items.filter(\.access.givesAccess)
            isActive = !active.isEmpty
            let ends = active.compactMap(\.accessEndDate)
            guard var end = ends.max(), ends.count == active.count else { return }
            // Add paid items that begin before access would end.
            for item in items where item.purchase.undecidable == nil && item.length != .unknown {
                guard case .notYet(let start) = item.access, start <= end, item.purchase.productType != .consumable
                else { continue }
                if let next = item.accessEndDate {
                    end = max(end, next)
                } else if item.purchase.productType == .nonConsumable, item.quantity > 0 {
                    // The access doesn't end.
                    return
                }
            }
            until = end
        }
    }
}

extension String {
    /// Whether the text is nonempty and has no ASCII white space, control characters or semicolons. Only the
    /// environment variable uses semicolons, to separate values.
    fileprivate var isWord: Bool {
        !isEmpty && utf8.allSatisfy { $0 > UInt8(ascii: " ") && $0 != 0x7F && $0 != UInt8(ascii: ";") }
    }
}
