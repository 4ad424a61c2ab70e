import AppStoreReceiptTesting
import Foundation
import StrictText
import TestSupport
import Testing

@_spi(Surfaces) @testable import AppStoreReceipt

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

    @Test func `values that are not known are counted by their places, also in signed parts`() throws {
        let authority = try Minted.ellipticAuthority
        var transaction = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "1")
        transaction.payload["offerType"] = 5
        transaction.payload["revocationType"] = .null
        let known = try Minted.verifier().verify(transaction.signed(by: authority))
        #expect(known.unknownValues == [])
        transaction.payload["offerType"] = 6
        transaction.payload["multiSeatInfo"] = ["invitationManagement": "SCHOOL"]
        let notification = JWSBuilder.notification(
            NotificationType(rawValue: "NEW"), bundleID: Minted.bundleID,
            transaction: try transaction.signed(by: authority))
        let unknown = try Minted.verifier().verify(notification.signed(by: authority))
        #expect(
            unknown.unknownValues == [
                "notification.notificationType", "transaction.invitationManagement", "transaction.offerType",
            ])
        let receipt = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [.nonConsumable("pro", transactionID: "1")])
        #expect(try Minted.verifier().verify(receipt.signed(by: Minted.authority)).unknownValues == [])
    }

    @Test func `what is escaped is known, and another object has members of its own`() throws {
        let authority = try Minted.ellipticAuthority
        var transaction = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "pro", transactionID: "1")
        transaction.payload["type"] = .raw(#""Non-Con\u0073umable""#)
        transaction.payload["new"] = ["type": 3, "offerType": 99]
        transaction.payload["commitmentInfo"] = ["type": 3]
        let unknown = { try Minted.verifier().verify(transaction.signed(by: authority)).unknownValues }
        transaction.payload["multiSeatInfo"] = ["offerType": 99]
        #expect(try unknown() == [])
        transaction.payload["offerType"] = "five"
        transaction.payload["type"] = .raw(#""Non-Con\u0073umables""#)
        #expect(try unknown() == ["transaction.offerType", "transaction.type"])
    }

    @Test func `the article's table has each member that has known values, and no other`() throws {
        func members<Member: JWSMember>(_: Member.Type) -> [String] {
            Member.allCases.filter { $0.knownValues != nil }.map(\.rawValue)
        }
        let known = [
            "transactions": members(TransactionInfo.Member.self) + members(MultiSeatInfo.Member.self),
            "renewal information": members(RenewalInfo.Member.self),
            "app transactions": members(AppTransaction.Member.self),
            "notifications": members(AppStoreNotification.Member.self) + members(NotificationData.Member.self)
                + members(ExternalPurchaseToken.Member.self),
        ]
        var listed: [String: Set<String>] = [:]
        for row in try Article("WhatOfflineVerificationCanKnow").rows(under: "What an unknown value means")
        where row[1] != "all" {
            let names = row[0].components(separatedBy: ", ").map { $0.replacing("`", with: "") }
            listed[row[1].components(separatedBy: ";")[0], default: []].formUnion(names)
        }
        #expect(listed == known.mapValues(Set.init))
    }

    @Test func `an empty identifier is none, and stays in the payload`() throws {
        var builder = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "pro", transactionID: "1")
        let names = [
            "appAccountToken", "appTransactionId", "webOrderLineItemId", "previousOriginalTransactionId",
            "subscriptionGroupIdentifier", "offerIdentifier", "originalTransactionId",
        ]
        for name in names { builder.payload[name] = "" }
        let transaction = try Minted.verifier().verifyTransaction(builder.signed(by: Minted.ellipticAuthority))
        let values = [
            transaction.appAccountToken?.description, transaction.appTransactionID, transaction.webOrderLineItemID,
            transaction.previousOriginalTransactionID, transaction.subscriptionGroupID, transaction.offerID,
            transaction.originalTransactionID,
        ]
        #expect(values.allSatisfy { $0 == nil } && transaction.object.json(of: "appAccountToken") == #""""#)
        let purchase = try #require(transaction.purchase).purchase
        #expect(purchase.appAccountToken == nil && purchase.originalTransactionID == "1")
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
