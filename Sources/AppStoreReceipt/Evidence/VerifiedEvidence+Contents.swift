// What all kinds of evidence have, as far as they have it.
extension VerifiedEvidence {
    /// The bundle id of the app that it is about; renewal information and real-time requests have none.
    public var bundleID: String? {
        switch self {
        case .receipt(let receipt): receipt.bundleID
        case .transaction(let info): info.bundleID
        case .appTransaction(let info): info.bundleID
        case .notification(let notification): notification.notification.payload.subjects.firstBundleID
        case .renewalInfo, .realtimeRequest: nil
        }
    }

    /// Where it comes from.
    public var environment: AppStoreEnvironment? {
        switch self {
        case .receipt(let receipt): receipt.environment
        case .transaction(let info): info.environment
        case .renewalInfo(let info): info.environment
        case .appTransaction(let info): info.environment
        case .notification(let notification): notification.environment
        case .realtimeRequest(let request): request.environment
        }
    }

    /// The ids of the transactions in it, in its order: what is granted once. Only receipts have more than one.
    public var transactionIDs: [String] {
        switch self {
        case .receipt(let receipt): receipt.inAppPurchases.compactMap(\.transactionID)
        case .transaction(let info): [info.transactionID].compactMap(\.self)
        case .notification(let notification): [notification.transactionInfo?.transactionID].compactMap(\.self)
        case .renewalInfo, .appTransaction, .realtimeRequest: []
        }
    }
}

extension [JWSSubject] {
    fileprivate var firstBundleID: String? { lazy.compactMap(\.bundleID).first }
}
