import Testing

@_spi(Surfaces) @testable import AppStoreReceipt

struct VerifierSettingsTests {
    @Test func `nobody who grants products accepts the sandbox unasked, and who inspects sees all`() {
        let inspecting = VerifierSettings(.inspecting).verificationPolicy
        #expect(inspecting.environments == nil && inspecting.bundleIDs == nil)
        let granting = VerifierSettings(.granting)
        #expect(granting.verificationPolicy.environments == [.production] && granting.trust == .apple)
        #expect(granting.verificationPolicy.validationDate == .whenSigned)
        #expect(!granting.verificationPolicy.allowsRSA1024TransactionReceipts)
    }

    /// A value, and whether it can be read.
    @Test(
        arguments: [
            (.bundleIDs, "a", true), (.environments, "production", true), (.environments, "Production", false),
            (.environments, "", false), (.environments, "local-testing", true), (.appAppleID, "123", true),
            (.appAppleID, "0", false), (.appAppleID, "-1", false), (.appAppleID, "1.5", false),
            (.appAppleID, "", false),
            (.appAppleID, "9223372036854775808", false), (.storeKitTesting, "true", true),
            (.storeKitTesting, "1", false),
            (.allowsRSA1024, "false", true), (.allowsRSA1024, "", false), (.validationDate, "creation", true),
            (.validationDate, "now", true), (.validationDate, "2025-01-31", true),
            (.validationDate, "1738324800000ms", true), (.validationDate, "-1ms", true),
            (.validationDate, "1738324800000", false), (.validationDate, "ms", false), (.validationDate, "", false),
            (.distrusted, String(repeating: "ab", count: 32), true), (.distrusted, "ab", false),
            (.maximumAge, "0", true), (.maximumAge, "-1", false), (.maximumAge, "1.5", false),
            (.maximumAge, "", false), (.clock, "1738324800000ms", true), (.clock, "creation", false),
            (.productTypes, "a=consumable", true), (.productTypes, "a=b=consumable", false),
            (.productTypes, "a", false), (.roots, "a", false), (.transactionReceiptIssuers, "a", false),
        ] as [(VerifierSetting, String, Bool)])
    func `a value that cannot be read is refused, with the name that the surface has for the setting`(
        setting: VerifierSetting, value: String, isReadable: Bool
    ) {
        var settings = VerifierSettings(.granting)
        do throws(SettingFault) {
            try settings.add(value, to: setting)
            #expect(isReadable && settings.has(setting))
        } catch {
            #expect(!isReadable && !settings.has(setting))
            for surface in Surface.allCases {
                let name = setting.name(on: surface) ?? setting.rawValue
                #expect(error.text(on: surface) == "\(name) cannot be '\(value)'; expected: \(error.expected)")
            }
        }
    }

    @Test(
        arguments: [
            (.environments, "sandbox", true), (.environments, "xcode", false), (.environments, "local-testing", false),
            (.validationDate, "2025-01-31", true),
        ] as [(VerifierSetting, String, Bool)])
    func `a command line takes the words that its help lists, and no others`(
        setting: VerifierSetting, word: String, isListed: Bool
    ) throws {
        var settings = VerifierSettings(.granting)
        try settings.add(word, to: setting)
        settings = VerifierSettings(.granting)
        do throws(SettingFault) {
            try settings.add(word: word, to: setting)
            #expect(isListed && settings.has(setting))
        } catch {
            #expect(!isListed && !settings.has(setting) && error == SettingFault(setting: setting, value: word))
        }
    }

    @Test(arguments: VerifierSetting.allCases)
    func `a setting that is present and empty never means every app or any age`(setting: VerifierSetting) {
        var settings = VerifierSettings(.granting)
        do throws(SettingFault) {
            try settings.addNothing(to: setting)
            let policy = settings.verificationPolicy
            #expect(policy.bundleIDs == [] || policy.environments == [])
            #expect(throws: VerificationError.self) { try AppStoreVerifier(policy: policy, trust: settings.trust) }
        } catch {
            #expect(setting != .bundleIDs && setting != .environments)
        }
    }

    @Test func `values of a setting that may be repeated are joined, and the first takes the default's place`() throws {
        var settings = VerifierSettings(.granting)
        for id in ["a", "b"] { try settings.add(id, to: .bundleIDs) }
        try settings.add("sandbox", to: .environments)
        #expect(settings.verificationPolicy.bundleIDs == ["a", "b"])
        #expect(settings.verificationPolicy.environments == [.sandbox])
        try settings.add("production", to: .environments)
        #expect(settings.verificationPolicy.environments == [.production, .sandbox])
    }

    /// Two values for each setting that has texts, neither of which is the default.
    private static let values: [VerifierSetting: [String]] = [
        .bundleIDs: ["a", "b"], .appAppleID: ["1", "2"], .environments: ["sandbox", "xcode"],
        .storeKitTesting: ["true"], .allowsRSA1024: ["true"], .strictForm: ["true"],
        .validationDate: ["now", "2025-01-31"],
        .distrusted: ["ab", "cd"].map { String(repeating: $0, count: 32) }, .maximumAge: ["0", "1"],
        .clock: ["1ms", "2ms"], .productTypes: ["a=consumable", "b=non-renewing:30"],
    ]

    @Test(arguments: VerifierSetting.allCases)
    func `every value of every setting is another meaning`(setting: VerifierSetting) throws {
        var meanings = [VerifierSettings(.granting).meaning]
        for root in setting == .roots ? TrustAnchor.appleRoots : [] {
            var settings = VerifierSettings(.granting)
            settings.add(root, to: setting)
            meanings.append(settings.meaning)
        }
        for issuer in setting == .transactionReceiptIssuers ? TransactionReceiptIssuer.apple : [] {
            var settings = VerifierSettings(.granting)
            settings.add(issuer)
            meanings.append(settings.meaning)
        }
        for value in Self.values[setting] ?? [] {
            var settings = VerifierSettings(.granting)
            try settings.add(value, to: setting)
            meanings.append(settings.meaning)
        }
        #expect(meanings.count > 1 && Set(meanings).count == meanings.count)
    }

    @Test func `the order and the repetition of values, and defaults written out, change no meaning`() throws {
        func meaning(_ said: [(VerifierSetting, String)]) throws -> VerifierSettings.Meaning {
            var settings = VerifierSettings(.granting)
            for (setting, value) in said { try settings.add(value, to: setting) }
            return settings.meaning
        }
        let said = Self.values.keys.flatMap { key in (Self.values[key] ?? []).map { (key, $0) } }
            .filter { $0.0.isRepeatable }
        let all = try meaning(said)
        #expect(try meaning(said.reversed()) == all)
        #expect(try meaning(said + said.filter { $0.0 != .productTypes }) == all)
        let defaults: [(VerifierSetting, String)] = [
            (.environments, "production"), (.validationDate, "creation"), (.clock, "now"), (.allowsRSA1024, "false"),
            (.storeKitTesting, "false"), (.strictForm, "false"),
        ]
        #expect(try meaning(defaults) == VerifierSettings(.granting).meaning)
        #expect(try meaning([(.appAppleID, "01")]) == meaning([(.appAppleID, "1")]))
    }

    @Test func `every surface has its own name for every setting that it has`() {
        #expect(VerifierSetting.bundleIDs.name(on: .go) == "BundleID")
        #expect(VerifierSetting.storeKitTesting.name(on: .node) == "storekitTesting")
        #expect(VerifierSetting.allowsRSA1024.name(on: .php) == "allowsRsa1024")
        #expect(VerifierSetting.maximumAge.name(on: .command) == nil)
        #expect(VerifierSetting.transactionReceiptIssuers.name(on: .server) == "--root")
        for surface in Surface.allCases {
            let names = VerifierSetting.allCases.filter { $0 != .transactionReceiptIssuers }
                .compactMap { $0.name(on: surface) }
            #expect(Set(names).count == names.count, "\(surface)")
        }
    }
}
