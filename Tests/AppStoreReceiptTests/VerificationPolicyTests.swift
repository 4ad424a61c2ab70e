import AppStoreReceipt
import AppStoreReceiptTesting
import SignatureTrust
import TestSupport
import Testing

@Suite struct VerificationPolicyTests {
    private func code(
        _ policy: (inout VerificationPolicy) -> Void = { _ in }, _ receipt: (inout ReceiptBuilder) -> Void = { _ in }
    ) throws -> String? {
        let received = try ReceiptDraft.received { receipt(&$0.builder) }
        return try AppStoreVerifierTests.verifier(policy).code(received)
    }

    @Test(arguments: [
        "Production", "ProductionVPP", "ProductionSandbox", "ProductionVPPSandbox", "Xcode", "LocalTesting", "", "x",
    ])
    func `an environment is accepted by its two names, in the set that was asked for`(type: String) throws {
        let environment = AppStoreEnvironment(receiptType: type)
        for environments in [[.production], [.sandbox], [.production, .sandbox]] as [Set<AppStoreEnvironment>] {
            let code = try code({ $0.environments = environments }, { $0.receiptType = type })
            switch environment {
            case nil: #expect(code == (type.isEmpty ? "environment-missing" : "unknown-environment"))
            case let environment?: #expect(code == (environments.contains(environment) ? nil : "environment-mismatch"))
            }
        }
    }

    @Test func `the default limits are those that the documentation states`() {
        let limits = VerificationLimits()
        #expect(limits.maximumReceiptByteCount == 64 << 20 && limits.maximumJWSByteCount == 1 << 20)
        #expect(limits.maximumTransactionReceiptByteCount == 1 << 20)
        #expect(limits.maximumCertificateCount == 16 && limits.maximumPurchaseCount == 1_000_000)
    }

    @Test func `base64 in JSON is refused by its size, also where another kind of evidence may be larger`() throws {
        let verifier = try AppStoreVerifierTests.verifier { $0.limits.maximumReceiptByteCount = 1000 }
        let body = "{\"receipt-data\":\"" + String(repeating: "M", count: 100_000) + "\"}"
        let error = #expect(throws: VerificationError.self) { try verifier.verify(body) }
        // Where the string is longer than twice the limit and 64 KiB.
        #expect(error?.code == .inputTooLarge && error?.offset == 17 + 2 * 1000 + (64 << 10))
    }

    @Test func `a bundle id is one of those given, byte for byte`() throws {
        for (accepted, bundleID, code) in [
            (["com.example.app"], "com.example.app", nil), (["a", "com.example.app"], "com.example.app", nil),
            (["com.example.app"], "com.example.App", "bundle-id-mismatch"),
            (["com.example.app"], "com.example.app ", "bundle-id-mismatch"),
            (["com.example.app"], "com.example.app\0", "bundle-id-mismatch"),
            (["com.example.*"], "com.example.app", "bundle-id-mismatch"),
            (["com.example.caf\u{E9}"], "com.example.cafe\u{301}", "bundle-id-mismatch"),
        ] as [(Set<String>, String, String?)] {
            #expect(try self.code({ $0.bundleIDs = accepted }, { $0.bundleID = bundleID }) == code)
        }
        // Waived: any, and none.
        #expect(try self.code({ $0.bundleIDs = nil }, { $0.bundleID = "anything" }) == nil)
        #expect(try self.code({ $0.bundleIDs = nil }, { $0.bundleID = nil }) == nil)
        #expect(try self.code({ $0.bundleIDs = ["com.example.app"] }, { $0.bundleID = "" }) == "bundle-id-missing")
    }

    @Test func `version and device are checked when they are given`() throws {
        let verifier = try AppStoreVerifierTests.verifier()
        let received = try ReceiptDraft.received()
        let device = ReceiptBuilder.defaultDeviceIdentifier
        func code(_ version: String?, _ device: [UInt8]?, _ received: [UInt8] = received) -> String? {
            do throws(VerificationError) {
                _ = try verifier.verifyReceipt(received, applicationVersion: version, deviceIdentifier: device)
                return nil
            } catch {
                return error.code.rawValue
            }
        }
        #expect(code(nil, nil) == nil && code("1.0", device) == nil)
        #expect(code("1.0.0", nil) == "application-version-mismatch" && code("", nil) == "application-version-mismatch")
        #expect(code(nil, []) == "device-mismatch" && code(nil, device + [0]) == "device-mismatch")
        #expect(code("2", []) == "application-version-mismatch")
        let without = try ReceiptDraft.received {
            $0.builder.applicationVersion = nil
            $0.builder.opaqueValue = nil
        }
        #expect(
            code("1.0", nil, without) == "application-version-mismatch"
                && code(nil, device, without) == "device-mismatch")
        #expect(code(nil, nil, without) == nil)
    }

    @Test func `a receipt may be as old as allowed, by its own date and the given clock`() throws {
        let created = ReceiptBuilder.defaultCreationDate.millisecondsSince1970
        for (now, maximum, code) in [
            (created + 1000, 1000, nil), (created + 1001, 1000, "receipt-too-old"), (created, 0, nil),
            (created + 1, 0, "receipt-too-old"), (created, -1, "receipt-too-old"), (.max, .max, nil),
            // Clocks may differ by five minutes.
            (created - 1, 0, nil), (created - 300_000, 1000, nil),
            (created - 300_001, 1000, "receipt-from-the-future"), (.min, .max, "receipt-from-the-future"),
            (created - 300_001, -400_000, "receipt-from-the-future"),
        ] as [(Int64, Int64, String?)] {
            let found = try self.code({
                $0.maximumAge = .milliseconds(maximum)
                $0.clock = { Instant(millisecondsSince1970: now) }
            })
            #expect(found == code, "\(now) \(maximum)")
        }
    }

    @Test func `a policy that limits no age asks no clock`() throws {
        let found = try code({
            $0.clock = {
                Issue.record("The clock was asked.")
                return .distantFuture
            }
        })
        #expect(found == nil)
    }

    @Test func `nothing in a receipt may lie in the future, by its own date and the given clock, if that is asked for`()
        throws
    {
        let created = ReceiptBuilder.defaultCreationDate.millisecondsSince1970
        func code(_ now: Int64, isAsked: Bool = true, _ change: (inout ReceiptBuilder) -> Void = { _ in }) throws
            -> String?
        {
            try self.code(
                {
                    $0.allowsFutureDates = !isAsked
                    $0.clock = { Instant(millisecondsSince1970: created + now) }
                }, change)
        }
        #expect(try code(0) == nil && code(1000) == nil)
        #expect(try code(-1) == "receipt-from-the-future" && code(-1, isAsked: false) == nil)
        let dates: [WritableKeyPath<ReceiptBuilder, Instant?>] = [
            \.originalCreationDate, \.originalPurchaseDate, \.purchases[0].purchaseDate,
            \.purchases[0].originalPurchaseDate,
            \.purchases[0].revocationDate,
        ]
        for date in dates {
            for (offset, expected) in [(0, nil), (999, nil), (1000, "receipt-from-the-future")] as [(Int64, String?)] {
                let change = { (builder: inout ReceiptBuilder) in
                    builder[keyPath: date] = Instant(millisecondsSince1970: created + offset)
                }
                // Whatever the clock says, the receipt cannot know what comes after it.
                #expect(try code(1_000_000, change) == expected)
                #expect(try code(1_000_000, isAsked: false, change) == nil)
            }
        }
        // These are meant to.
        #expect(
            try code(0) {
                $0.expirationDate = Instant(millisecondsSince1970: created + 1000)
                $0.purchases[0].expiresDate = Instant(millisecondsSince1970: created + 1000)
            } == nil)
    }

    /// PITFALLS 14 and 20b.
    @Test func `the chain is judged at the creation date, unless another is chosen`() throws {
        let expiry = Instant(millisecondsSince1970: 1_750_000_000_000)
        func code(_ change: @escaping (inout VerificationPolicy) -> Void) throws -> (String?, Instant?) {
            let received = try ReceiptDraft.received {
                try $0.reissue { $0.leaf.notAfter = expiry }
                // Attribute 8 is not the date that counts.
                $0.builder.originalCreationDate = Instant(millisecondsSince1970: 1_900_000_000_000)
            }
            let verifier = try AppStoreVerifierTests.verifier(change)
            return (verifier.code(received), try? verifier.verifyReceipt(received).verification.validationDate)
        }
        let late: @Sendable () -> Instant = { Instant(millisecondsSince1970: 1_760_000_000_000) }
        let early: @Sendable () -> Instant = { Instant(millisecondsSince1970: 1_740_000_000_000) }
        #expect(try code { $0.clock = late } == (nil, ReceiptBuilder.defaultCreationDate))
        #expect(
            try code {
                $0.validationDate = .now; $0.clock = late
            } == ("certificate-expired", nil))
        #expect(
            try code {
                $0.validationDate = .now; $0.clock = early
            } == (nil, early()))
        #expect(try code { $0.validationDate = .at(late()) } == ("certificate-expired", nil))
        #expect(try code { $0.validationDate = .at(early()) } == (nil, early()))
        #expect(
            try code { $0.validationDate = .at(Instant(millisecondsSince1970: 0)) } == (
                "certificate-not-yet-valid", nil
            ))
    }

    /// PITFALLS 20b: never *now* in place of a missing date.
    @Test func `the creation date is required, whatever date the chain is judged at`() throws {
        for date in [VerificationPolicy.ValidationDate.now, .at(ReceiptBuilder.defaultCreationDate)] {
            #expect(try code({ $0.validationDate = date }, { $0.creationDate = nil }) == "creation-date-missing")
        }
    }

    @Test func `algorithms, distrust and limits are the policy's`() throws {
        let received = try ReceiptDraft.received()
        let leaf = try Fingerprint(of: Minted.authority.leaf.certificate.span)
        #expect(try code({ $0.distrusted = [leaf] }) == "distrusted-certificate")
        #expect(try code({ $0.algorithms.allowsSHA1 = false }, { $0.digest = .sha1 }) == "weak-algorithm")
        #expect(try code({ $0.algorithms.rsaKeySizes = 2048...2048 }) == nil)
        let error = #expect(throws: VerificationError.self) {
            try AppStoreVerifierTests.verifier { $0.algorithms.rsaKeySizes = 3072...4096 }
        }
        #expect(error?.code == .unusableTrustAnchor)
        #expect(try code({ $0.limits.maximumReceiptByteCount = received.count }) == nil)
        #expect(try code({ $0.limits.maximumReceiptByteCount = received.count - 1 }) == "input-too-large")
        #expect(try code({ $0.limits.maximumCertificateCount = 3 }) == nil)
        #expect(try code({ $0.limits.maximumCertificateCount = 2 }) == "too-many-elements")
        #expect(try code({ $0.limits.maximumPurchaseCount = 1 }) == nil)
        #expect(try code({ $0.limits.maximumPurchaseCount = 0 }) == "too-many-elements")
    }

    @Test func `narrowed algorithms do without some of Apple's roots, but not without all`() throws {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        for kinds in [[.rsaPKCS1, .ecdsa], .rsaPKCS1, .ecdsa] as [SignatureKinds] {
            policy.algorithms.kinds = kinds
            #expect(throws: Never.self) { try AppStoreVerifier(policy: policy) }
        }
        policy.algorithms.kinds = []
        let error = #expect(throws: VerificationError.self) { try AppStoreVerifier(policy: policy) }
        #expect(error?.code == .unusableTrustAnchor)
    }

    /// A file of roots may have a whole chain.
    @Test func `a root that cannot be used makes no verifier, and its place and fault are named`() throws {
        let (rsa, elliptic) = try (Minted.authority, Minted.ellipticAuthority)
        let weak = try TestCertificateAuthority(
            rootKey: SigningKey(generating: .rsa(bits: 1024)), intermediateKey: rsa.intermediate.key,
            leafKey: rsa.leaf.key)
        let notRoot = SignatureTrustError.Kind.anchorNotSelfSigned.explanation
        let weakKey = SignatureTrustError.Kind.weakKey.explanation
        let rows: [(roots: [SigningIdentity], place: Int, fault: String)] = [
            ([rsa.root, rsa.intermediate], 2, notRoot), ([rsa.intermediate, rsa.root], 1, notRoot),
            ([rsa.intermediate], 1, notRoot), ([elliptic.root, elliptic.intermediate], 2, notRoot),
            ([rsa.root, elliptic.root, weak.root], 3, weakKey), ([weak.root], 1, weakKey),
        ]
        for (roots, place, fault) in rows {
            let trust = AppStoreTrust.roots(try roots.map { try TrustAnchor(der: $0.certificate) })
            let error = #expect(throws: VerificationError.self) {
                try AppStoreVerifier(bundleID: Minted.bundleID, environments: [.production], trust: trust)
            }
            #expect(error?.code == .unusableTrustAnchor && error?.stage == .verifier)
            #expect(error?.found == "certificate \(place): \(fault)")
            let answers = #expect(throws: VerificationError.self) {
                try VerifyReceiptResponder(answeringForEveryAppIn: [.production], trust: trust)
            }
            #expect(answers == error)
        }
    }

    @Test func `a verifier that could accept nothing, or the wrong thing, is not made`() throws {
        let root = try Minted.authority.trustAnchor
        let rows: [(Set<AppStoreEnvironment>, AppStoreTrust, ConfigurationFault?, found: String?)] = [
            ([], .apple, .noEnvironment, "environments: []"),
            ([], .storeKitTesting([root]), .noEnvironment, "environments: []"),
            ([.xcode], .apple, .environmentNotOfTrust, "environments: xcode"),
            ([.production, .xcode], .apple, .environmentNotOfTrust, "environments: xcode"),
            ([.xcode, .localTesting], .apple, .environmentNotOfTrust, "environments: local-testing"),
            ([.xcode], .roots([root]), .environmentNotOfTrust, "environments: xcode"),
            ([.production], .storeKitTesting([root]), .environmentNotOfTrust, "environments: production"),
            ([.xcode, .sandbox], .storeKitTesting([root]), .environmentNotOfTrust, "environments: sandbox"),
            ([.production], .roots([]), .noTrustAnchor, "trust: .roots([])"),
            ([.xcode], .storeKitTesting([]), .noTrustAnchor, "trust: .storeKitTesting([])"),
            ([.production, .sandbox], .apple, nil, nil), ([.sandbox], .roots([root]), nil, nil),
            ([.xcode], .storeKitTesting([root]), nil, nil),
        ]
        for (environments, trust, fault, found) in rows {
            do throws(VerificationError) {
                _ = try AppStoreVerifier(bundleID: "com.example.app", environments: environments, trust: trust)
                #expect(fault == nil)
            } catch {
                #expect(error == fault.map { .configuration($0, found: found) })
                #expect(error.found == found && error.stage == .verifier)
            }
        }
        let bundleIDs: [(Set<String>?, found: String?)] = [
            (nil, nil), ([], "bundleIDs: []"), ([""], "bundleIDs: [\"\"]"),
            (["com.example.app", ""], "bundleIDs: [\"\"]"),
        ]
        for (bundleIDs, found) in bundleIDs {
            let policy = VerificationPolicy(bundleIDs: bundleIDs, environments: [.production])
            do throws(VerificationError) {
                _ = try AppStoreVerifier(policy: policy, trust: .roots([root]))
                #expect(found == nil)
            } catch {
                #expect(error == .configuration(.noBundleID, found: found) && found != nil)
            }
        }
    }
}

/// PITFALLS 1: the caller's trust decides which checks apply, never the payload.
@Suite struct StoreKitTestingTests {
    private func verifier(_ certificates: [TrustAnchor]) throws -> AppStoreVerifier {
        try AppStoreVerifier(bundleID: "com.example.app", environments: [.xcode], trust: .storeKitTesting(certificates))
    }

    private func builder(_ environment: ReceiptBuilder.ReceiptType = .xcode) -> ReceiptBuilder {
        ReceiptBuilder(bundleID: "com.example.app", environment: environment)
    }

    @Test func `a receipt of StoreKit Testing verifies in a verifier made for nothing else, which says so`() throws {
        let signer = try Minted.storeKit
        let receipt = try verifier([signer.trustAnchor]).verifyReceipt(builder().signed(by: signer))
        #expect(receipt.environment == .xcode && receipt.verification.authority == .storeKitTesting)
        #expect(try receipt.verification.signer == Fingerprint(of: signer.identity.certificate.span))
        #expect(receipt.verification.anchor == receipt.verification.signer)
    }

    @Test func `such a signer cannot sign for another environment, nor another signer for Xcode`() throws {
        let signer = try Minted.storeKit
        let verifier = try verifier([signer.trustAnchor])
        for environment in ReceiptBuilder.ReceiptType.allCases where environment != .xcode {
            #expect(try verifier.code(builder(environment).signed(by: signer)) == "environment-mismatch")
        }
        let authority = try Minted.authority
        for environment in ReceiptBuilder.ReceiptType.allCases {
            #expect(try verifier.code(builder(environment).signed(by: authority)) == "untrusted-chain")
        }
        let stranger = try StoreKitTestingSigner()
        #expect(try verifier.code(builder().signed(by: stranger)) == "untrusted-chain")
    }

    @Test func `a payload that says Xcode gets no easier checks elsewhere`() throws {
        let signer = try Minted.storeKit
        let received = try builder().signed(by: signer)
        let all: Set<AppStoreEnvironment> = [.production, .sandbox]
        #expect(
            try AppStoreVerifier(bundleID: "com.example.app", environments: all).code(received) == "untrusted-chain")
        let roots = try AppStoreVerifier(
            bundleID: "com.example.app", environments: all,
            trust: .roots([signer.trustAnchor, Minted.authority.trustAnchor]))
        for environment in ReceiptBuilder.ReceiptType.allCases {
            let error = #expect(throws: VerificationError.self) {
                try roots.verifyReceipt(builder(environment).signed(by: signer))
            }
            #expect(error?.stage == .chain)
        }
        #expect(try roots.code(builder(.xcode).signed(by: Minted.authority)) == "environment-mismatch")
    }
}
