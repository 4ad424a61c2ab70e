import AppStoreReceipt
import Testing

/// The words and numbers in Apple's documentation of the App Store Server API.
@Suite struct JWSValuesTests {
    @Test func `the names stand for Apple's words`() {
        let words: [(String, String)] = [
            (OwnershipType.purchased.rawValue, "PURCHASED"), (OwnershipType.familyShared.rawValue, "FAMILY_SHARED"),
            (OwnershipType.assigned.rawValue, "ASSIGNED"),
            (AdditionalTransactionReason.seatAddition.rawValue, "SEAT_ADDITION"),
            (InvitationManagement.apple.rawValue, "APPLE"), (InvitationManagement.developer.rawValue, "DEVELOPER"),
            (TransactionReason.purchase.rawValue, "PURCHASE"), (TransactionReason.renewal.rawValue, "RENEWAL"),
            (RevocationType.fullRefund.rawValue, "REFUND_FULL"),
            (RevocationType.proratedRefund.rawValue, "REFUND_PRORATED"),
            (RevocationType.familyRevoke.rawValue, "FAMILY_REVOKE"),
            (RevocationType.assignmentRevoke.rawValue, "ASSIGNMENT_REVOKE"),
            (NotificationType.unclaimSeats.rawValue, "UNCLAIM_SEATS"),
            (NotificationType.migration.rawValue, "MIGRATION"), (NotificationSubtype.seats.rawValue, "SEATS"),
            (NotificationSubtype.increaseQuantity.rawValue, "INCREASE_QUANTITY"),
            (NotificationSubtype.decreaseQuantity.rawValue, "DECREASE_QUANTITY"),
            (OfferDiscountType.freeTrial.rawValue, "FREE_TRIAL"),
            (OfferDiscountType.payAsYouGo.rawValue, "PAY_AS_YOU_GO"),
            (OfferDiscountType.payUpFront.rawValue, "PAY_UP_FRONT"), (OfferDiscountType.oneTime.rawValue, "ONE_TIME"),
        ]
        for (word, expected) in words { #expect(word == expected, "\(expected)") }
    }

    @Test func `the names stand for Apple's numbers`() {
        #expect([RevocationReason.other, .appIssue].map(\.rawValue) == [0, 1])
        #expect(
            [OfferType.introductory, .promotional, .offerCode, .winBack, .retention].map(\.rawValue) == [1, 2, 3, 4, 5])
        #expect([AutoRenewStatus.off, .on].map(\.rawValue) == [0, 1])
        #expect(
            [ExpirationIntent.cancelled, .billingError, .priceIncreaseNotAccepted, .productUnavailable, .other].map(
                \.rawValue) == [1, 2, 3, 4, 5])
        #expect([PriceIncreaseStatus.pending, .accepted].map(\.rawValue) == [0, 1])
    }

    @Test func `MIGRATE and MIGRATION are one type, and each keeps its name`() {
        let short = NotificationType(rawValue: "MIGRATE")
        #expect(short == .migration && Set([short, .migration]).count == 1 && short.rawValue == "MIGRATE")
        #expect(NotificationType(rawValue: "MIGRATES") != .migration && short != .metadataUpdate)
    }

    @Test func `an offer is a free trial if Apple says so, and not because it is introductory`() {
        #expect(PurchaseOffer(type: .introductory, discountType: .freeTrial).isFreeTrial)
        #expect(!PurchaseOffer(type: .introductory, discountType: .payAsYouGo).isFreeTrial)
        #expect(PurchaseOffer(type: .offerCode, discountType: .freeTrial).isFreeTrial)
    }
}
