import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
@testable import LedgerService
import LedgerTestSupport
import PurchaseLedger
import Reconciliation
import Testing

@Suite(.serialized) struct CheckAppleTests {
    private let ledger: PurchaseLedger
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "check-apple-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        ledger = try PurchaseLedger(creating: folder.appending(path: "ledger.db").path)
    }

    /// The receiver of notifications at the shop's URL.
    enum Receiver: CaseIterable { case none, ledger, nobody, unreachable }

    private struct Checked {
        let status: Int32
        let text: String
    }

    private func check(
        _ receiver: Receiver, _ prepare: (FakeAppStore) -> Void = { _ in },
        history: ((FakeAppStore) throws -> String)? = nil
    ) throws -> Checked {
        var options = FakeAppStore.Options()
        let verifier = Guarded<AppStoreVerifier?>(nil)
        let ledger = ledger
        let shopHasReceiver = receiver != .none
        if shopHasReceiver {
            options.receiver = { payload in
                switch receiver {
                case .none, .unreachable: return .timedOut
                case .nobody: return .success
                case .ledger:
                    guard let notification = try? verifier.withLock({ $0 })?.verifyNotification(payload) else {
                        return .unsuccessfulStatus
                    }
                    return (try? ledger.record(notification)) == nil ? .unsuccessfulStatus : .success
                }
            }
        }
        let store = try FakeAppStore(options)
        let accepting = try store.verifier()
        verifier.withLock { $0 = accepting }
        let server = try FakeAppStoreServer(store)
        prepare(store)
        var clientOptions = server.clientOptions
        if let history = try history.map({ try $0(store) }) {
            let answer = store.inProcess()
            clientOptions.transport = { (request) throws(TransportFault) in
                guard request.url.contains("/notifications/history") else { return try answer(request) }
                return HTTPTransport.Answer(status: 200, body: Array(history.utf8))
            }
        }
        let client = try AppStoreServerClient(
            store.signer, environment: store.environment, verifier: accepting, options: clientOptions)
        let said = Guarded<[String]>([])
        var check = CheckApple(ledger) { line in said.withLock { $0.append(line) } }
        check.patience = CheckApple.Patience(interval: .milliseconds(50), attemptCount: 40)
        if receiver == .nobody { check.patience.attemptCount = 8 }
        let status = check.run([
            AskAppleFile.Asker(app: AppleApp(client), keyID: store.options.keyID)
        ])
        server.stop()
        return Checked(status: status, text: said.withLock { $0.joined(separator: "\n") })
    }

    @Test(
        arguments: [
            (
                Receiver.ledger, 0,
                ["accepts the key FAKEKEY123", "arrived in the ledger", "TEST: 1 sent, 1 in the ledger"]
            ),
            (.none, 2, ["accepts the key FAKEKEY123", "App Store Connect has no URL"]),
            (.unreachable, 1, ["could not deliver a test notification to your URL: TIMED_OUT", "TEST: 1 sent, 0 in"]),
            (.nobody, 1, ["it is not in this ledger", "1 are missing: 'receipt-server reconcile' brings them"]),
        ] as [(Receiver, Int32, [String])])
    func `it says where notifications end`(receiver: Receiver, status: Int32, sentences: [String]) throws {
        let checked = try check(receiver)
        #expect(checked.status == status, "\(checked.text)")
        for sentence in sentences { #expect(checked.text.contains(sentence), "\(checked.text)") }
    }

    @Test func `it says that Apple refuses the key, or cannot be reached`() throws {
        let refused = try check(.ledger) { $0.inject(.unauthorized, count: 9) }
        #expect(refused.status == 2 && refused.text.contains("Apple refuses the key FAKEKEY123"), "\(refused.text)")
        let torn = try check(.ledger) { $0.inject(.tornHeader, count: 9) }
        #expect(torn.status == 1 && torn.text.contains("Apple cannot be asked"), "\(torn.text)")
    }

    @Test func `a name that Apple signed cannot write to the terminal`() throws {
        let history = { (store: FakeAppStore) -> String in
            let type = NotificationType(rawValue: "A\u{1B}[2J\nB: 9 sent, 9 in the ledger")
            let signed = try JWSBuilder.notification(
                type, bundleID: store.options.bundleID, environment: store.environment
            ).signed(by: store.authority)
            return #"{"hasMore":false,"notificationHistory":[{"signedPayload":"\#(signed)","sendAttempts":[]}]}"#
        }
        let checked = try check(.ledger, history: history)
        #expect(checked.text.contains(#"A\u{1B}[2J\u{A}B: 9 sent, 9 in the ledger: 1 sent, 1 in"#), "\(checked.text)")
    }

    @Test func `notifications that Apple sent before are counted by their types`() throws {
        let checked = try check(.unreachable) { store in
            let date = store.now - .seconds(60)
            store.change(customer: 1) { history in
                for _ in 0..<25 { _ = history.buyConsumable("coins", at: date) }
            }
            store.deliverNotifications()
        }
        #expect(checked.text.contains("ONE_TIME_CHARGE: 25 sent, 0 in the ledger"), "\(checked.text)")
    }
}
