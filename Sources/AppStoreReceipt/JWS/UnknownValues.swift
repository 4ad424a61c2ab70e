import StrictText

extension VerifiedEvidence {
    /// The places of the values that this version does not know, such as `transaction.offerType`, each once. They are kept as they were signed; the article
    /// <doc:WhatOfflineVerificationCanKnow> says what they mean. Of a receipt, it is the type of a product.
    @_spi(Surfaces) public var unknownValues: [String] {
        switch self {
        case .receipt, .transactionReceipt:
            let types = purchases.compactMap(\.purchase.productType)
            return types.allSatisfy(ProductType.known.contains) ? [] : ["receipt.type"]
        case .transaction(let verified): return UnknownValues.places([(.transaction, verified.object)])
        case .renewalInfo(let verified): return UnknownValues.places([(.renewalInfo, verified.object)])
        case .appTransaction(let verified): return UnknownValues.places([(.appTransaction, verified.object)])
        case .realtimeRequest: return []
        case .notification(let verified): return verified.unknownValues
        }
    }
}

extension VerifiedNotification {
    /// The places of the values that this version does not know, also in the signed parts.
    @_spi(Surfaces) public var unknownValues: [String] {
        let parts: [(JWSKind, JWSObject?)] = [
            (.notification, notification.object), (.transaction, transactionInfo?.object),
            (.renewalInfo, renewalInfo?.object), (.appTransaction, appTransaction?.object),
        ]
        return UnknownValues.places(parts.compactMap { kind, object in object.map { (kind, $0) } })
    }
}

/// The values of Apple's enumerations as JSON, by the kind of JWS and the member.
enum UnknownValues {
    static let known: [JWSKind: [UTF8Bytes: Set<UTF8Bytes>]] = [
        .transaction: [
            UTF8Bytes("type"): words(ProductType.known.map(\.rawValue)),
            UTF8Bytes("inAppOwnershipType"): words(OwnershipType.known.map(\.rawValue)),
            UTF8Bytes("offerType"): numbers(1...5),
            UTF8Bytes("offerDiscountType"): words(["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"]),
            UTF8Bytes("transactionReason"): words(["PURCHASE", "RENEWAL"]),
            UTF8Bytes("revocationReason"): numbers(0...1),
            UTF8Bytes("revocationType"): words(["REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE", "ASSIGNMENT_REVOKE"]
            ),
            UTF8Bytes("additionalTransactionReason"): words(["SEAT_ADDITION"]),
            UTF8Bytes("invitationManagement"): words(["APPLE", "DEVELOPER"]),
            UTF8Bytes("billingPlanType"): words(["BILLED_UPFRONT", "MONTHLY"]),
        ],
        .renewalInfo: [
            UTF8Bytes("autoRenewStatus"): numbers(0...1), UTF8Bytes("expirationIntent"): numbers(1...5),
            UTF8Bytes("priceIncreaseStatus"): numbers(0...1),
            UTF8Bytes("offerType"): numbers(1...5),
            UTF8Bytes("offerDiscountType"): words(["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"]),
            UTF8Bytes("renewalBillingPlanType"): words(["BILLED_UPFRONT", "MONTHLY"]),
        ],
        .appTransaction: [UTF8Bytes("originalPlatform"): words(["iOS", "macOS", "tvOS", "visionOS"])],
        .notification: [
            UTF8Bytes("notificationType"): words([
                "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW",
                "DID_RENEW", "EXPIRED", "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATE",
                "MIGRATION", "OFFER_REDEEMED", "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND",
                "REFUND_DECLINED", "REFUND_REVERSED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT",
                "REVOKE",
                "SUBSCRIBED", "TEST", "UNCLAIM_SEATS",
            ]),
            UTF8Bytes("subtype"): words([
                "ACCEPTED", "ACTIVE_TOKEN_REMINDER", "AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED", "BILLING_RECOVERY",
                "BILLING_RETRY", "CREATED", "DECREASE_QUANTITY", "DOWNGRADE", "FAILURE", "GRACE_PERIOD",
                "INCREASE_QUANTITY", "INITIAL_BUY", "PENDING", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", "RESUBSCRIBE",
                "SEATS", "SUMMARY", "UNREPORTED", "UPGRADE", "VOLUNTARY",
            ]),
            UTF8Bytes("status"): numbers(1...5), UTF8Bytes("tokenType"): words(["ACQUISITION", "SERVICES"]),
            UTF8Bytes("consumptionRequestReason"): words([
                "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
            ]),
        ],
    ]

    private static func words(_ words: [String]) -> Set<UTF8Bytes> { Set(words.map { UTF8Bytes("\"\($0)\"") }) }
    private static func numbers(_ numbers: ClosedRange<Int>) -> Set<UTF8Bytes> {
        Set(numbers.map { UTF8Bytes(String($0)) })
    }

    /// - Parameter objects: Payloads. Members are looked for in their objects, too.
    fileprivate static func places(_ objects: [(kind: JWSKind, object: JWSObject)]) -> [String] {
        var places: Set<UTF8Bytes> = []
        for (kind, object) in objects {
            guard let known = known[kind] else { continue }
            let text = Array(object.text.utf8)
            // It was read before, so that reading it again cannot fail.
            try? JSONCursor.decode(text.span) { (cursor) throws(JSONError) in
                try read(&cursor) { name, range in
                    let value = UTF8Bytes(text[range])
                    guard let values = known[UTF8Bytes(name)], !values.contains(value), value != null else { return }
                    places.insert(UTF8Bytes("\(kind.rawValue).\(name)"))
                }
            }
        }
        return places.sorted().map(\.string)
    }

    private static let null = UTF8Bytes("null")

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
