public import SignatureTrust
import Instants
import StrictText

/// The settings of a surface's verifier, value by value.
@_spi(Surfaces) public struct VerifierSettings: Sendable {
    /// The purpose of a verifier, which determines its defaults.
    @_spi(Surfaces) public enum Purpose: Sendable {
        /// It checks what it is asked, and says what it did not check: the command and its reports.
        case inspecting
        /// For code that grants products: accepts production only, unless set otherwise. Used by the server, the C
        /// library and the bindings.
        case granting
    }

    /// The policy; what depends on other settings comes with ``verificationPolicy``.
    var policy: VerificationPolicy
    var isStoreKitTesting = false
    /// What the app states of its products.
    public internal(set) var productTypes: [String: CatalogType] = [:]
    private var roots: [TrustAnchor] = []
    private var issuers: [TransactionReceiptIssuer] = []
    /// The date at which the verifier's clock stands still, if it does.
    var clock: Instant?
    /// The settings that were set.
    private var said: Set<VerifierSetting> = []

    /// The surface whose setting names advice uses.
    public var surface = Surface.c

    public init(_ purpose: Purpose) {
        policy = VerificationPolicy(
            bundleIDs: nil, environments: purpose == .granting ? [.production] : nil)
    }

    /// Whether a setting has a value, or was set to none.
    public func has(_ setting: VerifierSetting) -> Bool { said.contains(setting) }

    /// Adds a value to a setting, or sets it.
    public mutating func add(_ text: String, to setting: VerifierSetting) throws(SettingFault) {
        guard setting.row.apply(&self, text) else { throw SettingFault(setting: setting, value: text) }
        said.insert(setting)
    }

    /// Adds a word of a command line, which is empty for a setting without a value.
    public mutating func add(word: String, to setting: VerifierSetting) throws(SettingFault) {
        if let choices = setting.flagChoices, !choices.contains(word) {
            throw SettingFault(setting: setting, value: word)
        }
        try add(setting.flagValue.isEmpty ? "true" : word, to: setting)
    }

    /// Sets a setting to no value, such as an empty list. It never means every app, or any age.
    public mutating func addNothing(to setting: VerifierSetting) throws(SettingFault) {
        switch setting {
        // The verifier has an error for each.
        case .bundleIDs: policy.bundleIDs = []
        case .environments: policy.environments = []
        default: throw SettingFault(setting: setting, value: "")
        }
        said.insert(setting)
    }

    /// Adds a certificate to a setting of the kind ``VerifierSetting/Kind/certificates``, or to
    /// ``VerifierSetting/storeKitTesting``.
    public mutating func add(_ certificate: TrustAnchor, to setting: VerifierSetting) {
        roots.append(certificate)
        isStoreKitTesting = isStoreKitTesting || setting == .storeKitTesting
        said.insert(setting)
    }

    /// Adds an intermediate certificate of transaction receipts.
    public mutating func add(_ issuer: TransactionReceiptIssuer) {
        issuers.append(issuer)
        said.insert(.transactionReceiptIssuers)
    }

    /// Adds the fingerprint of a certificate that is not trusted.
    public mutating func addDistrusted(_ fingerprint: Fingerprint) {
        policy.distrusted.insert(fingerprint)
        said.insert(.distrusted)
    }

    /// The policy of the verifier.
    public var verificationPolicy: VerificationPolicy {
        var policy = policy
        if let clock { policy.clock = { clock } }
        if isStoreKitTesting, !has(.environments), policy.environments != nil {
            policy.environments = [.xcode, .localTesting]
        }
        return policy
    }

    /// The trust of the verifier.
    public var trust: AppStoreTrust {
        let trust: AppStoreTrust = isStoreKitTesting ? .storeKitTesting(roots) : has(.roots) ? .roots(roots) : .apple
        return issuers.isEmpty ? trust : trust.adding(issuers)
    }
}

extension VerifierSettings {
    /// The meaning of the settings, whatever their order and words.
    @_spi(Surfaces) public struct Meaning: Hashable, Sendable {
        private let bundleIDs: Set<UTF8Bytes>?
        private let appAppleID: UTF8Bytes?
        private let environments: Set<AppStoreEnvironment>?
        private let validationDate: VerificationPolicy.ValidationDate
        private let maximumAge: Duration?
        private let clock: Instant?
        private let allowsRSA1024: Bool
        private let requiresStrictForm: Bool
        private let distrusted: Set<Fingerprint>
        private let isStoreKitTesting: Bool
        /// `nil` for Apple's.
        private let roots: Set<TrustAnchor>?
        private let issuers: Set<TransactionReceiptIssuer>
        private let productTypes: [UTF8Bytes: CatalogType]
        private let surface: Surface

        fileprivate init(_ settings: VerifierSettings) {
            let policy = settings.verificationPolicy
            bundleIDs = policy.bundleIDs.map { Set($0.map(UTF8Bytes.init)) }
            appAppleID = policy.appAppleID.map(UTF8Bytes.init)
            environments = policy.environments
            validationDate = policy.validationDate
            maximumAge = policy.maximumAge
            clock = settings.clock
            allowsRSA1024 = policy.allowsRSA1024TransactionReceipts
            requiresStrictForm = policy.requiresStrictForm
            distrusted = policy.distrusted
            isStoreKitTesting = settings.isStoreKitTesting
            roots = settings.has(.roots) || settings.isStoreKitTesting ? Set(settings.roots) : nil
            issuers = Set(settings.issuers)
            productTypes = Dictionary(uniqueKeysWithValues: settings.productTypes.map { (UTF8Bytes($0), $1) })
            surface = settings.surface
        }
    }

    /// What the settings mean. Verifiers of equal meanings are equal.
    public var meaning: Meaning { Meaning(self) }
}
