public import AppStoreReceipt
public import AppStoreReceiptTesting
public import AppStoreServerAPI
public import AppStoreSigning
import StrictText
import Synchronization

/// A fake App Store for tests: the App Store Server API of one app in one environment, with purchases that a test
/// makes.
///
/// ```swift
/// let store = try FakeAppStore()
/// let purchase = store.change(customer: 1) { $0.buyConsumable("coins", at: store.now) }
/// let server = try FakeAppStoreServer(store)
/// let client = try AppStoreServerClient(
///     store.signer, environment: store.environment, verifier: store.verifier(), options: server.clientOptions)
/// let answer = try client.transactionInfo(of: purchase.transactionID)
/// ```
///
/// All answers and notifications are derived from the same `PurchaseHistory` values, and signed under ``authority``. A
/// tested backend must trust its root instead of Apple's. The store is thread-safe.
///
/// It answers as Apple's documentation describes. Undocumented behavior, such as the form of a revision or the order of
/// notifications, may differ.
public final class FakeAppStore: Sendable {
    /// The endpoints that the fake App Store answers.
    public typealias Endpoint = AppStoreServerEndpoint

    /// The options of a fake App Store.
    public struct Options: Sendable {
        /// The bundle id of the app.
        public var bundleID = "com.example.app"
        /// The Apple id of the app, which notifications and answers in production contain.
        public var appAppleID: Int64 = 1_234_567_890
        /// Production or the sandbox.
        public var environment = AppStoreEnvironment.sandbox
        /// The id of the key that clients use to sign their tokens.
        public var keyID = "FAKEKEY123"
        /// The issuer of the tokens.
        public var issuerID = "57246542-96fe-1a63-e053-0824d011072a"
        /// The initial date of the store's clock, which then stands still, or `nil` for the system's clock.
        public var date: Instant?
        /// The clock used to check tokens.
        public var tokenClock = TokenClock.system
        /// The delay of a slow answer.
        public var slowTime = Duration.seconds(31)
        /// The limits on requests an hour. The defaults are Apple's, which are a tenth in the sandbox.
        public var requestsPerHour: [Endpoint: Int] = [:]
        /// The time for which a pagination token is valid.
        public var paginationTokenLifetime = Duration.seconds(3600)
        /// The receiver of notifications, or `nil` if App Store Connect has no URL. See ``NotificationReceiver``.
        public var receiver: NotificationReceiver?

        /// Creates the default options.
        public init() {}
    }

    /// A clock used to check tokens.
    public enum TokenClock: Hashable, Sendable {
        /// The system's clock.
        case system
        /// The clock that tests set.
        case store
    }

    struct State {
        /// The purchases by the number of the customer.
        var histories: [Int: PurchaseHistory] = [:]
        /// The date of the store's clock, or `nil` for the system's clock.
        var date: Instant?
        var faults = FaultPlan()
        var notifications = NotificationLog()
        /// The number of requests in an hour since 1970.
        var spent: [Endpoint: (hour: Int64, count: Int)] = [:]
        var requestCounts: [Endpoint: Int] = [:]
        var tokenCount = 0
        var changes = Changes()
    }

    /// The options that the store was created with.
    public let options: Options
    /// The authority that signs transactions and notifications.
    public let authority: TestCertificateAuthority
    /// The authority that signs under an untrusted root, for faults.
    let strangers: TestCertificateAuthority
    /// The root under which ``authority`` signs.
    public let trustAnchor: TrustAnchor
    /// The private key that clients use to sign their tokens.
    public let clientKey: SigningKey
    /// The signer of a client whose tokens the store accepts.
    public let signer: AppStoreSigner
    let tokens: TokenCheck
    let state: Mutex<State>
    /// Held while notifications are sent, so that each is sent once.
    let sending = Mutex<Void>(())

    /// The environment.
    public var environment: AppStoreEnvironment { options.environment }

    /// Creates a fake App Store without customers.
    ///
    /// - Parameters:
    ///   - options: The options of the store.
    ///   - authority: The signing authority, or `nil` for a new one.
    ///   - clientKey: The private key of clients, on P-256, or `nil` for a new key.
    /// - Throws: `unsuitable-key` for a key that isn't on P-256.
    public init(
        _ options: Options = Options(), authority: TestCertificateAuthority? = nil, clientKey: SigningKey? = nil
    ) throws(MintingError) {
        self.options = options
        let signers: TestCertificateAuthority
        if let authority { signers = authority } else { signers = try TestCertificateAuthority(.ellipticCurve) }
        self.authority = signers
        trustAnchor = try signers.trustAnchor
        strangers = try TestCertificateAuthority(.ellipticCurve)
        let key: SigningKey
        if let clientKey { key = clientKey } else { key = try SigningKey(generating: .p256) }
        self.clientKey = key
        let tokens = TokenCheck(
            keyID: options.keyID, issuerID: options.issuerID, bundleID: options.bundleID,
            publicKey: try key.subjectPublicKeyInfo())
        guard let tokens else { throw MintingError(code: .unsuitableKey) }
        self.tokens = tokens
        let p8 = try key.pem()
        do throws(SigningError) {
            signer = try AppStoreSigner(
                keyID: options.keyID, issuerID: options.issuerID, bundleID: options.bundleID,
                key: InAppPurchaseKey(p8: p8))
        } catch {
            throw MintingError(code: .unsuitableKey)
        }
        state = Mutex(State(date: options.date))
    }

    // MARK: Clock

    /// The date on the store's clock.
    public var now: Instant { state.withLock(\.now) }

    /// Sets the clock, which then stands still. Doesn't send notifications: see ``deliverNotifications()``.
    public func setClock(_ date: Instant) { state.withLock { $0.date = date } }

    // MARK: Purchases

    /// Reads or changes the purchases of a customer.
    ///
    /// - Parameters:
    ///   - customer: The number of the customer, from 1 to 499. A new customer has no purchases.
    ///   - body: Records purchases and changes, usually at ``now``. It must not call the store.
    @discardableResult
    public func change<Result: Sendable>(
        customer: Int, _ body: (inout PurchaseHistory) -> Result
    ) -> Result {
        state.withLock { state in
            var history = state.histories[customer] ?? newHistory(customer)
            let result = body(&history)
            state.histories[customer] = history
            state.notifications.change(of: customer)
            return result
        }
    }

    private func newHistory(_ customer: Int) -> PurchaseHistory {
        PurchaseHistory(
            bundleID: options.bundleID, environment: environment == .production ? .production : .sandbox,
            customer: customer)
    }

    /// The purchases of all customers, by the customers' numbers.
    public var histories: [Int: PurchaseHistory] { state.withLock(\.histories) }

    /// Returns the order id of a transaction, as in the customer's invoice.
    public static func orderID(of transactionID: String) -> String {
        "MX" + (Int64(transactionID).map { String($0, radix: 36, uppercase: true) } ?? transactionID)
    }

    // MARK: Faults

    /// Adds a fault to the next answers.
    ///
    /// - Parameters:
    ///   - fault: The fault.
    ///   - endpoint: The endpoint whose answers get the fault, or `nil` for all.
    ///   - count: The number of answers.
    public func inject(_ fault: FakeFault, into endpoint: Endpoint? = nil, count: Int = 1) {
        state.withLock { $0.faults.add(fault, endpoint, count: count) }
    }

    /// Adds faults to random answers, until ``endFaults()`` is called.
    ///
    /// - Parameters:
    ///   - seed: The seed. The same seed produces the same faults.
    ///   - percent: The percentage of answers that get a fault.
    ///   - faults: The faults to choose from.
    public func injectRandomly(seed: UInt64, percent: Int, _ faults: [FakeFault] = FakeFault.allCases) {
        state.withLock { $0.faults.addRandom(seed: seed, percent: percent, faults) }
    }

    /// Ends all faults.
    public func endFaults() { state.withLock { $0.faults = FaultPlan() } }

    /// The number of requests with a valid token, by endpoint.
    public var requestCounts: [Endpoint: Int] { state.withLock(\.requestCounts) }

    // MARK: Clients

    /// Returns a verifier that trusts the store's root, for its app and environment. It refuses dates that are in the
    /// future by the store's clock.
    public func verifier() throws(VerificationError) -> AppStoreVerifier {
        var policy = VerificationPolicy(bundleIDs: [options.bundleID], environments: [environment])
        policy.allowsFutureDates = false
        policy.clock = { [self] in now }
        return try AppStoreVerifier(policy: policy, trust: .roots([trustAnchor]))
    }
}

extension FakeAppStore {
    /// Returns the root that a tested backend must trust, as a DER or PEM file.
    package func rootFile(isPEM: Bool) -> [UInt8] {
        let root = authority.root.certificate
        guard isPEM else { return root }
        let text = Array(Base64.encode(root.span).utf8)
        var lines = "-----BEGIN CERTIFICATE-----\n"
        for start in stride(from: 0, to: text.count, by: 64) {
            lines += String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self) + "\n"
        }
        return Array((lines + "-----END CERTIFICATE-----\n").utf8)
    }

    /// Returns a date such as `2026-01-31T12:00:00Z`, or `nil` for any other text.
    package static func date(_ text: String) -> Instant? { Instant(rfc3339: text) }
}

extension FakeAppStore.State {
    init(date: Instant?) { self.date = date }

    var now: Instant { date ?? .now }

    /// Counts a request, unless the limit for the hour has been reached.
    ///
    /// - Returns: The end of the hour if the limit has been reached.
    mutating func spend(_ endpoint: FakeAppStore.Endpoint, limit: Int) -> Instant? {
        let hour = now.secondsSince1970 / 3600
        let spent = spent[endpoint]
        let count = spent?.hour == hour ? spent?.count ?? 0 : 0
        guard count < limit else { return Instant(millisecondsSince1970: (hour + 1) * 3_600_000) }
        self.spent[endpoint] = (hour, count + 1)
        return nil
    }
}

extension String {
    /// Whether this text has the form of a transaction id.
    var isNumber: Bool {
        1...20 ~= utf8.count && utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    }
}
