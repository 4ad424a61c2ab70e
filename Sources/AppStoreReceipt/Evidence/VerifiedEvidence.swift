/// Verified evidence, by its kind.
@nonexhaustive
public enum VerifiedEvidence: Hashable, Sendable {
    /// A receipt with all its purchases.
    case receipt(VerifiedReceipt)
    /// A transaction of StoreKit 2, which is one purchase.
    case transaction(Verified<TransactionInfo>)
    /// Renewal information about a subscription. It proves no purchase.
    case renewalInfo(Verified<RenewalInfo>)
    /// An app transaction, which is the purchase of the app itself. It proves no in-app purchase.
    case appTransaction(Verified<AppTransaction>)
    /// A server notification. Its signed parts are verified, too.
    case notification(VerifiedNotification)
    /// A request for a retention message.
    case realtimeRequest(Verified<RealtimeRequest>)
    /// A transaction receipt of iOS 3 to 6, which is one purchase.
    case transactionReceipt(VerifiedTransactionReceipt)
}

// What the kinds have in common. A new kind is a line in each of these lists.
extension VerifiedEvidence {
    /// The bundle id of the app. Renewal information and real-time requests have none.
    public var bundleID: String? {
        switch self {
        case .receipt(let receipt): receipt.bundleID
        case .transaction(let info): info.bundleID
        case .appTransaction(let info): info.bundleID
        case .notification(let notification): notification.notification.payload.subjects.firstBundleID
        case .transactionReceipt(let receipt): receipt.bundleID
        case .renewalInfo, .realtimeRequest: nil
        }
    }

    /// The environment in which the evidence was signed. That of a transaction receipt is inferred: see
    /// ``TransactionReceipt/inferredEnvironment``.
    public var environment: AppStoreEnvironment? {
        switch self {
        case .receipt(let receipt): receipt.environment
        case .transaction(let info): info.environment
        case .renewalInfo(let info): info.environment
        case .appTransaction(let info): info.environment
        case .notification(let notification): notification.environment
        case .realtimeRequest(let request): request.environment
        case .transactionReceipt(let receipt): receipt.inferredEnvironment
        }
    }

    /// The ids of all transactions in the evidence, in its order, including expired and revoked ones.
    ///
    /// Only receipts have more than one. To grant products, use ``purchases``.
    public var transactionIDs: [String] {
        switch self {
        case .receipt(let receipt): receipt.inAppPurchases.compactMap(\.transactionID)
        case .transaction(let info): [info.transactionID].compactMap(\.self)
        case .notification(let notification): [notification.transactionInfo?.transactionID].compactMap(\.self)
        case .transactionReceipt(let receipt): [receipt.transactionID]
        case .renewalInfo, .appTransaction, .realtimeRequest: []
        }
    }

    /// The purchases that the evidence proves.
    ///
    /// A receipt has any number of purchases. A transaction has one, and so has a notification that contains a
    /// transaction. Other evidence has none, and so has evidence without an app or an environment, which is accepted
    /// only if the policy asks for neither.
    public var purchases: [VerifiedPurchase] {
        switch self {
        case .receipt(let receipt): Array(receipt.purchases)
        case .transaction(let transaction): [transaction.purchase].compactMap(\.self)
        case .notification(let notification): [notification.transactionInfo?.purchase].compactMap(\.self)
        case .transactionReceipt(let receipt): [receipt.purchase].compactMap(\.self)
        case .renewalInfo, .appTransaction, .realtimeRequest: []
        }
    }

    /// All purchases that Apple signed, also without an app or an environment.
    @_spi(Ledger) @_spi(Surfaces) public var signedPurchases: [SignedPurchase] {
        switch self {
        case .receipt(let receipt): receipt.signedPurchases
        case .transaction(let transaction): [transaction.signedPurchase].compactMap(\.self)
        case .notification(let notification): [notification.transactionInfo?.signedPurchase].compactMap(\.self)
        case .transactionReceipt(let receipt): [receipt.signedPurchase]
        case .renewalInfo, .appTransaction, .realtimeRequest: []
        }
    }

    /// The reason nothing in the evidence is a purchase; `nil` if something is.
    public var nothing: Entitlements.Nothing? {
        switch self {
        case .receipt(let receipt) where receipt.inAppPurchases.isEmpty: .emptyInApp
        default: hasSignedPurchases ? nil : .noProduct
        }
    }

    /// Whether there are any ``signedPurchases``.
    var hasSignedPurchases: Bool {
        switch self {
        case .receipt(let receipt): receipt.inAppPurchases.contains(where: \.isComplete)
        case .transaction(let transaction): transaction.isPurchase
        case .notification(let notification): notification.transactionInfo?.isPurchase ?? false
        case .transactionReceipt: true
        case .renewalInfo, .appTransaction, .realtimeRequest: false
        }
    }

    /// The renewal information that the evidence is or contains.
    public var renewals: [Verified<RenewalInfo>] {
        switch self {
        case .renewalInfo(let renewal): [renewal]
        case .notification(let notification): [notification.renewalInfo].compactMap(\.self)
        case .receipt, .transaction, .transactionReceipt, .appTransaction, .realtimeRequest: []
        }
    }

    /// Whether the purchases of this kind can have an `appAccountToken`. Receipts have none, of whichever form.
    @_spi(Ledger) public var canHaveAppAccountToken: Bool {
        switch self {
        case .receipt, .transactionReceipt: false
        case .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest: true
        }
    }

    /// The number of records that are no purchase because they lack something.
    package var incompletePurchaseCount: Int {
        switch self {
        case .receipt(let receipt): receipt.incompletePurchases.count
        case .transaction(let transaction): transaction.isPurchase ? 0 : 1
        case .notification(let notification): notification.transactionInfo.map { $0.isPurchase ? 0 : 1 } ?? 0
        case .renewalInfo, .appTransaction, .realtimeRequest, .transactionReceipt: 0
        }
    }

    /// The contents, then their signed parts.
    package var parts: [EvidencePart] {
        switch self {
        case .receipt(let receipt): [EvidencePart(receipt.receipt, receipt.verification)]
        case .transaction(let info): [EvidencePart(info)]
        case .renewalInfo(let info): [EvidencePart(info)]
        case .appTransaction(let info): [EvidencePart(info)]
        case .realtimeRequest(let request): [EvidencePart(request)]
        case .transactionReceipt(let receipt): [EvidencePart(receipt.transactionReceipt, receipt.verification)]
        case .notification(let notification): notification.parts
        }
    }
}

extension VerifiedEvidence {
    /// The names of the evidence's wrappers, outermost first, such as `unity`; empty if there are none.
    /// <doc:WhatClientsSend> lists them.
    public var unwrapped: [String] { layers.names }

    /// The wrappers around the evidence.
    var layers: Layers {
        switch self {
        case .receipt(let value): value.verification.layers
        case .transaction(let value): value.verification.layers
        case .renewalInfo(let value): value.verification.layers
        case .appTransaction(let value): value.verification.layers
        case .realtimeRequest(let value): value.verification.layers
        case .transactionReceipt(let value): value.verification.layers
        case .notification(let value): value.notification.verification.layers
        }
    }

    /// Returns the evidence with the wrappers that were around it.
    package func inside(_ layers: Layers) -> VerifiedEvidence {
        switch self {
        case .receipt(let receipt):
            .receipt(VerifiedReceipt(receipt: receipt.receipt, verification: receipt.verification.inside(layers)))
        case .transaction(let info): .transaction(info.inside(layers))
        case .renewalInfo(let info): .renewalInfo(info.inside(layers))
        case .appTransaction(let info): .appTransaction(info.inside(layers))
        case .realtimeRequest(let request): .realtimeRequest(request.inside(layers))
        case .transactionReceipt(let receipt):
            .transactionReceipt(
                VerifiedTransactionReceipt(
                    transactionReceipt: receipt.transactionReceipt,
                    verification: receipt.verification.inside(layers)))
        case .notification(let notification):
            .notification(
                VerifiedNotification(
                    notification: notification.notification.inside(layers),
                    transactionInfo: notification.transactionInfo, renewalInfo: notification.renewalInfo,
                    appTransaction: notification.appTransaction))
        }
    }
}

extension Verified {
    fileprivate func inside(_ layers: Layers) -> Verified {
        Verified(payload: payload, verification: verification.inside(layers), inherited: inherited)
    }
}

extension VerifiedNotification {
    fileprivate var parts: [EvidencePart] {
        [
            EvidencePart(notification), transactionInfo.map { EvidencePart($0) }, renewalInfo.map { EvidencePart($0) },
            appTransaction.map { EvidencePart($0) },
        ].compactMap(\.self)
    }
}

extension [JWSSubject] {
    fileprivate var firstBundleID: String? { lazy.compactMap(\.bundleID).first }
}
