// What all kinds of evidence have in common.
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

    /// The environment in which the evidence was signed. That of a transaction receipt is inferred: see ``TransactionReceipt/inferredEnvironment``.
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
}

extension [JWSSubject] {
    fileprivate var firstBundleID: String? { lazy.compactMap(\.bundleID).first }
}
