import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt

/// What decides something is refused where its type is not the documented one, and what decides nothing is unknown.
@Suite struct InformativeMemberTests {
    /// The value of every form is another.
    private static let unexpected = #"[{"x":[1, 2]},0]"#

    /// A payload with what every payload of its kind has, by name.
    private static let required: [JWSKind: [(name: String, json: String)]] = [
        .transaction: [
            ("transactionId", #""1""#), ("originalTransactionId", #""1""#), ("productId", #""p""#),
            ("bundleId", #""b""#),
        ],
        .renewalInfo: [("originalTransactionId", #""1""#), ("autoRenewStatus", "1")],
        .appTransaction: [("receiptType", #""Sandbox""#), ("bundleId", #""b""#)],
        .notification: [("notificationType", #""TEST""#), ("notificationUUID", #""u""#)],
        .realtimeRequest: [
            ("requestIdentifier", #""r""#), ("originalTransactionId", #""1""#), ("productId", #""p""#),
            ("appAppleId", "1"),
        ],
    ]

    private func payload(_ kind: JWSKind, _ name: String, _ json: String) -> [UInt8] {
        let members = (Self.required[kind] ?? []).filter { $0.name != name } + [(name, json)]
        return Array("{\(members.map { #""\#($0.name)":\#($0.json)"# }.joined(separator: ","))}".utf8)
    }

    private func check<Payload: JWSClaims>(_: Payload.Type, _ informative: Set<String>) throws {
        for member in Payload.Member.allCases {
            let name = member.rawValue
            let text = payload(Payload.kind, name, Self.unexpected)
            guard informative.contains(name) else {
                #expect(throws: JSONError.self, "\(name) decides something") { try Payload(decoding: text) }
                continue
            }
            let payload = try Payload(decoding: text)
            #expect(payload.members.value(of: member) == nil, "\(name) has no value")
            let unknown = payload.object.unknownMembers
            #expect(unknown.map(\.name) == [name] && unknown.map(\.json) == [Self.unexpected])
            var writer = JSONWriter()
            try EvidencePart(unverified: text).write(to: &writer)
            let json = String(decoding: writer.bytes, as: UTF8.self)
            #expect(json.hasSuffix(#","\#(name)":[{"x":[1,2]},0]}"#), "as received: \(json)")
            #expect(payload.fields.last?.name == name)
            if case .json(Self.unexpected)? = payload.fields.last?.value {
            } else {
                Issue.record("\(name) is not shown")
            }
        }
    }

    @Test func `a transaction`() throws {
        try check(
            TransactionInfo.self,
            [
                "price", "currency", "storefront", "storefrontId", "transactionReason", "offerType", "offerIdentifier",
                "offerPeriod", "offerDiscountType", "billingPlanType", "commitmentInfo", "advancedCommerceInfo",
            ])
    }

    @Test func `renewal information`() throws {
        try check(
            RenewalInfo.self,
            [
                "renewalPrice", "currency", "offerType", "offerIdentifier", "offerPeriod", "offerDiscountType",
                "eligibleWinBackOfferIds", "renewalBillingPlanType", "renewalQuantity", "multiSeatInfo",
                "commitmentInfo",
                "advancedCommerceInfo",
            ])
    }

    @Test func `an app transaction, a notification and a real-time request`() throws {
        try check(AppTransaction.self, ["originalPlatform"])
        try check(AppStoreNotification.self, ["unclaimInfo", "version"])
        try check(RealtimeRequest.self, ["userLocale"])
    }

    @Test(arguments: [
        ("data", "bundleVersion", true), ("data", "consumptionRequestReason", true), ("data", "bundleId", false),
        ("data", "appAppleId", false), ("data", "environment", false), ("data", "status", false),
        ("data", "signedTransactionInfo", false), ("data", "signedRenewalInfo", false), ("appData", "bundleId", false),
        ("appData", "signedAppTransactionInfo", false), ("summary", "failedCount", true),
        ("summary", "succeededCount", true), ("summary", "storefrontCountryCodes", true),
        ("summary", "productId", false), ("summary", "requestIdentifier", false),
        ("externalPurchaseToken", "externalPurchaseId", false), ("externalPurchaseToken", "tokenCreationDate", false),
        ("externalPurchaseToken", "tokenType", false), ("unclaimInfo", "unclaimSeatIds", true),
    ])
    func `a part of a notification`(part: String, name: String, isInformative: Bool) throws {
        let text = payload(.notification, part, #"{"\#(name)":\#(Self.unexpected)}"#)
        guard isInformative else {
            #expect(throws: JSONError.self) { try AppStoreNotification(decoding: text) }
            return
        }
        let notification = try AppStoreNotification(decoding: text)
        let objects = [notification.data?.object, notification.summary?.object, notification.unclaimInfo?.object]
        #expect(objects.compactMap(\.self).flatMap { $0.unknownMembers.map(\.name) } == [name])
    }

    @Test func `of seats, the number that was refunded decides, and the others do not`() throws {
        let seats = #"{"priceTiers":1,"invitationManagement":2}"#
        let text = payload(.transaction, "multiSeatInfo", seats)
        let info = try #require(try TransactionInfo(decoding: text).multiSeatInfo)
        #expect(info.priceTiers == nil && info.invitationManagement == nil && info.revokedSeatQuantity == nil)
        #expect(info.object.unknownMembers.map(\.name) == ["priceTiers", "invitationManagement"])
        let refund = payload(.transaction, "multiSeatInfo", #"{"revokedSeatQuantity":"2"}"#)
        #expect(throws: JSONError.self) { try TransactionInfo(decoding: refund) }
    }

    @Test func `in what decides nothing, a member of another type is unknown, and its neighbours are known`() throws {
        let text = payload(
            .transaction, "advancedCommerceInfo",
            #"{"taxRate":1,"period":"P1M","items":[{"price":"9.99","SKU":"s","revocationDate":"2025","offer":7}]}"#)
        let info = try #require(try TransactionInfo(decoding: text).advancedCommerceInfo)
        #expect(info.json(of: "period") == #""P1M""# && info.json(of: "taxRate") == "1")
        #expect(info.unknownMembers.map(\.name) == ["taxRate"])
        var writer = JSONWriter()
        try EvidencePart(unverified: text).write(to: &writer)
        let json = String(decoding: writer.bytes, as: UTF8.self)
        #expect(json.contains(#""items":[{"price":"9.99","SKU":"s","revocationDate":"2025","offer":7}]"#))
    }

    @Test(arguments: ["1.5", "1e3", "9223372036854775808", #""1990""#, "{}", "true"])
    func `a price of any type is as it was signed`(_ price: String) throws {
        var builder = Minted.transaction
        builder.payload["price"] = .raw(price)
        let evidence = try Minted.verifier().verify(builder.signed(by: Minted.ellipticAuthority))
        guard case .transaction(let transaction) = evidence else {
            Issue.record("no transaction")
            return
        }
        #expect(transaction.price == nil && transaction.payload.object.json(of: "price") == price)
        #expect(transaction.payload.object.unknownMembers.map(\.json) == [price])
        #expect(evidence.json.contains(#""price":\#(price)"#))
        #expect(transaction.purchase != nil)
    }

    /// The form of a member decides how it is read, also where another kind has a member of its name.
    @Test func `an informative member of one kind does not hide that of another`() {
        let reading = JWSReading(payload(.transaction, "currency", "1"))
        #expect(throws: Never.self) { try reading.drafts.transaction.payload(in: reading.object) }
    }
}
