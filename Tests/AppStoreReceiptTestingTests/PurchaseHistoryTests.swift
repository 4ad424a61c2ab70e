import AppStoreReceipt
import AppStoreReceiptTesting
import TestSupport
import Testing

@Suite struct PurchaseHistoryTests {
    private let receipts: TestCertificateAuthority
    private let transactions: TestCertificateAuthority
    private let verifier: AppStoreVerifier
    private var history = PurchaseHistory(bundleID: Minted.bundleID)

    init() throws {
        (receipts, transactions) = (try Minted.authority, try Minted.ellipticAuthority)
        verifier = try Minted.verifier()
    }

    private func receipt(_ history: PurchaseHistory? = nil, at date: Instant) throws -> VerifiedReceipt {
        try verifier.verifyReceipt((history ?? self.history).receipt(signedAt: date).signed(by: receipts))
    }

    private func infos(_ history: PurchaseHistory? = nil, at date: Instant) throws -> [TransactionInfo] {
        try (history ?? self.history).transactions(signedAt: date).map {
            try verifier.verifyTransaction($0.signed(by: transactions)).payload
        }
    }

    private func info(
        _ transaction: PurchaseHistory.Transaction, at date: Instant
    ) throws -> TransactionInfo {
        let builder = try #require(history.transaction(transaction, signedAt: date))
        return try verifier.verifyTransaction(builder.signed(by: transactions)).payload
    }

    private func renewal(_ subscription: PurchaseHistory.Subscription, at date: Instant) throws -> RenewalInfo {
        let builder = try #require(history.renewalInfo(of: subscription, signedAt: date))
        return try verifier.verifyRenewalInfo(builder.signed(by: transactions)).payload
    }

    /// Everything that can happen, to one customer.
    private static func eventful(_ environment: AppStoreEnvironment = .production) -> PurchaseHistory {
        var history = PurchaseHistory(
            bundleID: Minted.bundleID, environment: environment, appAccountToken: "00000000-0000-4000-8000-00000000000a"
        )
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        history.requestRefund(of: coins, at: day(1))
        history.declineRefund(of: coins, at: day(1.5))
        let pro = history.buyNonConsumable("pro", at: day(1))
        history.refund(pro, at: day(3), reason: .appIssue, percentage: 40_000)
        history.reverseRefund(of: pro, at: day(200))
        history.restore(pro, at: day(210))
        let season = history.buyNonRenewing("season", at: day(2))
        history.refund(season, at: day(4))
        let plan = history.subscribe(to: "monthly", in: "group", for: .month, at: day(5), offer: .freeTrial)
        history.renew(plan)
        history.upgrade(plan, to: "yearly", for: .year, at: day(40), price: 9990, offer: .promotional("summer"))
        history.downgrade(plan, to: "monthly", for: .month, at: day(50))
        history.cancelDowngrade(of: plan, at: day(51))
        history.downgrade(plan, to: "basic", for: .month, at: day(52), price: 490)
        history.renew(plan)
        history.crossgrade(plan, to: "other", for: .month, at: day(410))
        history.raisePrice(of: plan, to: 2990, at: day(415))
        history.acceptPriceIncrease(of: plan, at: day(416))
        history.redeem(.code("CODE"), for: plan, at: day(417))
        history.renew(plan)
        history.extend(plan, by: .seconds(7 * 86_400), at: day(450))
        history.failToRenew(plan, gracePeriod: .seconds(16 * 86_400))
        history.renew(plan, at: day(500))
        history.turnOffRenewal(of: plan, at: day(510))
        history.turnOnRenewal(of: plan, at: day(511))
        history.turnOffRenewal(of: plan, at: day(512))
        history.resubscribe(plan, to: "monthly", at: day(700), offer: .winBack("back"))
        let shared = history.buyNonConsumable("shared", at: day(600), ownershipType: .familyShared)
        history.endFamilySharing(of: shared, at: day(650))
        return history
    }

    // MARK: Agreement

    @Test(arguments: [AppStoreEnvironment.production, .sandbox])
    func `the receipt and the transactions of one history agree at every date`(
        environment: AppStoreEnvironment
    ) throws {
        var history = Self.eventful(environment)
        history.cancelsUpgradedPeriodsInReceipts = false
        for date in stride(from: -1.0, to: 750, by: 37.5).map(day) {
            let purchases = Array(try receipt(history, at: date).purchases)
            let infos = try infos(history, at: date)
            #expect(purchases.count == infos.count)
            for info in infos {
                let purchase = try #require(purchases.first { $0.transactionID == info.transactionID })
                #expect(purchase.productID == info.productID)
                #expect(purchase.originalTransactionID == info.originalTransactionID)
                #expect(purchase.webOrderLineItemID == info.webOrderLineItemID)
                #expect(purchase.purchaseDate == info.purchaseDate)
                #expect(purchase.originalPurchaseDate == info.originalPurchaseDate)
                #expect(purchase.expiresDate == info.expiresDate)
                #expect(purchase.quantity == info.quantity)
                #expect(purchase.productType == info.productType)
                #expect(purchase.revocationDate == info.revocationDate)
                #expect(purchase.environment == info.environment)
            }
        }
    }

    @Test(arguments: [AppStoreEnvironment.production, .sandbox])
    func `nothing that is signed at a date has happened later`(environment: AppStoreEnvironment) throws {
        let history = Self.eventful(environment)
        for date in stride(from: -1.0, to: 750, by: 37.5).map(day) {
            for purchase in try receipt(history, at: date).purchases {
                #expect(purchase.purchaseDate <= date && purchase.revocationDate ?? date <= date)
            }
            for info in try infos(history, at: date) {
                #expect(info.signedDate == date)
                #expect(info.purchaseDate ?? .distantFuture <= date && info.revocationDate ?? date <= date)
            }
        }
        #expect(history.transactions(signedAt: day(-1)).isEmpty)
        let last = try #require(history.transactions.last)
        #expect(history.transaction(last, signedAt: last.purchaseDate - .milliseconds(1)) == nil)
    }

    /// Without signatures, which take most of the time of the other tests.
    @Test func `receipts, transactions and renewal information agree in random histories`() {
        for seed in 1...200 as ClosedRange<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            history.cancelsUpgradedPeriodsInReceipts = false
            let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
            var now = 0.0
            for _ in 0..<12 {
                now += Double.random(in: 1...20, using: &generator)
                let some = history.transactions.randomElement(using: &generator) ?? plan.firstPeriod
                switch Int.random(in: 0..<9, using: &generator) {
                case 0: history.upgrade(plan, to: "b", for: .days(60), at: day(now))
                case 1: history.crossgrade(plan, to: "c", for: .days(30), at: day(now))
                case 2: history.downgrade(plan, to: "d", for: .days(30), at: day(now))
                case 3: history.refund(some, at: max(day(now), some.purchaseDate))
                case 4: history.reverseRefund(of: some, at: max(day(now), some.purchaseDate))
                case 5: history.buyConsumable("coins", quantity: 2, at: day(now))
                case 6: history.restore(some, at: max(day(now), some.purchaseDate))
                case 7: history.extend(plan, by: .seconds(86_400), at: day(now))
                default: history.renew(plan)
                }
            }
            for _ in 0..<10 {
                let date = day(Double.random(in: -5...400, using: &generator))
                let purchases = history.receipt(signedAt: date).purchases
                let infos = history.transactions(signedAt: date)
                #expect(purchases.map(\.transactionID) == infos.map(\.transactionID), "seed \(seed)")
                #expect(purchases.map(\.expiresDate) == infos.map(\.expiresDate), "seed \(seed)")
                #expect(purchases.map(\.revocationDate) == infos.map(\.revocationDate), "seed \(seed)")
                #expect(infos.allSatisfy { $0.purchaseDate ?? .distantFuture <= date }, "seed \(seed)")
                #expect(infos.allSatisfy { $0.revocationDate ?? date <= date }, "seed \(seed)")
                let periods = infos.filter { $0.expiresDate != nil }
                let renewal = history.renewalInfo(of: plan, signedAt: date)
                #expect((renewal == nil) == periods.isEmpty, "seed \(seed)")
                // A period that is upgraded is followed by one that began before its end.
                for period in periods where period.isUpgraded == true {
                    let hasSuccessor = periods.contains {
                        ($0.purchaseDate ?? .distantPast) >= (period.purchaseDate ?? .distantPast)
                            && $0.webOrderLineItemID != period.webOrderLineItemID && $0.reason == .purchase
                    }
                    #expect(hasSuccessor, "seed \(seed)")
                }
            }
        }
    }

    @Test func `ids have Apple's form and are never repeated`() {
        var seen: Set<String> = []
        for customer in [1, 2, 499] {
            for environment in [AppStoreEnvironment.production, .sandbox] {
                var history = PurchaseHistory(bundleID: Minted.bundleID, environment: environment, customer: customer)
                let plan = history.subscribe(to: "a", in: "g", for: .week, at: day(0))
                history.renew(plan)
                for transaction in history.transactions {
                    for id in [transaction.transactionID, transaction.webOrderLineItemID].compactMap(\.self) {
                        #expect(seen.insert(id).inserted)
                        #expect(id.utf8.count == (environment == .sandbox ? 16 : 15))
                        #expect(id.hasPrefix("2000000") == (environment == .sandbox))
                    }
                }
            }
        }
    }

    @Test func `the same description mints the same evidence`() throws {
        let (first, second) = (Self.eventful(), Self.eventful())
        #expect(
            first.transactions(signedAt: day(800)).map(\.payload)
                == second.transactions(signedAt: day(800)).map(\.payload))
        #expect(try first.receipt(signedAt: day(800)).payload() == second.receipt(signedAt: day(800)).payload())
    }

    // MARK: Subscriptions

    @Test mutating func `a renewal begins where the last period ends, with a line item of its own`() throws {
        let plan = history.subscribe(to: "monthly", in: "group", for: .month, at: day(30))
        let second = history.renew(plan)
        #expect(plan.firstPeriod.expiresDate == Instant(year: 2025, month: 2, day: 28))
        #expect(second.purchaseDate == plan.firstPeriod.expiresDate)
        #expect(second.originalTransactionID == plan.firstPeriod.transactionID)
        #expect(second.webOrderLineItemID != plan.firstPeriod.webOrderLineItemID)
        let info = try info(second, at: day(100))
        #expect(info.reason == .renewal && info.subscriptionGroupID == "group")
        #expect(try self.info(plan.firstPeriod, at: day(100)).reason == .purchase)
    }

    @Test mutating func `a renewal can be charged before its period begins`() throws {
        let plan = history.subscribe(to: "weekly", in: "group", for: .week, at: day(0))
        let second = history.renew(plan, at: day(6.5))
        #expect(second.purchaseDate == day(7))
        #expect(try infos(at: day(6.4)).count == 1)
        #expect(try infos(at: day(6.6)).map(\.purchaseDate) == [day(0), day(7)])
    }

    @Test mutating func `an upgrade begins at once and ends the running period`() throws {
        let plan = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let second = history.renew(plan)
        let yearly = history.upgrade(plan, to: "yearly", for: .days(365), at: day(40))
        #expect(yearly.purchaseDate == day(40) && yearly.expiresDate == day(405))
        #expect(try info(second, at: day(39)).isUpgraded == nil)
        #expect(try info(second, at: day(40)).isUpgraded == true)
        #expect(try info(second, at: day(40)).revocationDate == nil)
        #expect(try info(plan.firstPeriod, at: day(40)).isUpgraded == nil)
        #expect(try receipt(at: day(40)).purchases.map(\.revocationDate).compactMap(\.self) == [day(40)])
        history.cancelsUpgradedPeriodsInReceipts = false
        #expect(try receipt(at: day(40)).purchases.allSatisfy { $0.revocationDate == nil })
    }

    @Test(arguments: [(BillingPeriod.month, true), (.year, false)])
    mutating func `a crossgrade begins at once if the length is the same`(
        period: BillingPeriod, isImmediate: Bool
    ) throws {
        let plan = history.subscribe(to: "a", in: "group", for: .month, at: day(0))
        let now = history.crossgrade(plan, to: "b", for: period, at: day(10))
        #expect((now != nil) == isImmediate)
        #expect(try renewal(plan, at: day(10)).autoRenewProductID == "b")
        #expect(try renewal(plan, at: day(10)).productID == (isImmediate ? "b" : "a"))
        #expect(history.renew(plan).productID == "b")
        #expect(history.latestPeriod(of: plan).reason == .renewal)
    }

    @Test mutating func `a downgrade begins with the next renewal, unless it is cancelled`() throws {
        let plan = history.subscribe(to: "gold", in: "group", for: .month, at: day(0), price: 5000)
        history.downgrade(plan, to: "silver", for: .month, at: day(5), price: 3000)
        history.cancelDowngrade(of: plan, at: day(6))
        #expect(try renewal(plan, at: day(5)).autoRenewProductID == "silver")
        #expect(try renewal(plan, at: day(5)).renewalPrice == 3000)
        #expect(try renewal(plan, at: day(6)).autoRenewProductID == "gold")
        #expect(history.renew(plan).productID == "gold")
        history.downgrade(plan, to: "bronze", for: .year, at: day(40), price: 1000)
        let year = history.renew(plan)
        #expect(year.productID == "bronze" && year.price == 1000)
        #expect(year.expiresDate == BillingPeriod.year.end(from: year.purchaseDate))
        #expect(try infos(at: day(400)).allSatisfy { $0.isUpgraded == nil })
    }

    @Test mutating func `a subscription whose renewal is off expires at its end`() throws {
        let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        history.turnOffRenewal(of: plan, at: day(10))
        #expect(try renewal(plan, at: day(9)).autoRenewStatus == .on)
        let running = try renewal(plan, at: day(29))
        #expect(running.autoRenewStatus == .off && running.expirationIntent == nil)
        #expect(history.status(of: plan, at: day(29)) == .active)
        #expect(try renewal(plan, at: day(30)).expirationIntent == .cancelled)
        #expect(history.status(of: plan, at: day(30)) == .expired)
        history.resubscribe(plan, at: day(100))
        #expect(try renewal(plan, at: day(100)).expirationIntent == nil)
        #expect(try renewal(plan, at: day(100)).recentSubscriptionStartDate == day(100))
    }

    @Test mutating func `a charge that fails begins a grace period, then a retry, then the end`() throws {
        let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        history.failToRenew(plan, gracePeriod: .seconds(6 * 86_400))
        let statuses: [(Double, SubscriptionStatus)] = [
            (29, .active), (30, .inGracePeriod), (35.9, .inGracePeriod), (36, .inBillingRetry), (89, .inBillingRetry),
            (90, .expired),
        ]
        for (date, status) in statuses { #expect(history.status(of: plan, at: day(date)) == status, "\(date)") }
        let grace = try renewal(plan, at: day(31))
        #expect(grace.gracePeriodExpiresDate == day(36) && grace.isInBillingRetryPeriod == true)
        #expect(grace.autoRenewStatus == .on)
        let end = try renewal(plan, at: day(90))
        #expect(end.isInBillingRetryPeriod == false && end.expirationIntent == .billingError)
    }

    @Test(arguments: [(33.0, 30.0), (50, 50)])
    mutating func `a recovery continues the period in the grace period, and begins a new one after it`(
        charge: Double, start: Double
    ) throws {
        let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        history.failToRenew(plan, gracePeriod: .seconds(6 * 86_400))
        #expect(history.renew(plan, at: day(charge)).purchaseDate == day(start))
        #expect(try infos(at: day(charge - 0.5)).count == 1)
        #expect(history.status(of: plan, at: day(charge)) == .active)
        #expect(try renewal(plan, at: day(charge)).isInBillingRetryPeriod == nil)
    }

    @Test mutating func `an extension moves the end of the period and the next renewal`() throws {
        let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        history.extend(plan, by: .seconds(5 * 86_400), at: day(20))
        #expect(try info(plan.firstPeriod, at: day(19)).expiresDate == day(30))
        #expect(try info(plan.firstPeriod, at: day(20)).expiresDate == day(35))
        #expect(try receipt(at: day(20)).purchases.first?.expiresDate == day(35))
        #expect(try renewal(plan, at: day(20)).renewalDate == day(35))
        #expect(history.renew(plan).purchaseDate == day(35))
    }

    @Test mutating func `a price increase ends the subscription only if consent is needed and not given`() throws {
        let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        history.raisePrice(of: plan, to: 2990, at: day(10))
        #expect(try renewal(plan, at: day(10)).priceIncreaseStatus == .pending)
        #expect(try renewal(plan, at: day(10)).renewalPrice == 2990)
        #expect(try renewal(plan, at: day(30)).expirationIntent == .priceIncreaseNotAccepted)
        history.acceptPriceIncrease(of: plan, at: day(20))
        #expect(try renewal(plan, at: day(20)).priceIncreaseStatus == .accepted)
        #expect(history.renew(plan).price == 2990)
    }

    @Test mutating func `offers are in receipts and in transactions`() throws {
        let plan = history.subscribe(to: "a", in: "group", for: .week, at: day(0), offer: .freeTrial)
        history.redeem(.promotional("summer", .payUpFront), for: plan, at: day(1))
        #expect(try renewal(plan, at: day(1)).offerID == "summer")
        history.renew(plan)
        history.renew(plan)
        let purchases = try receipt(at: day(20)).inAppPurchases.sorted {
            $0.purchaseDate ?? .distantPast < $1.purchaseDate ?? .distantPast
        }
        #expect(purchases.map(\.isTrialPeriod) == [true, false, false])
        #expect(purchases.map(\.promotionalOfferID) == [nil, "summer", nil])
        let infos = try infos(at: day(20))
        #expect(infos.map(\.offerType) == [.introductory, .promotional, nil])
        #expect(infos.map(\.offerDiscountType) == [.freeTrial, .payUpFront, nil])
        #expect(infos.map(\.offerPeriod) == ["P1W", "P1W", nil])
        #expect(infos.map(\.price) == [0, 1990, 1990])
    }

    // MARK: Refunds, restores and Family Sharing

    @Test mutating func `a refund has a date, a reason and a part, until it is reversed`() throws {
        let pro = history.buyNonConsumable("pro", at: day(0))
        history.refund(pro, at: day(5), reason: .appIssue, percentage: 25_000)
        history.reverseRefund(of: pro, at: day(9))
        #expect(try !info(pro, at: day(4)).isRevoked)
        let refunded = try info(pro, at: day(5))
        #expect(refunded.revocationDate == day(5) && refunded.revocationReason == .appIssue)
        #expect(refunded.revocationType == .proratedRefund && refunded.revocationPercentage == 25_000)
        let purchase = try receipt(at: day(5)).inAppPurchases.first
        #expect(purchase?.revocationDate == day(5) && purchase?.revocationReason == .appIssue)
        #expect(try !info(pro, at: day(9)).isRevoked)
        history.refund(pro, at: day(12))
        #expect(try info(pro, at: day(12)).revocationType == .fullRefund)
        #expect(try info(pro, at: day(12)).revocationPercentage == 100_000)
    }

    @Test mutating func `a restored purchase has a new id and shares the refund`() throws {
        let pro = history.buyNonConsumable("pro", at: day(0))
        let restored = history.restore(pro, at: day(5))
        #expect(restored.transactionID != pro.transactionID)
        #expect(restored.originalTransactionID == pro.transactionID)
        #expect(restored.purchaseDate == day(5) && restored.originalPurchaseDate == day(0))
        let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        let second = history.renew(plan)
        let period = history.restore(second, at: day(40))
        #expect(period.transactionID != second.transactionID)
        #expect(period.webOrderLineItemID == second.webOrderLineItemID && period.purchaseDate == day(30))
        #expect(history.periods(of: plan) == [plan.firstPeriod, second])
        history.refund(second, at: day(45))
        history.refund(pro, at: day(46))
        #expect(try info(period, at: day(45)).isRevoked)
        #expect(try info(restored, at: day(46)).isRevoked)
        #expect(try receipt(at: day(50)).purchases.filter { $0.isRevoked == true }.count == 4)
        let device = try verifier.verifyReceipt(
            history.receipt(signedAt: day(50), of: [restored, period]).signed(by: receipts))
        #expect(Set(device.purchases.map(\.transactionID)) == [restored.transactionID, period.transactionID])
    }

    @Test mutating func `a consumable is in receipts until it is finished`() throws {
        let coins = history.buyConsumable("coins", quantity: 5, at: day(0))
        let pro = history.buyNonConsumable("pro", at: day(0))
        history.finish(coins, at: day(1))
        history.finish(pro, at: day(1))
        #expect(Set(try receipt(at: day(0)).purchases.map(\.quantity)) == [5, 1])
        #expect(try receipt(at: day(1)).purchases.map(\.productID) == ["pro"])
        #expect(try info(coins, at: day(1)).quantity == 5)
    }

    @Test func `a family member has ids of their own and no account token, and loses what is refunded`() throws {
        var owner = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: "00000000-0000-4000-8000-000000000001")
        owner.buyConsumable("coins", at: day(0))
        let pro = owner.buyNonConsumable("pro", at: day(0))
        let plan = owner.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        owner.renew(plan)
        owner.refund(pro, at: day(60), reason: .appIssue)
        let member = owner.sharedWithFamilyMember(customer: 2, from: day(35))
        #expect(try infos(member, at: day(34)).isEmpty)
        let infos = try infos(member, at: day(35))
        #expect(infos.map(\.productID) == ["pro", "a"])
        #expect(infos.allSatisfy { $0.ownershipType == .familyShared && $0.appAccountToken == nil && !$0.isRevoked })
        let ids = Set(owner.transactions.flatMap { [$0.transactionID, $0.originalTransactionID] })
        #expect(
            infos.allSatisfy { !ids.contains($0.transactionID ?? "") && $0.originalTransactionID == $0.transactionID })
        let revoked = try #require(try self.infos(member, at: day(60)).first)
        #expect(revoked.revocationType == .familyRevoke && revoked.revocationReason == .appIssue)
        #expect(revoked.revocationDate == day(60) && revoked.revocationPercentage == nil)
    }

    // MARK: Notifications

    @Test(arguments: [AppStoreEnvironment.production, .sandbox])
    func `every notification of a history is verified with its parts`(
        environment: AppStoreEnvironment
    ) throws {
        let history = Self.eventful(environment)
        var uuids: Set<String> = []
        for notification in history.notifications(through: day(900)) {
            let builder = try history.builder(for: notification, partsSignedBy: transactions)
            let verified = try verifier.verifyNotification(builder.signed(by: transactions))
            #expect(verified.type == notification.type && verified.subtype == notification.subtype)
            #expect(verified.transactionInfo?.transactionID == notification.transaction.transactionID)
            #expect(verified.transactionInfo?.signedDate == notification.signedDate)
            #expect((verified.renewalInfo != nil) == (notification.transaction.expiresDate != nil))
            #expect((verified.data?.status != nil) == (notification.transaction.expiresDate != nil))
            #expect(uuids.insert(try #require(builder.notificationUUID)).inserted)
        }
    }

    @Test func `each thing that happens has its notification, in order`() {
        let names = Self.eventful().notifications(through: day(800)).map { notification in
            notification.type.rawValue + (notification.subtype.map { " " + $0.rawValue } ?? "")
        }
        #expect(
            names == [
                "ONE_TIME_CHARGE", "CONSUMPTION_REQUEST", "ONE_TIME_CHARGE", "REFUND_DECLINED", "ONE_TIME_CHARGE",
                "REFUND", "REFUND", "SUBSCRIBED INITIAL_BUY", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF UPGRADE",
                "DID_CHANGE_RENEWAL_PREF DOWNGRADE", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_PREF DOWNGRADE",
                "REFUND_REVERSED", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF UPGRADE", "PRICE_INCREASE PENDING",
                "PRICE_INCREASE ACCEPTED", "OFFER_REDEEMED", "DID_RENEW", "RENEWAL_EXTENDED",
                "DID_FAIL_TO_RENEW GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "DID_RENEW BILLING_RECOVERY",
                "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED",
                "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "EXPIRED VOLUNTARY", "ONE_TIME_CHARGE", "REVOKE",
                "SUBSCRIBED RESUBSCRIBE", "EXPIRED",
            ])
    }

    @Test(arguments: [
        (NotificationType.renewalExtension, NotificationSubtype.failure), (.offerRedeemed, .downgrade),
        (.priceChange, nil), (.metadataUpdate, nil), (.migration, nil), (NotificationType(rawValue: "NEW"), nil),
    ])
    mutating func `a notification of any type can be made about a transaction`(
        type: NotificationType, subtype: NotificationSubtype?
    ) throws {
        let plan = history.subscribe(to: "a", in: "group", for: .month, at: day(0))
        let verified = try verifier.verifyNotification(
            history.notification(
                type, subtype: subtype, about: plan.firstPeriod, signedAt: day(1), partsSignedBy: transactions
            ).signed(by: transactions))
        #expect(verified.type == type && verified.subtype == subtype && verified.data?.status == .active)
        #expect(verified.transactionInfo?.transactionID == plan.firstPeriod.transactionID)
        #expect(verified.renewalInfo?.originalTransactionID == plan.originalTransactionID)
    }

    @Test mutating func `the end of a grace period and of a subscription are notified without anybody's action`() {
        let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        history.failToRenew(plan, gracePeriod: .seconds(6 * 86_400))
        let ends = history.notifications(through: day(100)).suffix(2)
        #expect(ends.map(\.type) == [.gracePeriodExpired, .expired])
        #expect(ends.map(\.subtype) == [nil, .billingRetry])
        #expect(ends.map(\.signedDate) == [day(36), day(90)])
        #expect(history.notifications(through: day(89)).last?.type == .gracePeriodExpired)
    }

    @Test mutating func `a product that is no longer for sale is the reason that its subscription expires`() throws {
        let plan = history.subscribe(to: "a", in: "group", for: .days(30), at: day(0))
        history.endSale(of: plan, at: day(10))
        #expect(history.status(of: plan, at: day(29)) == .active)
        #expect(try renewal(plan, at: day(30)).expirationIntent == .productUnavailable)
        let end = history.notifications(through: day(30)).last
        #expect(end?.type == .expired && end?.subtype == .productNotForSale && end?.signedDate == day(30))
    }
}

@Suite struct BillingPeriodTests {
    @Test(arguments: [
        (BillingPeriod.month, "2025-01-31T10:00:00Z", "2025-02-28T10:00:00Z", "P1M"),
        (.month, "2024-01-31T10:00:00Z", "2024-02-29T10:00:00Z", "P1M"),
        (.months(3), "2024-11-30T00:00:00Z", "2025-02-28T00:00:00Z", "P3M"),
        (.months(6), "2025-12-15T23:59:59.001Z", "2026-06-15T23:59:59.001Z", "P6M"),
        (.year, "2024-02-29T00:00:00Z", "2025-02-28T00:00:00Z", "P1Y"),
        (.week, "2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z", "P1W"),
        (.days(3), "2025-02-27T00:00:00Z", "2025-03-02T00:00:00Z", "P3D"),
        (.minutes(5), "2025-02-27T23:58:00Z", "2025-02-28T00:03:00Z", "PT5M"),
    ])
    func `a period ends on the same day of a later month, or on its last`(
        period: BillingPeriod, start: String, end: String, iso8601: String
    ) throws {
        let start = try #require(Instant(rfc3339: start))
        #expect(period.end(from: start).description == end)
        #expect(period.iso8601 == iso8601)
    }
}
