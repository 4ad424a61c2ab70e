import StrictText

extension VerifiedEvidence {
    /// The places of the values that this version does not know, such as `transaction.offerType`, each once. They are
    /// kept as they were signed; the article <doc:WhatOfflineVerificationCanKnow> says what they mean. Of a receipt, it
    /// is the type of a product.
    @_spi(Surfaces) public var unknownValues: [String] {
        switch self {
        case .receipt(let receipt):
            let types = receipt.inAppPurchases.lazy.compactMap(\.productType)
            return types.allSatisfy(ProductType.known.contains) ? [] : ["receipt.type"]
        case .transaction(let verified): return UnknownValues(verified).places
        case .renewalInfo(let verified): return UnknownValues(verified).places
        case .appTransaction(let verified): return UnknownValues(verified).places
        case .realtimeRequest, .transactionReceipt: return []
        case .notification(let verified): return verified.unknownValues
        }
    }
}

extension VerifiedNotification {
    /// The places of the values that this version does not know, also in the signed parts.
    @_spi(Surfaces) public var unknownValues: [String] {
        var unknown = UnknownValues(notification)
        if let transactionInfo { unknown.add(transactionInfo) }
        if let renewalInfo { unknown.add(renewalInfo) }
        if let appTransaction { unknown.add(appTransaction) }
        return unknown.places
    }
}

/// The places of values that this version does not know.
///
/// Only small objects are parsed again: the verifier has found the members' values.
private struct UnknownValues {
    private var found: Set<UTF8Bytes> = []

    init(_ verified: Verified<some JWSClaims>) { add(verified) }

    mutating func add<Payload: JWSClaims>(_ verified: Verified<Payload>) {
        verified.payload.members.findUnknownValues { found.insert(UTF8Bytes("\(Payload.kind.rawValue).\($0)")) }
    }

    var places: [String] { found.sorted().map(\.string) }
}

extension JWSMembers where Member: JWSMember {
    /// Passes the names of the members whose values this version does not know, in objects of this one, too.
    fileprivate func findUnknownValues(_ found: (String) -> Void) {
        for entry in entries {
            if let known = entry.member.knownValues {
                if !known.contains(text, entry.value.range) { found(entry.member.rawValue) }
            } else if case .object(let record) = entry.member.valueType {
                record.findUnknownValues(text, at: entry.value.range.lowerBound, found)
            }
        }
    }
}

extension JWSRecord {
    fileprivate static func findUnknownValues(_ text: [UInt8], at start: Int, _ found: (String) -> Void) {
        guard Member.allCases.contains(where: { $0.knownValues != nil }) else { return }
        var cursor = JSONCursor(text.span, from: start)
        // A member that decides nothing need not be an object.
        try? JWSMembers<Member>(text, &cursor).findUnknownValues(found)
    }
}

/// The values of one of Apple's enumerations, as JSON.
struct KnownValues: Sendable {
    private let texts: [[UInt8]]

    fileprivate init(_ words: String...) { texts = words.map { Array("\"\($0)\"".utf8) } }
    fileprivate init(_ words: [some RawRepresentable<String>]) {
        texts = words.map { Array("\"\($0.rawValue)\"".utf8) }
    }
    fileprivate init(_ numbers: ClosedRange<Int>) { texts = numbers.map { Array(String($0).utf8) } }

    fileprivate func contains(_ text: [UInt8], _ range: Range<Int>) -> Bool {
        texts.contains { $0.count == range.count && text[range].elementsEqual($0) } || containsOtherwise(text, range)
    }

    /// Letters can be escaped. A value that is not a string, such as an object, is unknown.
    private func containsOtherwise(_ text: [UInt8], _ range: Range<Int>) -> Bool {
        guard text[range].contains(UInt8(ascii: "\\")) else { return false }
        var cursor = JSONCursor(text.span, from: range.lowerBound)
        guard let word = try? cursor.readString().bytes else { return false }
        let quote = [UInt8(ascii: "\"")]
        return texts.contains(quote + word + quote)
    }
}

// MARK: - The enumerations

extension KnownValues {
    fileprivate static let productTypes = KnownValues(ProductType.known)
    fileprivate static let ownershipTypes = KnownValues(OwnershipType.known)
    fileprivate static let offerTypes = KnownValues(1...5)
    fileprivate static let offerDiscountTypes = KnownValues("FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME")
    fileprivate static let transactionReasons = KnownValues("PURCHASE", "RENEWAL")
    fileprivate static let flags = KnownValues(0...1)
    fileprivate static let revocationTypes = KnownValues(
        "REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE", "ASSIGNMENT_REVOKE")
    fileprivate static let additionalTransactionReasons = KnownValues("SEAT_ADDITION")
    fileprivate static let invitationManagements = KnownValues("APPLE", "DEVELOPER")
    fileprivate static let billingPlanTypes = KnownValues("BILLED_UPFRONT", "MONTHLY")
    fileprivate static let expirationIntents = KnownValues(1...5)
    fileprivate static let platforms = KnownValues("iOS", "macOS", "tvOS", "visionOS")
    fileprivate static let notificationTypes = KnownValues(
        "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW",
        "DID_RENEW", "EXPIRED", "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATE",
        "MIGRATION", "OFFER_REDEEMED", "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND",
        "REFUND_DECLINED", "REFUND_REVERSED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "REVOKE",
        "SUBSCRIBED", "TEST", "UNCLAIM_SEATS")
    fileprivate static let subtypes = KnownValues(
        "ACCEPTED", "ACTIVE_TOKEN_REMINDER", "AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED", "BILLING_RECOVERY",
        "BILLING_RETRY", "CREATED", "DECREASE_QUANTITY", "DOWNGRADE", "FAILURE", "GRACE_PERIOD", "INCREASE_QUANTITY",
        "INITIAL_BUY", "PENDING", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", "RESUBSCRIBE", "SEATS", "SUMMARY",
        "UNREPORTED", "UPGRADE", "VOLUNTARY")
    fileprivate static let statuses = KnownValues(1...5)
    fileprivate static let consumptionRequestReasons = KnownValues(
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER")
    fileprivate static let tokenTypes = KnownValues("ACQUISITION", "SERVICES")
}

extension TransactionInfo.Member {
    var knownValues: KnownValues? {
        switch self {
        case .type: .productTypes
        case .inAppOwnershipType: .ownershipTypes
        case .offerType: .offerTypes
        case .offerDiscountType: .offerDiscountTypes
        case .transactionReason: .transactionReasons
        case .revocationReason: .flags
        case .revocationType: .revocationTypes
        case .additionalTransactionReason: .additionalTransactionReasons
        case .billingPlanType: .billingPlanTypes
        default: nil
        }
    }
}

extension MultiSeatInfo.Member {
    var knownValues: KnownValues? { self == .invitationManagement ? .invitationManagements : nil }
}

extension RenewalInfo.Member {
    var knownValues: KnownValues? {
        switch self {
        case .autoRenewStatus, .priceIncreaseStatus: .flags
        case .expirationIntent: .expirationIntents
        case .offerType: .offerTypes
        case .offerDiscountType: .offerDiscountTypes
        case .renewalBillingPlanType: .billingPlanTypes
        default: nil
        }
    }
}

extension AppTransaction.Member {
    var knownValues: KnownValues? { self == .originalPlatform ? .platforms : nil }
}

extension AppStoreNotification.Member {
    var knownValues: KnownValues? {
        switch self {
        case .notificationType: .notificationTypes
        case .subtype: .subtypes
        default: nil
        }
    }
}

extension NotificationData.Member {
    var knownValues: KnownValues? {
        switch self {
        case .status: .statuses
        case .consumptionRequestReason: .consumptionRequestReasons
        default: nil
        }
    }
}

extension ExternalPurchaseToken.Member {
    var knownValues: KnownValues? { self == .tokenType ? .tokenTypes : nil }
}
