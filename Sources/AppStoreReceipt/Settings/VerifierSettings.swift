public import SignatureTrust

/// What a surface was told about its verifier, value by value. Two are equal if they were told the same.
@_spi(Surfaces) public struct VerifierSettings: Sendable {
    /// What the verifier is for, which decides about what nobody said.
    @_spi(Surfaces) public enum Purpose: Sendable {
        /// It checks what it is asked, and says what it did not check: the command and its reports.
        case inspecting
        /// Products are granted by it, and nobody pays outside production: the server, C, and all languages over it.
        case granting
    }

    /// The policy; what depends on other settings comes with ``verificationPolicy``.
    var policy: VerificationPolicy
    var isStoreKitTesting = false
    /// What the app states of its products.
    public internal(set) var productTypes: [String: StatedProductType] = [:]
    private var roots: [TrustAnchor] = []
    private var issuers: [TransactionReceiptIssuer] = []
    /// What was said, in its order.
    private var said: [VerifierSetting: [[UInt8]]] = [:]

    /// The surface whose names for the settings advice has.
    public var surface = Surface.c

    public init(_ purpose: Purpose) {
        policy = VerificationPolicy(
            bundleIDs: nil, environments: purpose == .granting ? [.production] : [.production, .sandbox])
    }

    /// Whether a setting has a value, or was said to have none.
    public func has(_ setting: VerifierSetting) -> Bool { said[setting] != nil }

    /// Adds a value to a setting, or sets it.
    public mutating func add(_ text: String, to setting: VerifierSetting) throws(SettingFault) {
        guard setting.row.apply(&self, text) else { throw SettingFault(setting: setting, value: text) }
        said[setting, default: []].append(Array(text.utf8))
    }

    /// Adds a word of a command line, which is empty for a setting without a value.
    public mutating func add(word: String, to setting: VerifierSetting) throws(SettingFault) {
        if let choices = setting.flagChoices, !choices.contains(word) {
            throw SettingFault(setting: setting, value: word)
        }
        try add(setting.flagValue.isEmpty ? "true" : word, to: setting)
    }

    /// Says that a setting is present and has no value, such as an empty list. It never means every app, or any age.
    public mutating func addNothing(to setting: VerifierSetting) throws(SettingFault) {
        switch setting {
        // The verifier has an error for each.
        case .bundleIDs: policy.bundleIDs = []
        case .environments: policy.environments = []
        default: throw SettingFault(setting: setting, value: "")
        }
        said[setting] = said[setting] ?? []
    }

    /// Adds a certificate to a setting of the kind ``VerifierSetting/Kind/certificates``, or to ``VerifierSetting/storeKitTesting``.
    public mutating func add(_ certificate: TrustAnchor, to setting: VerifierSetting) {
        roots.append(certificate)
        isStoreKitTesting = isStoreKitTesting || setting == .storeKitTesting
        said[setting, default: []].append(certificate.der)
    }

    /// Adds an intermediate certificate of transaction receipts.
    public mutating func add(_ issuer: TransactionReceiptIssuer) {
        issuers.append(issuer)
        said[.transactionReceiptIssuers, default: []].append(issuer.der)
    }

    /// Adds the fingerprint of a certificate that is not trusted.
    public mutating func addDistrusted(_ fingerprint: Fingerprint) {
        policy.distrusted.insert(fingerprint)
        said[.distrusted, default: []].append(Array("\(fingerprint)".utf8))
    }

    /// The policy of the verifier.
    public var verificationPolicy: VerificationPolicy {
        var policy = policy
        if isStoreKitTesting, !has(.environments) { policy.environments = [.xcode, .localTesting] }
        return policy
    }

    /// The trust of the verifier.
    public var trust: AppStoreTrust {
        let trust: AppStoreTrust = isStoreKitTesting ? .storeKitTesting(roots) : has(.roots) ? .roots(roots) : .apple
        return issuers.isEmpty ? trust : .adding(issuers, to: trust)
    }
}

extension VerifierSettings: Hashable {
    public static func == (lhs: VerifierSettings, rhs: VerifierSettings) -> Bool {
        lhs.said == rhs.said && lhs.surface == rhs.surface
    }
    public func hash(into hasher: inout Hasher) { hasher.combine(said) }
}
