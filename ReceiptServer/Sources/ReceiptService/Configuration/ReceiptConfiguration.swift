@_spi(Surfaces) package import AppStoreReceipt
package import HTTPService

/// The evidence that the service accepts, and the roots that it trusts.
package struct ReceiptConfiguration: Sendable {
    package var policy: VerificationPolicy
    package var trust: AppStoreTrust
    /// Whether verifyReceipt answers include `latest_receipt_info`, filled from the receipt.
    package var fillsLatestReceiptInfo = false
    /// The types of products by product id, for purchases whose evidence doesn't contain the type.
    package var productTypes: ProductCatalog = [:]

    package init(policy: VerificationPolicy, trust: AppStoreTrust = .apple) {
        self.policy = policy
        self.trust = trust
    }

    /// The library's settings, named as in the command `receipt`, and the options of this service.
    package static let options: [OptionTable.Option] =
        VerifierSetting.onCommandLine(of: .server).compactMap { setting in
            setting.name(on: .server).map {
                OptionTable.Option(
                    $0, setting.flagValue, isRepeatable: setting.isRepeatable, setting.flagHelp(.granting))
            }
        } + [
            .init(
                "--latest-receipt-info", "",
                "Answer /verifyReceipt with a 'latest_receipt_info' that has what the receipt says, which may be old.")
        ]

    /// The members about the configuration in the log's `start` line.
    var summary: [(StaticString, ServiceLog.Value)] {
        let roots =
            switch trust {
            case .apple: "Apple's"
            default: "not Apple's"
            }
        return [
            ("bundle_ids", .text(policy.bundleIDs?.sorted().joined(separator: " ") ?? "every app")),
            ("environments", .text(policy.acceptedEnvironments.map(\.rawValue).sorted().joined(separator: " "))),
            ("roots", .text(roots)),
        ]
    }

    /// Reads the configuration that the options describe, including the files that they name.
    package init(_ values: OptionTable.Values) throws(ConfigurationError) {
        func given(_ setting: VerifierSetting) -> [String] { setting.name(on: .server).map(values.all) ?? [] }
        if let (first, second) = VerifierSetting.conflict(where: { !given($0).isEmpty }),
            let first = first.name(on: .server), let second = second.name(on: .server)
        {
            throw ConfigurationError("\(first) and \(second) exclude each other")
        }
        var settings = VerifierSettings(.granting)
        for setting in VerifierSetting.onCommandLine(of: .server) {
            for value in given(setting) { try Self.add(value, to: setting, of: &settings) }
        }
        if !given(.roots).isEmpty, !settings.has(.roots) {
            throw ConfigurationError("--root: \(given(.roots).joined(separator: ", ")) has no root")
        }
        self.init(policy: settings.verificationPolicy, trust: settings.trust)
        productTypes = ProductCatalog(settings.productTypes)
        fillsLatestReceiptInfo = values["--latest-receipt-info"] != nil
    }

    private static func add(
        _ value: String, to setting: VerifierSetting, of settings: inout VerifierSettings
    ) throws(ConfigurationError) {
        if setting == .distrusted {
            for fingerprint in try CertificateFiles.fingerprints(value) { settings.addDistrusted(fingerprint) }
        } else if setting.takesFiles {
            for anchor in try CertificateFiles.anchors(in: value) {
                // An intermediate with Apple's marker is an issuer of transaction receipts, not a root.
                if setting == .roots, let issuer = try? TransactionReceiptIssuer(der: anchor.der),
                    !issuer.versions.isEmpty
                {
                    settings.add(issuer)
                } else {
                    settings.add(anchor, to: setting)
                }
            }
        } else {
            do throws(SettingFault) {
                try settings.add(word: value, to: setting)
            } catch {
                throw ConfigurationError(error.text(on: .server))
            }
        }
    }
}
