import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Testing

/// Recoveries of long histories, and of answers with refused parts.
@Suite struct RecoveryTests {
    /// A subscription with this many renewals, unknown to the ledger.
    private func subscribe(
        _ shop: Shop, renewals count: Int, token: String? = nil, ofLast: String? = nil
    ) -> (first: PurchaseHistory.Transaction, last: PurchaseHistory.Transaction?) {
        shop.isUp.withLock { $0 = false }
        return shop.store.change(customer: 1) { history in
            history.appAccountToken = token
            let start = Shop.start - .days(Double(count) * 7 + 3)
            let subscription = history.subscribe(to: "weekly", in: "group", for: .days(7), at: start)
            let renewals = (0..<count).map { number in
                if number == count - 1, let ofLast { history.appAccountToken = ofLast }
                return history.renew(subscription)
            }
            return (subscription.firstPeriod, renewals.last)
        }
    }

    private func error(
        _ shop: Shop, _ id: String, for account: String? = "anna", skip: Bool = false
    ) -> Reconciler.RecoveryError? {
        #expect(throws: Reconciler.RecoveryError.self) {
            try shop.reconciler.recover(.transaction(id), of: shop.app, for: account, skippingRefused: skip)
        }
    }

    private func isUnavailable(_ error: Reconciler.RecoveryError?) -> Bool {
        if case .unavailable = error { true } else { false }
    }

    /// Counts the requested pages of the history, each of which takes some time.
    private func watch(_ shop: Shop, each time: Duration) -> Guarded<Int> {
        let pages = Guarded(0)
        shop.onRequest.withLock { body in
            body = { [store = shop.store] request in
                guard request.url.contains("/history/") else { return }
                pages.withLock { $0 += 1 }
                store.setClock(store.now + time)
            }
        }
        return pages
    }

    @Test(arguments: Place.available)
    func `more than a thousand transactions are read, in several requests if one has no time, each page once`(
        _ place: Place
    ) throws {
        let shop = try Shop(place)
        let (first, last) = subscribe(shop, renewals: 1050)
        let pages = watch(shop, each: .seconds(2))
        #expect(isUnavailable(error(shop, first.transactionID)))
        #expect(try shop.rows("SELECT 1 FROM evidence").isEmpty && pages.withLock(\.self) == 30)
        let result = try shop.reconciler.recover(.transaction(first.transactionID), of: shop.app, for: "anna")
        #expect(pages.withLock(\.self) == 53)
        #expect(result.transactionIDs.count == 1051 && Set(result.transactionIDs).count == 1051)
        #expect(try shop.quantity(try #require(last)) == "1")
    }

    @Test(arguments: [(Duration.seconds(590), 3), (.seconds(601), 4)])
    func `what was read is kept for ten minutes`(_ wait: Duration, _ expected: Int) throws {
        let shop = try Shop(.sqlite)
        let (first, _) = subscribe(shop, renewals: 50)
        let pages = watch(shop, each: .seconds(61))
        #expect(isUnavailable(error(shop, first.transactionID)))
        shop.store.setClock(shop.store.now + wait)
        shop.onRequest.withLock { body in
            body = { request in if request.url.contains("/history/") { pages.withLock { $0 += 1 } } }
        }
        _ = try shop.reconciler.recover(.transaction(first.transactionID), of: shop.app, for: "anna")
        #expect(pages.withLock(\.self) == expected)
    }

    @Test func `what was read goes on after an error of Apple's, and from the beginning after a place that is none`()
        throws
    {
        for (fault, expected) in [(503, 3), (400, 4)] {
            let shop = try Shop(.sqlite)
            let (first, _) = subscribe(shop, renewals: 50)
            let pages = Guarded(0)
            shop.stranger.withLock { body in
                body = { request in
                    guard request.url.contains("/history/") else { return nil }
                    let number = pages.increment()
                    guard number == 2 else { return nil }
                    let text = fault == 400 ? #"{"errorCode":4000005}"# : ""
                    return HTTPTransport.Answer(status: fault, body: Array(text.utf8))
                }
            }
            _ = error(shop, first.transactionID)
            let result = try shop.reconciler.recover(.transaction(first.transactionID), of: shop.app)
            #expect(result.transactionIDs.count == 51)
            #expect(pages.withLock(\.self) == expected + 1, "\(fault)")
        }
    }

    @Test func `of a transaction that changed while pages were read, the latest signature counts`() throws {
        let shop = try Shop(.sqlite)
        let (first, _) = subscribe(shop, renewals: 30)
        let pages = Guarded(0)
        shop.onRequest.withLock { body in
            body = { [store = shop.store] request in
                guard request.url.contains("/history/"), pages.increment() == 2 else { return }
                store.setClock(store.now + .seconds(2))
                let date = store.now - .seconds(1)
                // The one that is asked about, and another one of the first page.
                store.change(customer: 1) { history in
                    for period in history.periods(of: history.subscriptions[0]).prefix(2) {
                        history.refund(period, at: date)
                    }
                }
            }
        }
        _ = try shop.reconciler.recover(.transaction(first.transactionID), of: shop.app, for: "anna")
        let recorded = try shop.rows("SELECT purchase FROM evidence").map { $0[0] }
        #expect(recorded.count == 31 && recorded.count { $0.contains(#""revoked":true"#) } == 2)
    }

    // MARK: Refused

    /// Changes the signature of a transaction in the history.
    private func spoil(_ shop: Shop, _ id: String) {
        let answer = shop.store.inProcess()
        shop.stranger.withLock { body in
            body = { request in
                guard request.url.contains("/history/"), let right = try? answer(request) else { return nil }
                var text = String(decoding: right.body, as: UTF8.self)
                for jws in text.components(separatedBy: "\"") where jws.split(separator: ".").count == 3 {
                    let payload = String(jws.split(separator: ".")[1])
                        .replacing("-", with: "+").replacing("_", with: "/")
                    let padded = payload + String(repeating: "=", count: (4 - payload.count % 4) % 4)
                    guard let data = Data(base64Encoded: padded),
                        String(decoding: data, as: UTF8.self).contains(#""transactionId":"\#(id)""#)
                    else { continue }
                    let last = jws.index(jws.endIndex, offsetBy: -10)
                    let other = jws[last] == "A" ? "B" : "A"
                    text = text.replacing(jws, with: jws[..<last] + other + jws[jws.index(after: last)...])
                }
                return HTTPTransport.Answer(status: 200, body: Array(text.utf8))
            }
        }
    }

    @Test(arguments: Place.available)
    func `a refused item is named, and skipped on request: the rest is recorded, and nobody's without its token`(
        _ place: Place
    ) throws {
        let shop = try Shop(place)
        let (first, last) = subscribe(shop, renewals: 25)
        let renewal = try #require(last)
        let spoilt = try #require(Int64(first.transactionID)) + 1
        spoil(shop, "\(spoilt)")
        guard case .refused(let items) = error(shop, first.transactionID) else {
            Issue.record("not refused")
            return
        }
        #expect(items.map(\.id) == ["\(spoilt)"] && items.map(\.code) == ["invalid-signature"])
        #expect(items.names == "\(spoilt) (invalid-signature)")
        #expect(try shop.rows("SELECT 1 FROM evidence").isEmpty)
        let named = shop.found.contains { finding in
            if case .refused(_, _, let id) = finding { id == "\(spoilt)" } else { false }
        }
        #expect(named)
        // For an account, and then for nobody.
        guard case .incomplete(let result) = error(shop, first.transactionID, skip: true) else {
            Issue.record("not incomplete")
            return
        }
        #expect(result.transactionIDs.count == 25 && result.refused.map(\.id) == ["\(spoilt)"])
        #expect(try shop.rows("SELECT 1 FROM evidence").count == 25)
        #expect(try shop.rows("SELECT account FROM families WHERE account IS NOT NULL").isEmpty)
        let recorded = try shop.reconciler.recover(
            .transaction(first.transactionID), of: shop.app, skippingRefused: true)
        #expect(recorded.transactionIDs.count == 25 && recorded.refused.count == 1)
        // A whole answer is claimed.
        shop.stranger.withLock { $0 = { _ in nil } }
        let whole = try shop.reconciler.recover(
            .transaction(first.transactionID), of: shop.app, for: "anna", skippingRefused: true)
        #expect(whole.refused.isEmpty && whole.outcomes.map(\.outcome) == [.expired])
        #expect(try shop.quantity(renewal) == "1")
    }

    enum Token: CaseIterable { case own, others, unknown, none, deleted, ofSome }

    @Test(arguments: Place.available, Token.allCases)
    func `with something skipped, an account claims only what has its own token throughout, and R1 counts`(
        _ place: Place, _ token: Token
    ) throws {
        let shop = try Shop(place, orders: true)
        let own = try shop.ledger.token(for: "anna", at: Shop.start).token
        let other = try shop.ledger.token(for: "ben", at: Shop.start).token
        let text: String? =
            switch token {
            case .own, .deleted: own.description.uppercased()
            case .others: other.description
            case .unknown: "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"
            case .none, .ofSome: nil
            }
        let (first, last) = subscribe(
            shop, renewals: 4, token: text, ofLast: token == .ofSome ? own.description : nil)
        let renewal = try #require(last)
        if token == .deleted { _ = try shop.ledger.deleteAccount("anna", at: Shop.start) }
        spoil(shop, "\(try #require(Int64(first.transactionID)) + 1)")
        let id = Reconciler.Recovery.transaction(first.transactionID)
        do {
            let result = try shop.reconciler.recover(id, of: shop.app, for: "anna", skippingRefused: true)
            #expect(token == .own && result.outcomes.map(\.outcome) == [.expired] && result.refused.count == 1)
        } catch {
            guard case Reconciler.RecoveryError.incomplete = error else { throw error }
            #expect(token != .own)
        }
        let owners = try shop.rows("SELECT account FROM families").map { $0[0] }
        let quantity = try shop.quantity(renewal)
        switch token {
        case .own: #expect(owners == ["anna"] && quantity == "1")
        case .others: #expect(owners == ["ben"] && quantity == "1")
        case .unknown, .none: #expect(owners == ["NULL"] && quantity == nil)
        case .deleted: #expect(owners.allSatisfy { $0.hasPrefix("forgotten-") })
        case .ofSome: #expect(owners == ["anna"])
        }
    }

    @Test func `Apple is not asked for an account that cannot be`() throws {
        let shop = try Shop(.sqlite)
        let (first, _) = subscribe(shop, renewals: 0)
        for account in ["", String(repeating: "a", count: 256), "a\0"] {
            guard case .ledger(let error) = error(shop, first.transactionID, for: account) else {
                Issue.record("no error of the ledger")
                continue
            }
            #expect(error.code == .invalidText)
        }
        #expect(shop.store.requestCounts.isEmpty)
    }
}
