import AppStoreReceipt
import AppStoreReceiptTesting
import TestSupport
import Testing

/// Subscriptions of several seats in a history, as Apple documents what it signs.
@Suite struct SeatHistoryTests {
    private let verifier: AppStoreVerifier
    private let authority: TestCertificateAuthority
    private var history = PurchaseHistory(bundleID: Minted.bundleID)

    init() throws {
        verifier = try Minted.verifier()
        authority = try Minted.ellipticAuthority
    }

    /// What was signed about all transactions at a date, by their ids.
    private func signed(
        _ history: PurchaseHistory? = nil, at date: Instant
    ) throws -> [String: TransactionInfo] {
        let all = try (history ?? self.history).transactions(signedAt: date).map {
            try verifier.verifyTransaction($0.signed(by: authority)).payload
        }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.transactionID ?? "", $0) })
    }

    private func renewal(_ subscription: PurchaseHistory.Subscription, at date: Instant) throws -> RenewalInfo {
        let builder = try #require(history.renewalInfo(of: subscription, signedAt: date))
        return try verifier.verifyRenewalInfo(builder.signed(by: authority)).payload
    }

    private func seats(_ info: TransactionInfo?) -> [Int?] {
        [info?.quantity, info?.multiSeatInfo?.revokedSeatQuantity]
    }

    private func kinds(_ history: PurchaseHistory? = nil, through date: Instant) -> [String] {
        (history ?? self.history).notifications(through: date).map {
            [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: " ")
        }
    }

    @Test mutating func `seats are the quantity of a transaction, with their price and who invites`() throws {
        let team = history.subscribe(
            to: "team", in: "group", for: .month, seats: 8, invitedBy: .developer, at: day(0), price: 500)
        let plan = history.subscribe(to: "plan", in: "other", for: .month, at: day(0))
        let all = try signed(at: day(1))
        let info = all[team.originalTransactionID]
        #expect(info?.quantity == 8 && info?.price == 500 && info?.multiSeatInfo?.invitationManagement == .developer)
        let tiers = info?.multiSeatInfo?.priceTiers?.map { [$0.price, $0.quantity.map(Int64.init)] }
        #expect(tiers == [[500, 8]])
        #expect(info?.additionalTransactionReason == nil && info?.multiSeatInfo?.revokedSeatQuantity == nil)
        #expect(all[plan.originalTransactionID]?.multiSeatInfo == nil)
        let renewal = try renewal(team, at: day(1))
        #expect(renewal.renewalQuantity == 8 && renewal.multiSeatInfo?.renewalPriceTiers?.first?.quantity == 8)
        #expect(try self.renewal(plan, at: day(1)).renewalQuantity == nil)
    }

    @Test mutating func `seats that are added make a second transaction of the period, and the first is signed anew`()
        throws
    {
        let team = history.subscribe(to: "team", in: "group", for: .month, seats: 8, at: day(0))
        let added = history.addSeats(4, to: team, at: day(10))
        #expect(try signed(at: day(9)).values.map(\.additionalTransactionReason) == [nil])
        let all = try signed(at: day(11))
        #expect(all.values.allSatisfy { $0.additionalTransactionReason == .seatAddition && $0.isUpgraded == nil })
        #expect(Set(all.values.map(\.originalTransactionID)) == [team.originalTransactionID])
        let (first, second) = (all[team.originalTransactionID], all[added.transactionID])
        #expect(seats(first) == [8, nil] && seats(second) == [4, nil])
        #expect(second?.expiresDate == first?.expiresDate && second?.purchaseDate == day(10))
        #expect(history.seats(of: team, at: day(9)) == 8 && history.seats(of: team, at: day(11)) == 12)
        #expect(try renewal(team, at: day(11)).renewalQuantity == 12)
        // The next period is one transaction of all seats.
        let next = history.renew(team)
        #expect(next.quantity == 12 && next.purchaseDate == first?.expiresDate)
        #expect(try signed(at: day(40))[next.transactionID]?.additionalTransactionReason == nil)
        #expect(history.periods(of: team).map(\.transactionID) == [team.originalTransactionID, next.transactionID])
        #expect(
            kinds(through: day(40)) == [
                "SUBSCRIBED INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY", "DID_RENEW",
            ])
    }

    @Test mutating func `fewer seats renew, and do not end before`() throws {
        let team = history.subscribe(to: "team", in: "group", for: .month, seats: 8, at: day(0))
        history.renewSeats(5, of: team, at: day(1))
        #expect(try renewal(team, at: day(2)).renewalQuantity == 5)
        #expect(history.seats(of: team, at: day(2)) == 8)
        history.renewSeats(7, of: team, at: day(3))
        #expect(history.renew(team).quantity == 7)
        #expect(try renewal(team, at: day(40)).renewalQuantity == 7)
        #expect(
            kinds(through: day(4)) == [
                "SUBSCRIBED INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF DECREASE_QUANTITY",
                "DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY",
            ])
    }

    @Test mutating func `refunded seats leave a transaction valid until they are all of its seats`() throws {
        let team = history.subscribe(to: "team", in: "group", for: .month, seats: 8, at: day(0))
        let added = history.addSeats(2, to: team, at: day(1))
        history.refundSeats(3, of: team.firstPeriod, at: day(2))
        history.refundSeats(5, of: team.firstPeriod, at: day(4), reason: .appIssue)
        #expect(try seats(signed(at: day(3))[team.originalTransactionID]) == [8, 3])
        #expect(try signed(at: day(3))[team.originalTransactionID]?.revocationDate == nil)
        let whole = try signed(at: day(5))[team.originalTransactionID]
        #expect(seats(whole) == [8, 8] && whole?.revocationDate == day(4) && whole?.revocationReason == .appIssue)
        #expect(history.seats(of: team, at: day(3)) == 7 && history.seats(of: team, at: day(5)) == 2)
        // The buyer's access ends when all transactions of the period are revoked.
        #expect(history.status(of: team, at: day(5)) == .active)
        history.refundSeats(2, of: added, at: day(6))
        #expect(history.status(of: team, at: day(7)) == .revoked)
        #expect(kinds(through: day(5)).suffix(2) == ["REFUND SEATS", "REFUND SEATS"])
        history.reverseRefund(of: added, at: day(8))
        #expect(try seats(signed(at: day(9))[added.transactionID]) == [2, nil])
        #expect(history.status(of: team, at: day(9)) == .active)
    }

    @Test mutating func `an extension moves the end of all transactions of the period`() throws {
        let team = history.subscribe(to: "team", in: "group", for: .month, seats: 8, at: day(0))
        history.addSeats(2, to: team, at: day(1))
        history.extend(team, by: .seconds(5 * 86_400), at: day(2))
        let late = history.addSeats(1, to: team, at: day(3))
        let ends = try signed(at: day(4)).values.map(\.expiresDate)
        #expect(ends.count == 3 && Set(ends) == [day(36)] && late.expiresDate == day(36))
        #expect(history.renew(team).purchaseDate == day(36))
    }

    @Test
    mutating func `a member has an assigned transaction with the buyer's seats, and loses it when it is taken back`()
        throws
    {
        history.appAccountToken = "00000000-0000-4000-8000-00000000000a"
        let team = history.subscribe(to: "team", in: "group", for: .month, seats: 8, at: day(0), price: 700)
        history.addSeats(2, to: team, at: day(1))
        var member = PurchaseHistory(bundleID: Minted.bundleID, customer: 2)
        let assigned = member.assignSeat(of: team, in: history, at: day(2))
        let info = try signed(member, at: day(3))[assigned.originalTransactionID]
        #expect(info?.ownershipType == .assigned && info?.appAccountToken == nil && info?.price == 700)
        #expect(info?.quantity == 10 && info?.expiresDate == day(31) && info?.purchaseDate == day(2))
        #expect(info?.appTransactionID != nil && info?.additionalTransactionReason == nil)
        let next = member.renew(assigned)
        #expect(next.ownershipType == .assigned && next.quantity == 10 && next.appAccountToken == nil)
        member.endAssignment(of: next, at: day(35))
        let revoked = try signed(member, at: day(36))[next.transactionID]
        #expect(revoked?.revocationDate == day(35) && revoked?.revocationType == .assignmentRevoke)
        #expect(revoked?.revocationPercentage == nil)
        #expect(kinds(member, through: day(36)) == ["SUBSCRIBED INITIAL_BUY", "DID_RENEW", "REVOKE"])
        // Its buyer's family has none of it.
        #expect(history.sharedWithFamilyMember(customer: 3, from: day(1)).transactions.isEmpty)
    }

    @Test mutating func `claims that Apple ends are told without an app, an environment and a transaction`() throws {
        let claims = ["11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-555555555556"]
        let team = history.subscribe(
            to: "team", in: "group", for: .month, seats: 8, invitedBy: .developer, at: day(0))
        history.unclaimSeats(claims, of: team, at: day(1))
        history.unclaimSeats([claims[0]], of: team, at: day(1))
        let all = history.notifications(through: day(2)).filter { $0.type == .unclaimSeats }
        #expect(all.map(\.unclaimedSeatIDs) == [claims, [claims[0]]])
        var uuids: Set<String> = []
        for notification in all {
            let builder = try history.builder(for: notification, partsSignedBy: authority)
            let verified = try verifier.verifyNotification(builder.signed(by: authority))
            #expect(verified.notification.unclaimInfo?.unclaimSeatIDs == notification.unclaimedSeatIDs)
            #expect(verified.notification.data == nil && verified.transactionInfo == nil)
            uuids.insert(verified.notification.notificationUUID ?? "")
        }
        #expect(uuids.count == 2)
    }

    @Test
    mutating func `a token that the server sets is in what is signed later, of the running period and later ones`()
        throws
    {
        let (app, server) = ("00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b")
        history.appAccountToken = app
        let plan = history.subscribe(to: "plan", in: "group", for: .month, at: day(0))
        let second = history.renew(plan)
        history.setAppAccountToken(server, of: plan.firstPeriod, at: day(40))
        let third = history.renew(plan)
        let coins = history.buyConsumable("coins", at: day(1))
        history.setAppAccountToken(server, of: coins, at: day(2))
        func tokens(_ date: Instant) throws -> [String?] {
            let all = try signed(at: date)
            return [plan.firstPeriod, second, third, coins].map { all[$0.transactionID]?.appAccountToken?.description }
        }
        #expect(try tokens(day(1.5)) == [app, nil, nil, app])
        #expect(try tokens(day(39)) == [app, app, nil, server])
        #expect(try tokens(day(41)) == [app, server, nil, server])
        #expect(try tokens(day(70)) == [app, server, server, server])
        #expect(try renewal(plan, at: day(39)).appAccountToken?.description == app)
        #expect(try renewal(plan, at: day(41)).appAccountToken?.description == server)
        // A purchase with the app's own token has that one.
        let again = history.resubscribe(plan, at: day(120))
        #expect(try signed(at: day(121))[again.transactionID]?.appAccountToken?.description == app)
        history.appAccountToken = nil
        let upgraded = history.upgrade(plan, to: "yearly", for: .year, at: day(122))
        #expect(try signed(at: day(123))[upgraded.transactionID]?.appAccountToken?.description == app)
    }
}
