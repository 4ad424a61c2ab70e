import AppStoreReceiptTesting

// Genuine receipts that a verifier is not to accept.
extension Vector {
    private static func policy(
        _ file: String, _ pitfall: String?, _ code: String, _ why: String,
        base: [Step] = [], _ fault: Step...
    ) -> Vector {
        var vector = refused("receipts/\(file).der", pitfall, .policy, code, .nowhere, why)
        vector.base = base
        vector.fault = fault
        return vector
    }

    private static let device = String(repeating: "0123456789abcdef", count: 2)
    private static let deviceBytes = [UInt8](repeating: 0, count: 2).flatMap { _ in
        [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF] as [UInt8]
    }

    static let policies: [Vector] = [
        policy(
            "bundle-id-of-another-app", "1", "bundle-id-mismatch", "A genuine receipt of another app.",
            .receipt { $0.bundleID = "com.example.other" }),
        policy(
            "bundle-id-in-another-case", "1", "bundle-id-mismatch", "Bundle ids are compared byte for byte.",
            .receipt { $0.bundleID = "com.example.App" }),
        policy(
            "bundle-id-in-another-normalization", "1", "bundle-id-mismatch",
            "Letters that are equal for people in other bytes.",
            base: [
                .verifier { $0.bundleID = "com.example.caf\u{E9}" }, .receipt { $0.bundleID = "com.example.caf\u{E9}" },
            ],
            .receipt { $0.bundleID = "com.example.cafe\u{301}" }),
        policy(
            "bundle-id-missing", "24", "bundle-id-missing", "No bundle id is not any bundle id.",
            .receipt { $0.bundleID = nil }),
        policy(
            "bundle-id-empty", "24", "bundle-id-missing", "An empty bundle id is none.",
            .receipt { $0.bundleID = "" }),
        accepted(
            "receipts/bundle-id-waived.der", nil, "A verifier for the receipts of any app.",
            .verifier { $0.isAnyApp = true },
            .receipt { $0.bundleID = "com.example.other" }),
        policy(
            "sandbox-in-production", "1", "environment-mismatch",
            "Sandbox purchases cost nothing.", .receipt { $0.receiptType = "ProductionSandbox" }),
        policy(
            "production-in-sandbox", "1", "environment-mismatch", "The other way round.",
            base: [.verifier { $0.environments = ["sandbox"] }, .receipt { $0.receiptType = "ProductionSandbox" }],
            .receipt { $0.receiptType = "Production" }),
        policy(
            "xcode-in-production", "1", "environment-mismatch",
            "The payload says Xcode; that changes no check, and it is not accepted.",
            .receipt { $0.receiptType = "Xcode" }),
        policy(
            "environment-unknown", "1", "unknown-environment",
            "The payload says something unknown; no check is dropped.",
            .receipt { $0.receiptType = "Development" }),
        policy(
            "environment-missing", "1", "environment-missing", "The payload does not say where it comes from.",
            .receipt { $0.receiptType = nil }),
        policy(
            "environment-empty", "1", "environment-missing", "An empty receipt type.",
            .receipt { $0.receiptType = "" }),
        policy(
            "environment-in-lower-case", "1", "unknown-environment", "Receipt types are compared byte for byte.",
            .receipt { $0.receiptType = "production" }),
        accepted(
            "receipts/application-version-as-asked.der", nil, "The version that is asked for.",
            .verifier { $0.applicationVersion = "1.0" }),
        policy(
            "application-version-of-another", nil, "application-version-mismatch", "A receipt of another version.",
            base: [.verifier { $0.applicationVersion = "1.0" }], .receipt { $0.applicationVersion = "1.0.0" }),
        policy(
            "application-version-missing", nil, "application-version-mismatch",
            "A version is asked for, none is there.",
            base: [.verifier { $0.applicationVersion = "1.0" }], .receipt { $0.applicationVersion = nil }),
        accepted(
            "receipts/device-as-asked.der", nil, "The device that is asked for.",
            .verifier { $0.deviceIdentifier = device },
            .receipt { $0.deviceIdentifier = deviceBytes }),
        policy(
            "device-of-another", nil, "device-mismatch", "A receipt that was copied to another device.",
            base: [.verifier { $0.deviceIdentifier = device }, .receipt { $0.deviceIdentifier = deviceBytes }],
            .receipt { $0.deviceIdentifier = .init(repeating: 1, count: 16) }),
        policy(
            "device-hash-missing", nil, "device-mismatch", "A device is asked for, there is no hash.",
            base: [.verifier { $0.deviceIdentifier = device }, .receipt { $0.deviceIdentifier = deviceBytes }],
            .receipt { $0.deviceIdentifier = nil }),
        accepted(
            "receipts/age-as-allowed.der", nil, "A day old, and no more.",
            .verifier { options in
                options.now = "2025-06-16T12:00:00Z"
                options.maximumAge = 86_400_000
            }),
        policy(
            "age-exceeded", nil, "receipt-too-old", "A second more than a day old.",
            base: [
                .verifier { options in
                    options.now = "2025-06-16T12:00:00Z"
                    options.maximumAge = 86_400_000
                }
            ],
            .receipt { $0.creationDate = try date("2025-06-15T11:59:59Z") }),
        policy(
            "age-below-zero", nil, "receipt-from-the-future",
            "Made a second more than five minutes from now, where an age is asked for.",
            base: [
                .verifier { options in
                    options.now = "2025-06-15T12:00:00Z"
                    options.maximumAge = 86_400_000
                }
            ],
            .receipt { $0.creationDate = try date("2025-06-15T12:05:01Z") }),
        policy(
            "creation-date-in-the-future", nil, "receipt-from-the-future", "Made a second from now.",
            base: [
                .verifier { options in
                    options.now = "2025-06-15T12:00:00Z"
                    options.rejectsFutureDates = true
                }
            ],
            .receipt { $0.creationDate = try date("2025-06-15T12:00:01Z") }),
        policy(
            "purchase-date-in-the-future", nil, "receipt-from-the-future", "Bought a second from now.",
            base: [
                .verifier { options in
                    options.now = "2025-06-15T12:00:00Z"
                    options.rejectsFutureDates = true
                }
            ],
            .purchase { $0.purchaseDate = try date("2025-06-15T12:00:01Z") }),
        // StoreKit Testing: a verifier for nothing else.
        accepted(
            "receipts/xcode.ber", "1", "A receipt of StoreKit Testing in a verifier made for these.",
            .verifier { $0.storeKitTesting = ["storekit-testing.der"] }, storeKit),
        refused(
            "receipts/xcode-in-a-verifier-for-apple.ber", "1", .chain, "untrusted-chain",
            .node(Path.certificate(0)), "Whoever has an Xcode can sign this.", storeKit),
        refused(
            "receipts/xcode-signer-says-production.ber", "1", .policy, "environment-mismatch", .nowhere,
            "The signer of StoreKit Testing says Production.",
            base: [.verifier { $0.storeKitTesting = ["storekit-testing.der"] }, storeKit],
            .container { container, minting in
                var receipt = Forge.example
                receipt.encoding = .ber()
                container = try receipt.signedData(by: minting.forge.storeKitSigner)
            }),
        refused(
            "receipts/apple-in-a-verifier-for-xcode.der", "1", .chain, "untrusted-chain",
            .node(Path.certificate(0)), "A verifier for StoreKit Testing accepts nothing else, not even Apple's.",
            base: [.verifier { $0.storeKitTesting = ["storekit-testing.der"] }, storeKit],
            .container { container, minting in
                container = try Forge.example.signedData(by: minting.forge.authority)
            }),
        refused(
            "receipts/xcode-of-another-key.ber", "1", .chain, "untrusted-chain",
            .node(Path.certificate(0)), "The same names, another key.",
            base: [.verifier { $0.storeKitTesting = ["storekit-testing.der"] }, storeKit],
            .container { container, minting in
                let other = try StoreKitTestingSigner(key: minting.forge.key(.strangerLeaf))
                var receipt = Forge.example
                receipt.receiptType = "Xcode"
                container = try receipt.signedData(by: other)
            }),
    ]

    private static let storeKit = Step.receipt { receipt in
        receipt = ReceiptBuilder(
            bundleID: VerifierOptions.bundleID, environment: .xcode, purchases: receipt.purchases)
    }
}
