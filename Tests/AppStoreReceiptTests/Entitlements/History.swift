import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import AppStoreReceipt

/// A transaction as a test describes it, from which all kinds of evidence are made. Days count from 2025-01-01.
struct Transaction: Sendable {
    var id: String
    var product = "basic"
    var type: ProductType? = .autoRenewableSubscription
    var original: String?
    var start: Double
    var end: Double?
    var quantity = 1
    var revoked: Double?
    /// The refunded part, in thousandths of a percent; `nil` for all.
    var percentage: Int64?
    var isUpgraded = false
    var item: String?
    var offer: PurchaseOffer?
    var reason: AdditionalTransactionReason?
    var seatInfo: PurchaseSeatInfo?
    var ownership = OwnershipType.purchased
    var appTransaction: String?

    static func period(
        _ id: String, _ days: Range<Double>, _ product: String = "basic", revoked: Double? = nil,
        isUpgraded: Bool = false
    ) -> Transaction {
        Transaction(
            id: id, product: product, original: "1", start: days.lowerBound, end: days.upperBound, revoked: revoked,
            isUpgraded: isUpgraded, item: "9\(id)")
    }

    /// A transaction of a subscription of several seats, with information about them.
    static func seats(
        _ id: String, _ days: Range<Double>, _ quantity: Int, refunded: Int? = nil, revoked: Double? = nil,
        reason: AdditionalTransactionReason? = nil
    ) -> Transaction {
        var transaction = period(id, days, revoked: revoked)
        (transaction.quantity, transaction.reason) = (quantity, reason)
        transaction.seatInfo = PurchaseSeatInfo(invitationManagement: .apple, revokedSeatQuantity: refunded)
        return transaction
    }

    static func nonConsumable(_ id: String, _ start: Double, revoked: Double? = nil) -> Transaction {
        Transaction(id: id, product: "pro", type: .nonConsumable, start: start, revoked: revoked)
    }

    static func consumable(
        _ id: String, _ start: Double, quantity: Int = 1, revoked: Double? = nil, percentage: Int64? = nil
    ) -> Transaction {
        Transaction(
            id: id, product: "coins", type: .consumable, start: start, quantity: quantity, revoked: revoked,
            percentage: percentage)
    }

    /// As a receipt has it: without what receipts cannot say.
    var record: ReceiptBuilder.Purchase {
        var record = ReceiptBuilder.Purchase()
        (record.productID, record.transactionID, record.quantity) = (product, id, quantity)
        (record.originalTransactionID, record.originalPurchaseDate) = (original ?? id, day(0))
        record.productType = type
        (record.purchaseDate, record.expiresDate) = (day(start), end.map(day))
        record.revocationDate = revoked.map(day)
        record.webOrderLineItemID = item
        record.isTrialPeriod = offer?.discountType == .freeTrial
        record.isInIntroOfferPeriod = offer?.type == .introductory && offer?.discountType != .freeTrial
        record.promotionalOfferID = offer?.type == .promotional ? offer?.id : nil
        return record
    }

    func jws(signed: Double) -> JWSBuilder {
        func date(_ value: Double) -> JSONValue { .integer(day(value).millisecondsSince1970) }
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: product, transactionID: id, signedDate: day(signed))
        builder.payload["originalTransactionId"] = .string(original ?? id)
        builder.payload["type"] = type.map { .string($0.rawValue) }
        builder.payload["purchaseDate"] = date(start)
        builder.payload["expiresDate"] = end.map(date)
        builder.payload["quantity"] = .integer(Int64(quantity))
        builder.payload["revocationDate"] = revoked.map(date)
        builder.payload["revocationReason"] = revoked.map { _ in 0 }
        builder.payload["revocationType"] = percentage.map { _ in "REFUND_PRORATED" }
        builder.payload["revocationPercentage"] = percentage.map { .integer($0) }
        builder.payload["isUpgraded"] = isUpgraded ? true : nil
        builder.payload["inAppOwnershipType"] = .string(ownership.rawValue)
        builder.payload["appTransactionId"] = appTransaction.map { .string($0) }
        builder.payload["additionalTransactionReason"] = reason.map { .string($0.rawValue) }
        if let seatInfo {
            var info = JSONValue.object([])
            info["invitationManagement"] = seatInfo.invitationManagement.map { .string($0.rawValue) }
            info["revokedSeatQuantity"] = seatInfo.revokedSeatQuantity.map { .integer(Int64($0)) }
            builder.payload["multiSeatInfo"] = info
        }
        builder.payload["webOrderLineItemId"] = item.map { .string($0) }
        builder.payload["offerType"] = (offer?.type).map { .integer($0.rawValue) }
        builder.payload["offerDiscountType"] = (offer?.discountType).map { .string($0.rawValue) }
        builder.payload["subscriptionGroupIdentifier"] = type == .autoRenewableSubscription ? "group" : nil
        return builder
    }

    /// The day on which all evidence of a history is signed, after everything has happened.
    static let signedDay = 2000.0

    func verified() throws -> VerifiedEvidence {
        .transaction(try EvidenceSource.verifier.get().verifyTransaction(Minted.jws(jws(signed: Self.signedDay))))
    }

    /// The transaction as a plain value.
    func purchase(signed: Double = 1000) throws -> Purchase {
        try #require(Minted.verifier().verifyTransaction(Minted.jws(jws(signed: signed))).purchase).purchase
    }
}

/// The evidence from which a decision is made.
enum EvidenceSource: CaseIterable, Sendable {
    case receipt, transactions, mixed, stored

    /// One for all: each new one verifies the chain first.
    fileprivate static let verifier = Result { try Minted.verifier() }

    func entitlements(
        of transactions: [Transaction], at date: Instant,
        productTypes: [String: CatalogType] = [:]
    ) throws -> Entitlements {
        try decisions(of: transactions, productTypes: productTypes)(date)
    }

    /// Verifies the evidence of transactions, and returns what decides about it at a date.
    ///
    /// - Parameter verified: Returns a transaction that is verified.
    func decisions(
        of transactions: [Transaction], productTypes: [String: CatalogType] = [:],
        verified: (Transaction) throws -> VerifiedEvidence = { try $0.verified() }
    ) throws -> (Instant) -> Entitlements {
        var evidence: [VerifiedEvidence] = []
        if self == .receipt || self == .mixed {
            let kept =
                self == .receipt ? transactions : transactions.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
            var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: kept.map(\.record))
            builder.creationDate = day(Transaction.signedDay)
            evidence.append(.receipt(try Self.verifier.get().verifyReceipt(builder.signed(by: Minted.authority))))
        }
        if self != .receipt {
            let kept =
                self == .mixed
                ? transactions.enumerated().filter { $0.offset % 3 != 0 || $0.offset % 2 == 1 }.map(\.element)
                : transactions
            evidence += try kept.reversed().map(verified)
        }
        guard self == .stored else {
            return { [evidence] in Entitlements(evidence, at: $0, productTypes: ProductCatalog(productTypes)) }
        }
        let json = try JSONEncoder().encode(evidence.flatMap { $0.purchases }.map(\.purchase))
        let stored = try JSONDecoder().decode([Purchase].self, from: json)
        return { Entitlements(trustingStored: stored, at: $0, productTypes: ProductCatalog(productTypes)) }
    }
}

extension Entitlements {
    /// The access of each transaction, such as `["1": "expired"]`.
    var codes: [String: String] {
        Dictionary(uniqueKeysWithValues: items.map { ($0.transactionID, "\($0.access.code)") })
    }
}

extension ReceiptBuilder.Purchase {
    /// A period in days from 2025-01-01, of the original transaction 1.
    static func period(
        _ id: String, _ days: Range<Double>, _ productID: String = "basic", trial: Bool = false,
        intro: Bool = false, promotion: String? = nil, cancelled: Double? = nil
    ) -> ReceiptBuilder.Purchase {
        var period = autoRenewable(
            productID, transactionID: id, originalTransactionID: "1", purchaseDate: day(days.lowerBound),
            expiresDate: day(days.upperBound), isTrialPeriod: trial)
        period.isInIntroOfferPeriod = intro
        period.promotionalOfferID = promotion
        return cancelled.map { period.revoked(at: day($0)) } ?? period
    }
}
