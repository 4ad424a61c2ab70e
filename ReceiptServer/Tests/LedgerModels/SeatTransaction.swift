package import AppStoreReceipt
package import AppStoreReceiptTesting

/// A transaction of a subscription of seats, as it is signed on a day.
package struct SeatTransaction {
    package var id: String
    package var original: String
    package var days: Range<Double>
    package var quantity: Int
    package var product: String
    package var addsSeats: Bool
    package var refundedSeats: Int?
    package var revoked: Double?
    package var revocationType: RevocationType?
    package var isUpgraded = false
    package var member: String?
    package var hasSeatInfo = true
    package var ownership: OwnershipType?
    package var signed: Double

    package init(
        id: String, original: String = "1", days: Range<Double> = 0..<30, quantity: Int = 1, product: String = "team",
        addsSeats: Bool = false, revoked: Double? = nil, member: String? = nil, signed: Double
    ) {
        (self.id, self.original, self.days, self.quantity) = (id, original, days, quantity)
        (self.product, self.addsSeats, self.revoked, self.member) = (product, addsSeats, revoked, member)
        self.signed = signed
    }

    package static let eight = SeatTransaction(id: "1", quantity: 8, signed: 1)
    package static let eightAgain = SeatTransaction(id: "1", quantity: 8, addsSeats: true, signed: 11)
    package static let three = SeatTransaction(id: "2", days: 10..<30, quantity: 3, addsSeats: true, signed: 11)

    package var builder: JWSBuilder {
        func date(_ value: Double) -> JSONValue { .integer(day(value).millisecondsSince1970) }
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: product, transactionID: id, signedDate: day(signed))
        for (name, value) in [
            ("originalTransactionId", .string(original)), ("type", "Auto-Renewable Subscription"),
            ("webOrderLineItemId", .string("9" + id)), ("subscriptionGroupIdentifier", "group"),
            ("purchaseDate", date(days.lowerBound)), ("expiresDate", date(days.upperBound)),
            ("quantity", .integer(Int64(quantity))), ("isUpgraded", isUpgraded ? true : nil),
            ("inAppOwnershipType", .string((ownership ?? (member == nil ? .purchased : .assigned)).rawValue)),
            ("appTransactionId", .string(member ?? "700")), ("revocationDate", revoked.map(date)),
            ("revocationType", revocationType.map { .string($0.rawValue) }),
            ("additionalTransactionReason", addsSeats ? "SEAT_ADDITION" : nil),
        ] as [(String, JSONValue?)] {
            builder.payload[name] = value
        }
        if member?.isEmpty ?? false { builder.payload["appTransactionId"] = nil }
        if hasSeatInfo {
            var info: JSONValue = ["invitationManagement": "APPLE"]
            info["revokedSeatQuantity"] = refundedSeats.map { .integer(Int64($0)) }
            builder.payload["multiSeatInfo"] = info
        }
        return builder
    }

    package var evidence: VerifiedEvidence { get throws { try Minted.evidence(builder) } }

    /// In a receipt, without seats and member.
    package var receipt: VerifiedEvidence {
        get throws {
            var record = ReceiptBuilder.Purchase.autoRenewable(
                product, transactionID: id, originalTransactionID: original, purchaseDate: day(days.lowerBound),
                expiresDate: day(days.upperBound))
            (record.quantity, record.webOrderLineItemID) = (quantity, "9" + id)
            var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [record])
            builder.creationDate = day(signed)
            return try Minted.evidence(builder)
        }
    }

    package func notification(_ type: NotificationType, uuid: Int) throws -> VerifiedNotification {
        let transaction = try builder.signed(by: Minted.authority.get())
        var builder = JWSBuilder.notification(type, bundleID: Minted.bundleID, transaction: transaction)
        builder.payload["notificationUUID"] = .string("00000000-0000-4000-8000-\(100_000_000_000 + uuid)")
        return try Minted.notification(builder)
    }

    /// Apple could not charge the renewal at the period's end, and grants a grace period.
    package func failedRenewal(graceUntil end: Instant) throws -> VerifiedNotification {
        let date = day(days.upperBound)
        var renewal = JWSBuilder.renewalInfo(productID: product, originalTransactionID: original, signedDate: date)
        renewal.payload["gracePeriodExpiresDate"] = .integer(end.millisecondsSince1970)
        var builder = JWSBuilder.notification(
            .didFailToRenew, bundleID: Minted.bundleID,
            transaction: try self.builder.signed(by: Minted.authority.get()),
            renewalInfo: try renewal.signed(by: Minted.authority.get()))
        builder.payload["notificationUUID"] = "grace"
        return try Minted.notification(builder)
    }
}
