import AppStoreReceipt
import AppStoreServerAPI
import HTTPService
import PurchaseLedger
import Reconciliation
import StrictText

/// `receipt-server check-apple`: checks whether Apple accepts the keys and whether notifications arrive.
struct CheckApple {
    /// The pauses and attempts while waiting for a test notification.
    struct Patience {
        /// The time between two requests about a test notification. Apple allows one a second.
        var interval = Duration.seconds(2)
        /// The maximum number of requests until Apple has sent it, and of lookups until it is in the ledger.
        var attemptCount = 30
    }

    /// The time before now in which notifications are counted.
    private static let countedTime = Duration.seconds(7 * 86_400)
    /// The maximum number of pages. 10,000 notifications are enough to show what is missing.
    private static let maximumPageCount = 500

    private let ledger: PurchaseLedger
    private let print: (String) -> Void
    var patience = Patience()
    var wait: (Duration) -> Void = System.sleep(for:)
    var clock: () -> Instant = { .now }
    private var status = Status.fine

    /// The exit status.
    enum Status: Int32, Comparable {
        case fine = 0
        /// Notifications do not arrive, or Apple cannot be reached.
        case trouble = 1
        /// The configuration is wrong, here or in App Store Connect.
        case configuration = 2

        static func < (lhs: Status, rhs: Status) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    init(_ ledger: PurchaseLedger, print: @escaping (String) -> Void) {
        self.ledger = ledger
        self.print = print
    }

    /// - Returns: The exit status.
    mutating func run(_ askers: [AskAppleFile.Asker]) -> Int32 {
        for asker in askers {
            let app = asker.app.app
            print("\(app.bundleID), \(app.environment.rawValue):")
            do throws(AppStoreServerError) {
                try checkArrival(asker)
                try count(asker)
            } catch {
                explain(error, asker)
            }
        }
        return status.rawValue
    }

    private mutating func say(_ sentence: String, _ status: Status = .fine) {
        print("  " + sentence)
        self.status = max(self.status, status)
    }

    private mutating func explain(_ error: AppStoreServerError, _ asker: AskAppleFile.Asker) {
        if error.status == 401 {
            say("Apple refuses the key \(asker.keyID) for this app: \(error).", .configuration)
            say(
                "The key, its id, the issuer or the bundle id is wrong, the key was revoked, or the app has no release in production yet."
            )
            if let date = error.serverDate, abs((date - clock()).components.seconds) > 60 {
                say("This machine's clock differs from Apple's by \(abs((date - clock()).components.seconds)) s.")
            }
        } else if case .transport(let fault) = error.reason {
            say("Apple cannot be asked: \(fault).", .trouble)
            if fault == .noConnection { say("Under systemd, the unit needs IPAddressAllow= for Apple.") }
        } else {
            say("Apple cannot be asked: \(error).", error.class == .configuration ? .configuration : .trouble)
        }
    }

    // MARK: A test notification

    private mutating func checkArrival(_ asker: AskAppleFile.Asker) throws(AppStoreServerError) {
        let token: String
        do throws(AppStoreServerError) {
            token = try asker.app.client.requestTestNotification().token
        } catch {
            guard error.code == .notificationURLNotFound else { throw error }
            say("Apple accepts the key \(asker.keyID).")
            say("App Store Connect has no URL for the notifications of this environment.", .configuration)
            return
        }
        say("Apple accepts the key \(asker.keyID).")
        guard let sent = try sentNotification(token, asker) else {
            say("Apple has not sent the test notification yet. Try again later.", .trouble)
            return
        }
        let result = sent.sendAttempts.last?.result ?? "unknown"
        guard sent.sendAttempts.contains(where: \.isSuccess) else {
            say("Apple could not deliver a test notification to your URL: \(Self.word(result)).", .trouble)
            return
        }
        if let refusal = sent.notification?.refusal {
            say("Apple delivered a test notification, but this server refuses it: \(refusal.code).", .configuration)
            return
        }
        guard let uuid = sent.notification?.value?.notificationUUID else {
            say("Apple delivered a test notification, and does not say which.", .trouble)
            return
        }
        guard isRecorded(uuid, asker.app.app.environment) else { return }
        say("Its test notification arrived in the ledger.")
    }

    /// Returns a word that a server sent, if it has the form of Apple's words.
    private static func word(_ text: String) -> String {
        let isWord =
            text.utf8.count <= 64
            && text.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: "_") }
        return isWord ? text : "an unknown result"
    }

    /// Waits until Apple has tried to send the test notification.
    private func sentNotification(
        _ token: String, _ asker: AskAppleFile.Asker
    ) throws(AppStoreServerError) -> SentNotification? {
        for _ in 0..<patience.attemptCount {
            wait(patience.interval)
            do throws(AppStoreServerError) {
                let sent = try asker.app.client.testNotificationStatus(token)
                if !sent.sendAttempts.isEmpty { return sent }
            } catch {
                guard error.code == .testNotificationNotFound || error.class == .retry else { throw error }
            }
        }
        return nil
    }

    private mutating func isRecorded(_ uuid: String, _ environment: AppStoreEnvironment) -> Bool {
        for _ in 0..<patience.attemptCount {
            do throws(LedgerError) {
                if try !ledger.recordedNotifications([uuid], in: environment).isEmpty { return true }
            } catch {
                say("The ledger cannot be read: \(error).", .trouble)
                return false
            }
            wait(patience.interval)
        }
        say("Your URL took a test notification, but it is not in this ledger.", .trouble)
        say("Another server or a proxy answers there, or the server behind it has another ledger.")
        return false
    }

    // MARK: Counts

    private struct Count {
        var sent = 0
        var recorded = 0
    }

    /// Counts the notifications that Apple sent in the last days, and those of them that are in the ledger.
    private mutating func count(_ asker: AskAppleFile.Asker) throws(AppStoreServerError) {
        let now = clock()
        var counts: [UTF8Bytes: Count] = [:]
        var refused: [UTF8Bytes: Int] = [:]
        var failure: LedgerError?
        var pageCount = 0
        let query = NotificationHistoryQuery(from: now - Self.countedTime, to: now)
        var pages = asker.app.client.notificationHistoryPages(query).makeIterator()
        var seen: Set<UTF8Bytes> = []
        // As in the server, pages without new items can use a tenth of the budget.
        var barrenRest = max(1, asker.app.requestsPerHour / 10)
        while failure == nil, barrenRest > 0, pageCount < Self.maximumPageCount, let page = try pages.next() {
            pageCount += 1
            for refusal in page.notifications.compactMap({ $0.notification?.refusal }) {
                refused[UTF8Bytes(refusal.code), default: 0] += 1
            }
            let found = page.notifications.compactMap { $0.notification?.value }
            let newCount = found.count { $0.notificationUUID.map { seen.insert(UTF8Bytes($0)).inserted } ?? false }
            if newCount == 0, page.unsigned.hasMore { barrenRest -= 1 }
            do throws(LedgerError) {
                let recorded = try ledger.recordedNotifications(
                    found.compactMap(\.notificationUUID), in: asker.app.app.environment)
                for notification in found {
                    let type = UTF8Bytes(notification.notification.payload.type?.rawValue ?? "without a type")
                    counts[type, default: Count()].sent += 1
                    if let uuid = notification.notificationUUID, recorded.contains(UTF8Bytes(uuid)) {
                        counts[type, default: Count()].recorded += 1
                    }
                }
            } catch {
                failure = error
            }
        }
        if let failure {
            say("The ledger cannot be read: \(failure).", .trouble)
            return
        }
        guard !counts.isEmpty || !refused.isEmpty else {
            say("Apple sent no notification in the last 7 days.")
            return
        }
        let isCut = pageCount == Self.maximumPageCount || barrenRest == 0
        if barrenRest == 0 { say("Apple's pages bring nothing new, and have no end. Try again later.", .trouble) }
        say("Notifications of the last 7 days\(isCut ? ", the first \(pageCount) pages" : ""):")
        for (type, count) in counts.sorted(by: { $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8) }) {
            say("  \(type.string.printable): \(count.sent) sent, \(count.recorded) in the ledger")
        }
        for (code, count) in refused {
            say("  refused (\(code.string)): \(count)", .trouble)
        }
        let missing = counts.values.reduce(0) { $0 + $1.sent - $1.recorded }
        if missing > 0 { say("\(missing) are missing: 'receipt-server reconcile' brings them.", .trouble) }
    }
}
