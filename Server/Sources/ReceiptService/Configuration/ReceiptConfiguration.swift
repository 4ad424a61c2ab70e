package import AppStoreReceipt
package import HTTPService
import ServerText

/// What the service accepts, and whose signatures it trusts.
package struct ReceiptConfiguration: Sendable {
    package var policy: VerificationPolicy
    package var trust: AppStoreTrust
    /// Whether answers of verifyReceipt have `latest_receipt_info`, with what the receipt says.
    package var fillsLatestReceiptInfo = false
    /// Returns the end of a non-renewing subscription, if an option says its length.
    package var endOfNonRenewing: @Sendable (Purchase) -> Instant? = { _ in nil }

    package init(policy: VerificationPolicy, trust: AppStoreTrust = .apple) {
        self.policy = policy
        self.trust = trust
    }

    /// The options, which are the words of the command `receipt`.
    package static let options: [OptionTable.Option] = [
        .init(
            "--bundle-id", "ID", isRepeatable: true, "Accept this app only. Without it, the bundle id is not checked."),
        .init(
            "--app-apple-id", "NUMBER", "Accept a JWS of this app only. Without it, the Apple id is not checked."),
        .init(
            "--environment", "production|sandbox", isRepeatable: true,
            "Accept this environment; production by default. With both, /verifyReceipt answers for both, and your code must look at 'environment' in the answer."
        ),
        .init(
            "--root", "FILE", isRepeatable: true,
            "Trust the root certificates in FILE (PEM or DER) instead of Apple's. An intermediate with Apple's marker counts for transaction receipts, which do not contain theirs."
        ),
        .init("--xcode-root", "FILE", "Accept only what StoreKit Testing signed with the certificate in FILE."),
        .init(
            "--allow-rsa-1024", "",
            "Accept transaction receipts of version 2 (until 2015), which are signed with an RSA key of 1024 bits. Such keys are no longer safe."
        ),
        .init(
            "--distrust", "FILE|FINGERPRINT", isRepeatable: true,
            "Refuse what a signer's or intermediate certificate signed: those in FILE (PEM or DER), or the one with this SHA-256 in hexadecimal."
        ),
        .init(
            "--non-renewing", "ID=DAYS", isRepeatable: true,
            "The non-renewing subscription with this product id lasts so many days: Apple does not say how long."),
        .init(
            "--latest-receipt-info", "",
            "Answer /verifyReceipt with a 'latest_receipt_info' that has what the receipt says, which may be old."),
    ]

    /// What the log says when the service starts.
    var summary: [(StaticString, ServiceLog.Value)] {
        let roots =
            switch trust {
            case .apple: "Apple's"
            default: "not Apple's"
            }
        return [
            ("bundle_ids", .text(policy.bundleIDs?.sorted().joined(separator: " ") ?? "every app")),
            ("environments", .text(policy.environments.map(\.rawValue).sorted().joined(separator: " "))),
            ("roots", .text(roots)),
        ]
    }

    /// Reads the configuration that options name, with the files among them.
    package init(_ values: OptionTable.Values) throws(ConfigurationError) {
        var environments: Set<AppStoreEnvironment> = []
        for text in values.all("--environment") {
            switch text {
            case "production": environments.insert(.production)
            case "sandbox": environments.insert(.sandbox)
            default: throw ConfigurationError("--environment must be 'production' or 'sandbox', and is '\(text)'")
            }
        }
        if environments.isEmpty { environments = [.production] }
        trust = .apple
        let roots = values.all("--root")
        if let file = values["--xcode-root"] {
            for other in ["--root", "--environment"] where !values.all(other).isEmpty {
                throw ConfigurationError("--xcode-root and \(other) exclude each other")
            }
            trust = .storeKitTesting(try CertificateFile.anchors(in: file))
            environments = [.xcode, .localTesting]
        } else if !roots.isEmpty {
            trust = try CertificateFile.trust(in: roots)
        }
        let bundleIDs = values.all("--bundle-id")
        if bundleIDs.contains(where: \.isEmpty) { throw ConfigurationError("--bundle-id must not be empty") }
        policy = VerificationPolicy(
            bundleIDs: bundleIDs.isEmpty ? nil : Set(bundleIDs),
            appAppleID: try values.number("--app-apple-id", 1...Int.max).map { "\($0)" }, environments: environments)
        policy.allowsRSA1024TransactionReceipts = values["--allow-rsa-1024"] != nil
        for value in values.all("--distrust") {
            policy.distrusted.formUnion(try CertificateFile.fingerprints(value))
        }
        fillsLatestReceiptInfo = values["--latest-receipt-info"] != nil
        endOfNonRenewing = try Self.endOfNonRenewing(values.all("--non-renewing"))
    }

    private static func endOfNonRenewing(
        _ values: [String]
    ) throws(ConfigurationError) -> @Sendable (Purchase) -> Instant? {
        var lengths: [UTF8Bytes: Duration] = [:]
        for value in values {
            let parts = value.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, let days = Int(parts[1]), 1...36_500 ~= days else {
                throw ConfigurationError("--non-renewing must be such as 'com.example.season=90', and is '\(value)'")
            }
            guard lengths.updateValue(.seconds(86_400 * days), forKey: UTF8Bytes(String(parts[0]))) == nil else {
                throw ConfigurationError("--non-renewing names '\(parts[0])' twice")
            }
        }
        return { [lengths] purchase in
            lengths[UTF8Bytes(purchase.productID)].map(purchase.purchaseDate.advanced(by:))
        }
    }
}
