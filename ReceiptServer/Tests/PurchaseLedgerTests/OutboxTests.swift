import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
import LibcryptoHandles
@testable import PurchaseLedger
import Sampling
import Synchronization
import Testing
import TrialSupport

@Suite(.serialized) struct OutboxTests {
    private static let secret = Array("a secret of a test".utf8)

    /// Redeems one consumable for each account, in their order.
    private func redeem(_ ledger: PurchaseLedger, _ accounts: [String]) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for account in accounts {
            let transaction = history.buyConsumable("coins", at: day(0))
            _ = try ledger.redeem(history.evidence(transaction, signedAt: day(1)), for: account, at: day(1))
        }
    }

    /// Delivers until a condition holds, and returns the reported failures.
    @discardableResult private func deliver(
        _ ledger: PurchaseLedger, to receiver: WebhookReceiver, attempts: Int = 5, lease: Duration = .seconds(2),
        until isDone: () throws -> Bool
    ) throws -> [LedgerError.Code] {
        let failures = Guarded([LedgerError.Code]())
        let webhook = try Webhook(url: receiver.url, secret: Self.secret)
        let delivery = EventDelivery(ledger, to: webhook, maximumAttempts: attempts, lease: lease)
        let thread = Thread { delivery.run { error in failures.withLock { $0.append(error.code) } } }
        thread.start()
        try wait(until: isDone)
        delivery.stop()
        while !thread.isFinished { usleep(10_000) }
        return failures.withLock { $0 }
    }

    @Test(arguments: Place.available)
    func `each event is delivered with its signature, those of an account in their order`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, (0..<30).map { "account \($0 % 3)" })
            let receiver = try WebhookReceiver { _ in 200 }
            try deliver(ledger, to: receiver) { try ledger.outboxCounts().pending == 0 }
            let received = receiver.received
            #expect(received.map(\.id).sorted() == (try ledger.events().map(\.id).sorted()))
            // A member without a value is there.
            #expect(received.allSatisfy { $0.body.contains(#","until":null,"version":2}"#) })
            let events: [LedgerEvent] = try received.map { try StoredJSON.decode($0.body) }
            for (_, events) in Dictionary(grouping: events, by: \.account) {
                #expect(events.map(\.sequence) == events.map(\.sequence).sorted() && events.count == 10)
            }
            for request in received {
                let parts = request.signature.split(separator: ",").map {
                    $0.split(separator: "=").last.map(String.init) ?? ""
                }
                let text = Array("\(parts.first ?? "").\(request.body)".utf8)
                let code = try DigestAlgorithm.sha256.authenticationCode(of: text.span, key: Self.secret.span)
                #expect(code.hexadecimal == parts.last)
                #expect(abs((Int64(parts.first ?? "") ?? 0) - Instant.now.secondsSince1970) < 60)
            }
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available)
    func `an event that fails is sent again, and the account's next events wait for it`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, ["anna", "anna", "ben"])
            let first = try #require(ledger.events().first { $0.account == "anna" }).id
            let failures = Guarded(2)
            let receiver = try WebhookReceiver { id in
                id == first
                    && failures.withLock {
                        $0 -= 1; return $0 >= 0
                    } ? 500 : 200
            }
            try deliver(ledger, to: receiver) { try ledger.outboxCounts().pending == 0 }
            let ids = receiver.received.map(\.id)
            let events = try ledger.events()
            #expect(ids.filter { $0 == first }.count == 3 && ids.count == 5)
            // Ben's event did not wait.
            #expect(ids.firstIndex(of: events[2].id) ?? 9 < 3)
            #expect(ids.last == events[1].id)
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available)
    func `accounts whose events are slow hold up no others`(_ place: Place) throws {
        try place.withLedger { ledger in
            let slow = (0..<10).map { "slow \($0)" }
            try redeem(ledger, slow + slow + (0..<40).map { "quick \($0)" })
            let slowIDs = Set(try ledger.events().filter { $0.account.hasPrefix("slow") }.map(\.id))
            // Longer than a delivery may take.
            let receiver = try WebhookReceiver { id in
                if slowIDs.contains(id) { sleep(UInt32(WebhookClient.timeLimit) + 1) }
                return 200
            }
            try deliver(ledger, to: receiver, lease: .seconds(60)) {
                receiver.received.filter { !slowIDs.contains($0.id) }.count == 40
            }
            // Each slow account had one attempt at most when all others had their events.
            let ids = receiver.received.map(\.id)
            let last = try #require(ids.lastIndex { !slowIDs.contains($0) })
            #expect(ids.filter { !slowIDs.contains($0) }.count == 40)
            #expect(ids[..<last].filter { slowIDs.contains($0) }.count <= slow.count)
        }
    }

    @Test func `what cannot be delivered is a dead letter, which an operator sends again`() throws {
        try Place.sqlite.withLedger { ledger in
            try redeem(ledger, ["anna", "anna"])
            let first = try ledger.events()[0].id
            let isBroken = Atomic(true)
            let receiver = try WebhookReceiver { id in
                id == first && isBroken.load(ordering: .relaxed) ? 307 : 200
            }
            // A redirect is no delivery, and is not followed.
            let failures = try deliver(ledger, to: receiver, attempts: 2) { try ledger.outboxCounts() == (0, nil, 1) }
            #expect(failures == [.deliveryFailed, .deadLetter])
            let letters = try ledger.deadLetters()
            #expect(letters.map(\.id) == [first] && letters.map(\.failure) == ["status 307"])
            // The account's next event was delivered.
            #expect(receiver.received.map(\.id).contains(try ledger.events()[1].id))
            isBroken.store(false, ordering: .relaxed)
            try ledger.sendAgain(eventID: first)
            try deliver(ledger, to: receiver) { try ledger.outboxCounts() == (0, nil, 0) }
            #expect(try ledger.deadLetters().isEmpty && receiver.received.last?.id == first)
            let error = #expect(throws: LedgerError.self) { try ledger.sendAgain(eventID: "none") }
            #expect(error?.code == .notFound)
        }
    }

    @Test(arguments: Place.available)
    func `an event has the date at which the backend acknowledged it, until it is sent again`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, ["anna"])
            func deliver(_ failure: String?, at date: Instant) throws -> [Instant?] {
                let events = try ledger.takeEvents(limit: 8, lease: .seconds(1), at: date)
                try ledger.record(events.map { ($0, failure) }, maximumAttempts: 5, at: date)
                return try dates()
            }
            func dates() throws -> [Instant?] {
                try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.events("", []).map(\.deliveredAt)
                }
            }
            let now = Instant.now
            #expect(try deliver("status 500", at: now) == [nil])
            #expect(try deliver(nil, at: now + .seconds(2)) == [now + .seconds(2)])
            let id = try #require(try ledger.events().first).id
            try ledger.sendAgain(eventID: id, at: now + .seconds(3))
            #expect(try dates() == [nil])
            #expect(try deliver(nil, at: now + .seconds(3)) == [now + .seconds(3)])
        }
    }

    @Test(arguments: Place.available)
    func `an event that is sent again does not wait for its next attempt`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, ["anna"])
            let now = Instant.now
            let events = try ledger.takeEvents(limit: 8, lease: .seconds(25), at: now)
            try ledger.record(events.map { ($0, "status 500") }, maximumAttempts: 5, at: now)
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(25), at: now).isEmpty)
            try ledger.sendAgain(eventID: #require(events.first).id, at: now)
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(25), at: now).count == 1)
        }
    }

    @Test(arguments: Place.available)
    func `the events of a server that crashed are delivered by another`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, ["anna"])
            let now = Instant.now
            // The first server has taken the event and is gone.
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(100), at: now).count == 1)
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(100), at: now + .seconds(99)).isEmpty)
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(100), at: now + .seconds(100)).count == 1)
        }
    }

    @Test(arguments: Place.available)
    func `while an event is being sent, no other event of its account is taken`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            for count in [1, 0] {
                let coins = history.buyConsumable("coins", at: day(0))
                _ = try ledger.redeem(history.evidence(coins, signedAt: day(1)), for: "anna", at: day(1))
                #expect(try ledger.takeEvents(limit: 8, lease: .seconds(60), at: day(1)).count == count)
            }
        }
    }

    @Test func `two servers that take events at the same time take each once`() throws {
        let location = try (Place.available.last ?? .sqlite).makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        try redeem(ledgers[0], (0..<60).map { "account \($0)" })
        let taken = Guarded<[String]>([])
        let threads = (0..<8).map { number in
            Thread {
                for _ in 0..<20 {
                    let events = try? ledgers[number % 2].takeEvents(limit: 4, lease: .seconds(100), at: .now)
                    taken.withLock { $0 += events?.map(\.id) ?? ["failed"] }
                }
            }
        }
        threads.forEach { $0.start() }
        while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        #expect(taken.withLock { $0.count } == 60)
        #expect(taken.withLock { Set($0).count } == 60)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `a dead letter that is sent again has as many attempts as at first`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, ["anna"])
            let id = try #require(ledger.events().first).id
            var now = day(1)
            for _ in 0..<2 {
                for isDead in [false, false, true] {
                    now = now + .seconds(60)
                    let events = try ledger.takeEvents(limit: 1, lease: .seconds(1), at: now)
                    try ledger.record(events.map { ($0, "away") }, maximumAttempts: 3, at: now)
                    #expect(try ledger.deadLetters().map(\.id) == (isDead ? [id] : []))
                }
                try ledger.sendAgain(eventID: id, at: now)
            }
        }
    }

    @Test(arguments: Place.available)
    func `delivered events and old answers are removed, and nothing else`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            for key in ["a", "b", "c"] {
                let transaction = history.buyConsumable("coins", at: day(0))
                let evidence = try history.evidence(transaction, signedAt: day(1))
                _ = try ledger.redeem(evidence, for: key, idempotencyKey: key, at: day(key == "c" ? 40 : 1))
            }
            let events = try ledger.takeEvents(limit: 1, lease: .seconds(1), at: day(1))
            try ledger.record(events.map { ($0, nil) }, maximumAttempts: 5, at: day(1))
            try ledger.removeHistory(before: day(2))
            #expect(try ledger.events().count == 2 && ledger.outboxCounts() == (2, day(1), 0))
            let answers = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT idempotency_key FROM answers")
            }
            #expect(try answers.map { try $0.text(0) } == ["c"])
            #expect(try LedgerState(ledger).grants.count == 3)
        }
    }

    /// SQLite has one writer at a time.
    @Test(arguments: Place.available.filter { $0 != .sqlite })
    func `an event that is sent again while old ones are removed stays`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, ["anna"])
            let events = try ledger.takeEvents(limit: 1, lease: .seconds(1), at: day(1))
            try ledger.record(events.map { ($0, nil) }, maximumAttempts: 5, at: day(1))
            let removal = Thread { try? ledger.removeHistory(before: day(40)) }
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run("UPDATE outbox SET state = 'pending' RETURNING 1")
                removal.start()
                // Until it has read the row, and passed over it.
                Thread.sleep(forTimeInterval: 1)
            }
            while !removal.isFinished { Thread.sleep(forTimeInterval: 0.01) }
            #expect(try ledger.events().count == 1)
        }
    }

    @Test(arguments: Place.available)
    func `who delivers also removes what is a month old, and settles what is due`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.surroundings.date = { day(40) }
        policy.surroundings.hasDatabaseClock = false
        try place.withLedger(policy) { ledger in
            for (number, date) in [(1, 1), (2, 20)] as [(Int, Double)] {
                // Each is refunded at a date that is announced.
                var builder = JWSBuilder.transaction(
                    bundleID: Minted.bundleID, productID: "pro", transactionID: "\(number)", signedDate: day(date))
                builder.revocationDate = day(30)
                let evidence = try Minted.evidence(builder)
                _ = try ledger.redeem(evidence, for: "anna", idempotencyKey: "\(number)", at: day(date))
            }
            let delivery = EventDelivery(ledger, to: nil)
            let thread = Thread { delivery.run { error in Issue.record(error) } }
            thread.start()
            try wait { try ledger.events().count >= 4 }
            delivery.stop()
            while !thread.isFinished { usleep(10_000) }
            #expect(try ledger.events().map(\.kind) == [.granted, .granted, .revoked, .revoked])
            let answers = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT idempotency_key FROM answers")
            }
            #expect(try answers.map { try $0.text(0) } == ["2"])
        }
    }

    @Test func `what is being sent when delivery ends is recorded`() throws {
        try Place.sqlite.withLedger { ledger in
            try redeem(ledger, ["anna"])
            let isThere = Atomic(false)
            let receiver = try WebhookReceiver { _ in
                isThere.store(true, ordering: .relaxed)
                // Until delivery was stopped.
                usleep(500_000)
                return 200
            }
            try deliver(ledger, to: receiver, lease: .seconds(60)) { isThere.load(ordering: .relaxed) }
            #expect(try ledger.outboxCounts().pending == 0)
        }
    }

    @Test func `a sender is not free before the result of its event was taken`() throws {
        let receiver = try WebhookReceiver { _ in 200 }
        let webhook = try Webhook(url: receiver.url, secret: Self.secret)
        let senders = EventSenders(count: 3) {
            let client = WebhookClient(webhook) { .now }
            return { client.send($0.event, id: $0.id) }
        }
        #expect(senders.freeCount == 3)
        senders.send([OutgoingEvent(id: "1", account: "anna", event: "{}", attempts: 0)])
        #expect(senders.freeCount == 2)
        #expect(senders.takeResults(within: .seconds(20)).count == 1)
        #expect(senders.freeCount == 3)
        _ = senders.stop()
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `a receiver that does not answer within five seconds has not taken the event`() throws {
        let receiver = try WebhookReceiver { _ in
            sleep(UInt32(WebhookClient.timeLimit) + 1)
            return 200
        }
        let client = WebhookClient(try Webhook(url: receiver.url, secret: Self.secret)) { .now }
        #expect(client.send("{}", id: "1") != nil)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
        "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 204 OK\r\nA: b\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
    ])
    func `an answer that breaks off is no delivery`(_ answer: String) throws {
        let receiver = try WebhookReceiver(rawAnswer: { _ in [answer, ""] }) { _ in 200 }
        let client = WebhookClient(try Webhook(url: receiver.url, secret: Self.secret)) { .now }
        for count in 1...2 {
            #expect(client.send("{}", id: "1") != nil)
            #expect(receiver.received.count == count)
        }
    }

    @Test(arguments: ["", "Content-Length: 2\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"])
    func `what a receiver sends ahead is no answer to the next event`(_ rest: String) throws {
        let ok = "HTTP/1.1 200 OK\r\n" + (rest.isEmpty ? "Content-Length: 0\r\n\r\n" : rest)
        let pieces = [[ok + ok], [ok, ok], [ok, String(ok.prefix(9))]]
        for ahead in pieces {
            let receiver = try WebhookReceiver(rawAnswer: { $0 == 1 ? ahead : nil }) { id in id == "1" ? 200 : 500 }
            let client = WebhookClient(try Webhook(url: receiver.url, secret: Self.secret)) { .now }
            #expect(client.send("{}", id: "1") == nil)
            usleep(200_000)
            for id in ["2", "3"] { #expect(client.send("{}", id: id) == "status 500", "\(ahead)") }
            #expect(receiver.received.map(\.id) == ["1", "2", "3"])
        }
    }

    @Test func `a webhook is HTTPS, or this machine`() throws {
        for url in [
            "http://example.com/", "ftp://localhost/", "file:///etc/passwd", "example.com", "", "https://",
            "http://localhost.example.com/", "http://127.0.0.1@example.com/", "http://127.0.0.2/",
        ] {
            #expect(throws: LedgerError.self, "\(url)") { try Webhook(url: url, secret: Self.secret) }
        }
        for url in ["https://example.com/hook", "http://localhost:8080/", "http://127.0.0.1:1/", "http://[::1]/"] {
            #expect(throws: Never.self, "\(url)") { try Webhook(url: url, secret: Self.secret) }
        }
        #expect(throws: LedgerError.self) { try Webhook(url: "https://example.com", secret: [1, 2, 3]) }
        // What the log may name.
        let webhook = try Webhook(url: "https://name:password@example.com:8443/token?key=1", secret: Self.secret)
        #expect(webhook.origin == "https://example.com:8443")
        #expect(try Webhook(url: "https://example.com/a:1", secret: Self.secret).origin == "https://example.com")
    }
}
