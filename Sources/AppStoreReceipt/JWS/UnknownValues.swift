import StrictText

extension VerifiedEvidence {
    /// The places of the values that this version does not know, such as `transaction.offerType`, each once. They are kept as they were signed; the article
    /// <doc:WhatOfflineVerificationCanKnow> says what they mean. Of a receipt, it is the type of a product.
    @_spi(Surfaces) public var unknownValues: Set<String> {
        switch self {
        case .receipt, .transactionReceipt:
            let types = purchases.compactMap(\.purchase.productType)
            return types.allSatisfy(ProductType.known.contains) ? [] : ["receipt.type"]
        case .transaction(let verified): return UnknownValues.places(.transaction, verified.object)
        case .renewalInfo(let verified): return UnknownValues.places(.renewalInfo, verified.object)
        case .appTransaction(let verified): return UnknownValues.places(.appTransaction, verified.object)
        case .realtimeRequest: return []
        case .notification(let verified): return verified.unknownValues
        }
    }
}

extension VerifiedNotification {
    /// The places of the values that this version does not know, also in the signed parts.
    @_spi(Surfaces) public var unknownValues: Set<String> {
        var places = UnknownValues.places(.notification, notification.object)
        if let transactionInfo { places.formUnion(UnknownValues.places(.transaction, transactionInfo.object)) }
        if let renewalInfo { places.formUnion(UnknownValues.places(.renewalInfo, renewalInfo.object)) }
        if let appTransaction { places.formUnion(UnknownValues.places(.appTransaction, appTransaction.object)) }
        return places
    }
}

/// The values of Apple's enumerations as JSON, by the kind of JWS and the member.
enum UnknownValues {
    static let known: [JWSKind: [String: Set<String>]] = [
        .transaction: [
            "type": words(ProductType.known.map(\.rawValue)),
            "inAppOwnershipType": words(OwnershipType.known.map(\.rawValue)),
            "offerType": numbers(1...5),
            "offerDiscountType": words(["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"]),
            "transactionReason": words(["PURCHASE", "RENEWAL"]), "revocationReason": numbers(0...1),
            "revocationType": words(["REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE", "ASSIGNMENT_REVOKE"]),
            "additionalTransactionReason": words(["SEAT_ADDITION"]),
            "invitationManagement": words(["APPLE", "DEVELOPER"]),
            "billingPlanType": words(["BILLED_UPFRONT", "MONTHLY"]),
        ],
        .renewalInfo: [
            "autoRenewStatus": numbers(0...1), "expirationIntent": numbers(1...5),
            "priceIncreaseStatus": numbers(0...1),
            "offerType": numbers(1...5),
            "offerDiscountType": words(["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"]),
            "renewalBillingPlanType": words(["BILLED_UPFRONT", "MONTHLY"]),
        ],
        .appTransaction: ["originalPlatform": words(["iOS", "macOS", "tvOS", "visionOS"])],
        .notification: [
            "notificationType": words([
                "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW",
                "DID_RENEW", "EXPIRED", "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATE",
                "MIGRATION", "OFFER_REDEEMED", "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND",
                "REFUND_DECLINED", "REFUND_REVERSED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT",
                "REVOKE",
                "SUBSCRIBED", "TEST", "UNCLAIM_SEATS",
            ]),
            "subtype": words([
                "ACCEPTED", "ACTIVE_TOKEN_REMINDER", "AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED", "BILLING_RECOVERY",
                "BILLING_RETRY", "CREATED", "DECREASE_QUANTITY", "DOWNGRADE", "FAILURE", "GRACE_PERIOD",
                "INCREASE_QUANTITY", "INITIAL_BUY", "PENDING", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", "RESUBSCRIBE",
                "SEATS", "SUMMARY", "UNREPORTED", "UPGRADE", "VOLUNTARY",
            ]),
            "status": numbers(1...5), "tokenType": words(["ACQUISITION", "SERVICES"]),
            "consumptionRequestReason": words([
                "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
            ]),
        ],
    ]

    private static func words(_ words: [String]) -> Set<String> { Set(words.map { "\"\($0)\"" }) }
    private static func numbers(_ numbers: ClosedRange<Int>) -> Set<String> { Set(numbers.map(String.init)) }

    /// - Parameter object: A payload. Members are looked for in its objects, too.
    fileprivate static func places(_ kind: JWSKind, _ object: JWSObject) -> Set<String> {
        guard let known = known[kind] else { return [] }
        var places: Set<String> = []
        let text = Array(object.text.utf8)
        // It was read before, so that reading it again cannot fail.
        try? JSONCursor.decode(text.span) { (cursor) throws(JSONError) in
            try read(&cursor) { name, range in
                guard let values = known[name] else { return }
                let value = String(decoding: text[range], as: UTF8.self)
                if value != "null", !values.contains(value) { places.insert("\(kind.rawValue).\(name)") }
            }
        }
        return places
    }

    private static func read(
        _ cursor: inout JSONCursor, _ found: (String, Range<Int>) -> Void
    ) throws(JSONError) {
        try cursor.readObject { (cursor, name) throws(JSONError) in
            if try cursor.peekType() == .object { return try read(&cursor, found) }
            let name = name.value
            found(name, try cursor.skipValue())
        }
    }
}
