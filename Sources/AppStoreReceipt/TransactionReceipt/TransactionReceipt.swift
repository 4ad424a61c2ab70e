public import Instants
import SpanASN1
import StrictText

/// The contents of a transaction receipt, which is the `transactionReceipt` of a `SKPaymentTransaction` of iOS 3 to 6,
/// as a plain value.
///
/// A transaction receipt is one purchase. Its type does not show whether it was verified: see
/// ``VerifiedTransactionReceipt``.
public struct TransactionReceipt: Sendable {
    /// The version of the signature.
    public let version: Version
    /// The date the product was bought, renewed or restored.
    public let purchaseDate: Instant
    /// The date of the first transaction.
    public let originalPurchaseDate: Instant?
    /// The date this period of a subscription ends.
    public let expiresDate: Instant?
    /// The product's identifier.
    public let productID: String
    /// The transaction's identifier. A restored copy has another: grant by ``Entitlements/Item/purchaseKey``.
    public let transactionID: String
    /// The identifier of the first transaction of a subscription or of a restored purchase.
    public let originalTransactionID: String
    /// The app's bundle id (`bid`).
    public let bundleID: String
    /// The quantity that was bought.
    public let quantity: Int
    let info: PurchaseInfo

    /// - Throws: The first fault, by the order of the keys in ``TransactionReceiptKey``.
    init(_ info: PurchaseInfo, _ version: Version, _ purchaseDate: Instant) throws(VerificationError) {
        self.info = info
        self.version = version
        self.purchaseDate = purchaseDate
        do throws(PropertyListError) {
            func required(_ key: TransactionReceiptKey) throws(PropertyListError) -> String {
                guard let value = info.string(key) else { throw info.error(.missingKey, key) }
                return value
            }
            for key in TransactionReceiptKey.allCases { try info.checkFormat(of: key) }
            _ = try required(.quantity)
            guard let quantity = info.integer(.quantity), quantity > 0 else {
                throw info.error(.unexpectedValue, .quantity)
            }
            self.quantity = Int(quantity)
            productID = try required(.productID)
            transactionID = try required(.transactionID)
            originalTransactionID = try required(.originalTransactionID)
            bundleID = try required(.bundleID)
            originalPurchaseDate = try info.date(.originalPurchase)
            expiresDate = try info.date(.expires)
        } catch {
            throw VerificationError(.propertyList(error, .payload))
        }
    }
}

/// Two are equal if their signed bytes are.
extension TransactionReceipt: Hashable {
    public static func == (lhs: TransactionReceipt, rhs: TransactionReceipt) -> Bool {
        lhs.version == rhs.version && lhs.info.text == rhs.info.text
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(version)
        hasher.combine(info.text.span)
    }
}

extension TransactionReceipt {
    /// The environment, inferred from the digits of the transaction ids; `nil` if they show none.
    ///
    /// The signed part of a transaction receipt does not name the environment. Transaction ids of the sandbox have 16
    /// digits and begin with `1000000` or `2000000`; those of production have 14 or 15 digits. Both ``transactionID``
    /// and ``originalTransactionID`` must show the same.
    public var inferredEnvironment: AppStoreEnvironment? {
        let environment = AppStoreEnvironment(digitsOf: transactionID)
        return environment == AppStoreEnvironment(digitsOf: originalTransactionID) ? environment : nil
    }

    /// The app's version (`bvrs`).
    public var applicationVersion: String? { info.string(.applicationVersion) }
    /// Apple's id of the product (`item-id`).
    public var itemID: String? { info.string(.itemID) }
    /// The app's Apple id (`app-item-id`).
    public var appItemID: String? { info.string(.appItemID) }
    /// Apple's id of the app's version.
    public var versionExternalIdentifier: String? { info.string(.versionExternalIdentifier) }
    /// The identifier of this period of a subscription, the same on all devices.
    public var webOrderLineItemID: String? { info.string(.webOrderLineItemID) }
    /// The identifier of the subscription group in App Store Connect.
    public var subscriptionGroupID: String? { info.string(.subscriptionGroupID) }
    /// A Boolean value that indicates whether this period of a subscription is a free trial.
    public var isTrialPeriod: Bool? { flag(.isTrialPeriod) }
    /// A Boolean value that indicates whether this period of a subscription has an introductory price.
    public var isInIntroOfferPeriod: Bool? { flag(.isInIntroOfferPeriod) }
    /// A value that says whether the customer bought the product or a family member shares it.
    public var ownershipType: OwnershipType? { info.string(.ownershipType).map(OwnershipType.init(rawValue:)) }
    /// The identifier of the device, in one of three formats.
    public var uniqueIdentifier: String? { info.string(.uniqueIdentifier) }
    /// The `identifierForVendor` of the device.
    public var uniqueVendorIdentifier: String? { info.string(.uniqueVendorIdentifier) }

    private func flag(_ key: TransactionReceiptKey) -> Bool? { info.range(key).map { $0.count == 4 } }

    /// Returns the value of a key of `purchase-info`, such as `item-id`; `nil` if there is none.
    public subscript(key: String) -> String? { values.first { $0.key.hasSameBytes(as: key) }?.value }

    /// All keys of `purchase-info` with their values, in their order, including those for which this type has no
    /// property.
    public var values: [(key: String, value: String)] {
        info.list.entries.map { entry in
            (
                String(decoding: info.text[entry.key], as: UTF8.self),
                String(decoding: info.text[entry.value], as: UTF8.self)
            )
        }
    }

    /// The keys with their values for which this type has no property, in their order.
    package var unknownValues: [(key: String, value: String)] {
        values.filter { value in
            !TransactionReceiptKey.allCases.contains {
                $0 != .signature && $0 != .purchaseInfo && $0.rawValue.hasSameBytes(as: value.key)
            }
        }
    }
}

extension AppStoreEnvironment {
    /// Creates the environment whose transaction ids look like `id`; returns `nil` for an id of neither format.
    ///
    /// All of 656 ids of the sandbox and 117 of production, and of 15 transaction receipts, have these formats.
    fileprivate init?(digitsOf id: String) {
        switch id.utf8.count {
        case 16 where id.utf8.starts(with: "1000000".utf8) || id.utf8.starts(with: "2000000".utf8): self = .sandbox
        case 14, 15: self = .production
        default: return nil
        }
    }
}

extension TransactionReceipt: CustomStringConvertible {
    /// A summary for logs, such as `transaction receipt "1000" of "com.example.pro" in "com.example.app"`.
    public var description: String {
        "transaction receipt \(transactionID.excerpt) of \(productID.excerpt) in \(bundleID.excerpt)"
    }
}
