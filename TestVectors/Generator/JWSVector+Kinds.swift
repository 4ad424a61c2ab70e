import AppStoreReceipt
import AppStoreReceiptTesting

// Signed data of each kind, which is accepted.
extension JWSVector {
    static let all = kinds + seats + faults

    static let date = JWSBuilder.defaultDate.millisecondsSince1970

    private static func about(_ type: NotificationType, _ member: String, _ value: JSONValue) -> [JWSStep] {
        [.payload(.notification(type, about: member, value))]
    }

    static let appleID: JWSStep = .verifier { $0.appAppleID = 1_234_567_890 }
    static let realtimeRequest: JWSStep = .payload(
        .realtimeRequest(productID: "pro", originalTransactionID: "200000000000001"))

    private static func consumable(_ steps: [JWSStep] = []) -> [JWSStep] {
        [.member("productId", "coins"), .member("type", "Consumable"), .member("quantity", 3)] + steps
    }

    /// A period of 30 days.
    private static func subscription(_ steps: JWSStep...) -> [JWSStep] {
        [
            .member("type", "Auto-Renewable Subscription"), .member("expiresDate", .integer(date + 2_592_000_000)),
            .member("webOrderLineItemId", "700000000001"),
        ] + steps
    }

    private static func notification(_ type: NotificationType, _ subtype: NotificationSubtype? = nil) -> [JWSStep] {
        [.payload(.notification(type, subtype: subtype, bundleID: VerifierOptions.bundleID))]
    }

    /// Subscriptions of several seats, which Apple sells since September 2026, and what came with them: one new member
    /// or value each.
    private static let seats: [JWSVector] = [
        accepted(
            "transaction-of-eight-seats", .transaction, why: "A quantity of seats is not one of products.",
            subscription(
                .member("quantity", 8),
                .member(
                    "multiSeatInfo", ["priceTiers": [["price": 990, "quantity": 5], ["price": 790, "quantity": 3]]]))
        ),
        accepted(
            "transaction-of-seats-apple-invites", .transaction, why: "Each member has a transaction.",
            subscription(.member("multiSeatInfo", ["invitationManagement": "APPLE"]))),
        accepted(
            "transaction-of-seats-the-developer-invites", .transaction, why: "No member has a transaction.",
            subscription(.member("multiSeatInfo", ["invitationManagement": "DEVELOPER"]))),
        accepted(
            "transaction-of-seats-refunded-in-part", .transaction, why: "It stays valid.",
            subscription(.member("quantity", 8), .member("multiSeatInfo", ["revokedSeatQuantity": 2]))),
        accepted(
            "transaction-of-added-seats", .transaction, why: "One of several transactions of a period.",
            subscription(.member("quantity", 3), .member("additionalTransactionReason", "SEAT_ADDITION"))),
        accepted(
            "period-of-nine-seats-bought-first", .transaction, why: "Eight seats, of which two were refunded.",
            subscription(
                .member("quantity", 8), .member("additionalTransactionReason", "SEAT_ADDITION"),
                .member("multiSeatInfo", ["revokedSeatQuantity": 2]))),
        accepted(
            "period-of-nine-seats-added", .transaction, why: "The three that were added a second later.",
            subscription(
                .member("quantity", 3), .member("additionalTransactionReason", "SEAT_ADDITION"),
                .member("multiSeatInfo", [:]), .member("transactionId", "200000000000002"),
                .member("webOrderLineItemId", "700000000002"), .member("purchaseDate", .integer(date)))),
        accepted(
            "transaction-assigned", .transaction, why: "Somebody else bought the seat.",
            subscription(.member("inAppOwnershipType", "ASSIGNED"))),
        accepted(
            "transaction-no-longer-assigned", .transaction, why: "The buyer took the seat back.",
            subscription(
                .member("inAppOwnershipType", "ASSIGNED"), .member("revocationDate", .integer(date - 500)),
                .member("revocationType", "ASSIGNMENT_REVOKE"))),
        accepted(
            "transaction-with-a-retention-offer", .transaction, why: "The fifth type of offers.",
            subscription(.member("offerType", 5))),
        accepted(
            "renewal-info-of-nine-seats", .renewalInfo, why: "The seats of the next period.",
            [.renewalInfo(), .member("renewalQuantity", 9)]),
        accepted(
            "renewal-info-of-seat-prices", .renewalInfo, why: "The prices of the seats of the next period.",
            [
                .renewalInfo(),
                .member("multiSeatInfo", ["renewalPriceTiers": [["price": 990, "quantity": 9]]]),
            ]),
        accepted(
            "renewal-info-of-a-retention-offer", .renewalInfo, why: "The fifth type of offers, at the next renewal.",
            [.renewalInfo(), .member("offerType", 5)]),
        accepted(
            "renewal-info-of-a-cancellation", .renewalInfo,
            why: "Signed a second later: the customer declined a price increase.",
            [
                .renewalInfo(), .member("signedDate", .integer(date + 1000)), .member("autoRenewStatus", 0),
                .member("autoRenewProductId", "pro.year"), .member("renewalQuantity", 2),
                .member("expirationIntent", 3), .member("priceIncreaseStatus", 0),
                .member("isInBillingRetryPeriod", false), .member("gracePeriodExpiresDate", .integer(date + 500)),
                .member("offerType", 2), .member("offerIdentifier", "summer"),
            ]),
        accepted(
            "notification-of-unclaimed-seats", .notification, why: "The claims of the developer's server that end.",
            notification(.unclaimSeats) + [
                .member("data", nil),
                .member("unclaimInfo", ["unclaimSeatIds": ["00000000-0000-4000-8000-000000000006"]]),
            ]),
        accepted(
            "notification-of-refunded-seats", .notification, why: "A refund that leaves the transaction valid.",
            notification(.refund, .seats)),
        accepted(
            "notification-of-more-seats", .notification, why: "Which type has the subtype is not documented.",
            notification(.didChangeRenewalPreference, .increaseQuantity)),
        accepted(
            "notification-of-fewer-seats", .notification, why: "Which type has the subtype is not documented.",
            notification(.didChangeRenewalPreference, .decreaseQuantity)),
        accepted(
            "notification-of-a-migration", .notification, why: "Apple's changelog writes MIGRATE for MIGRATION.",
            notification(NotificationType(rawValue: "MIGRATE"))),
    ]

    private static let kinds: [JWSVector] = [
        accepted("transaction", .transaction, why: "A product that is bought once.", []),
        accepted(
            "transaction-of-a-subscription", .transaction, why: "A period with an offer, a commitment and an account.",
            [
                .member("type", "Auto-Renewable Subscription"), .member("subscriptionGroupIdentifier", "20000001"),
                .member("expiresDate", .integer(date + 2_592_000_000)), .member("webOrderLineItemId", "700000000001"),
                .member("offerType", 1), .member("offerDiscountType", "FREE_TRIAL"), .member("offerPeriod", "P1M"),
                .member("billingPlanType", "MONTHLY"),
                .member(
                    "commitmentInfo", ["billingPeriodNumber": 1, "totalBillingPeriods": 12, "commitmentPrice": 990]),
                .member("appAccountToken", "00000000-0000-4000-8000-000000000003"),
            ]),
        accepted(
            "transaction-until-the-year-10000", .transaction, why: "A date with which not every language has a type.",
            [
                .member("type", "Auto-Renewable Subscription"), .member("expiresDate", .integer(253_402_300_800_000)),
                .member("originalPurchaseDate", .integer(-62_167_219_200_001)),
            ]),
        accepted(
            "transaction-of-advanced-commerce", .transaction, why: "Items with offers and refunds, three objects deep.",
            [
                .member(
                    "advancedCommerceInfo",
                    [
                        "descriptors": ["displayName": "Bundle", "description": "Two items"], "taxRate": "0.2",
                        "items": [
                            [
                                "SKU": "a", "price": 990,
                                "offer": ["period": "P1W", "periodCount": 2, "price": 490, "reason": "WIN_BACK"],
                            ],
                            [
                                "SKU": "b",
                                "refunds": [["refundAmount": 990, "refundType": "FULL", "refundReason": "LEGAL"]],
                            ],
                        ],
                    ])
            ]),
        accepted(
            "transaction-revoked", .transaction,
            why: "A refund does not make a signature wrong: the transaction says it.",
            [
                .member("revocationDate", .integer(date - 500)), .member("revocationReason", 1),
                .member("revocationType", "REFUND_PRORATED"), .member("revocationPercentage", 50_000),
            ]),
        accepted(
            "consumable", .transaction, why: "Gives no access, and is granted once.", consumable()),
        accepted(
            "consumable-refunded", .transaction, why: "Nothing of it is left.",
            consumable([
                .member("revocationDate", .integer(date - 500)), .member("revocationReason", 0),
                .member("revocationType", "REFUND_FULL"),
            ])),
        accepted(
            "consumable-refunded-in-part", .transaction, why: "Two of three are left.",
            consumable([
                .member("revocationDate", .integer(date - 500)), .member("revocationReason", 0),
                .member("revocationType", "REFUND_PRORATED"), .member("revocationPercentage", 33_333),
            ])),
        accepted(
            "consumable-of-none", .transaction, why: "A signed quantity of 0 leaves nothing to grant.",
            consumable([.member("quantity", 0)])),
        accepted(
            "transaction-family-shared", .transaction, why: "Somebody else of the family bought it.",
            [.member("inAppOwnershipType", "FAMILY_SHARED")]),
        accepted(
            "transaction-non-renewing", .transaction, why: "Only the app knows how long it lasts.",
            [.member("productId", "season"), .member("type", "Non-Renewing Subscription")]),
        accepted(
            "transaction-from-the-future-of-the-schema", .transaction, why: "Unknown members and values are kept.",
            [
                .member("transactionReason", "TELEPATHY"), .member("offerType", 99),
                .repeated("new", ["a": [1, .raw("2.50")]]), .repeated("new", .null),
            ]),
        accepted("renewal-info", .renewalInfo, why: "It has no bundle id.", [.renewalInfo()]),
        accepted(
            "app-transaction", .appTransaction, why: "Its date of signing is called receiptCreationDate.",
            [.payload(.appTransaction(bundleID: VerifierOptions.bundleID)), appleID]),
        accepted(
            "realtime-request", .realtimeRequest, why: "The app's Apple id ties it to the app.",
            [realtimeRequest, appleID]),
        accepted(
            "notification", .notification, .transaction, .renewalInfo, why: "With two signed parts.",
            [.notification(transaction: [], renewalInfo: [])]),
        accepted("notification-test", .notification, why: "Without signed parts.", [.notification()]),
        accepted(
            "notification-of-app-data", .notification, .appTransaction,
            why: "A customer's copy of the app, signed apart.",
            [
                .builder { builder, minting in
                    let part = JWSBuilder.appTransaction(bundleID: VerifierOptions.bundleID)
                    builder.payload =
                        JWSBuilder.notification(
                            .rescindConsent, about: "appData",
                            [
                                "appAppleId": 1_234_567_890, "bundleId": .string(VerifierOptions.bundleID),
                                "environment": "Production",
                                "signedAppTransactionInfo": .string(try minting.forge.jws([.payload(part)])),
                            ]
                        ).payload
                }
            ]),
        accepted(
            "notification-of-a-summary", .notification, why: "What came of the extension of many subscriptions.",
            about(
                .renewalExtension, "summary",
                [
                    "requestIdentifier": "00000000-0000-4000-8000-000000000004", "environment": "Production",
                    "bundleId": .string(VerifierOptions.bundleID), "productId": "pro", "failedCount": 1,
                    "storefrontCountryCodes": ["CAN", "USA"], "succeededCount": 2,
                ])),
        accepted(
            "notification-of-an-external-purchase", .notification, why: "Its environment is in the token's id.",
            about(
                .externalPurchaseToken, "externalPurchaseToken",
                [
                    "externalPurchaseId": "00000000-0000-4000-8000-000000000005", "tokenType": "ACQUISITION",
                    "bundleId": .string(VerifierOptions.bundleID), "tokenCreationDate": .integer(date),
                ])),
        accepted(
            "header-after-white-space", .transaction, why: "JSON may begin so; its base64url does not begin with e.",
            [.parts(JWSStep.recoding(0) { $0 = "\r\n " + $0 })]),
        accepted(
            "line-break-at-the-end", .transaction, why: "Whitespace around it is passed over.", [.text { $0 += "\n" }]),
        accepted(
            "kid-and-typ", .transaction, why: "Beside a chain they decide nothing.",
            [.header("kid", "another-key"), .header("typ", "JWT"), .header("new", [1])]),
        accepted(
            "rsa-root", .transaction, why: "A P-384 intermediate below an RSA root, as Apple has one.",
            [
                .shape { shape, keys in
                    shape.root = TestCertificateAuthority.Shape().root
                    keys.root = .root
                }, .verifier { $0.roots = ["root.der"] },
            ]),
        accepted(
            "signer-expired-since", .transaction, why: "Judged at the date of signing.",
            [.leaf { $0.notAfter = Instant(millisecondsSince1970: date + 1000) }]),
        accepted(
            "xcode", .transaction, why: "In a verifier for Xcode's.", JWSStep.xcode("Xcode") + [.inVerifierForXcode]),
        accepted(
            "local-testing", .transaction, why: "In a verifier for Xcode's.",
            JWSStep.xcode("LocalTesting") + [.inVerifierForXcode]),
    ]
}
