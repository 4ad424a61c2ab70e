import TestSupport
import Testing

@testable @_spi(Surfaces) import AppStoreReceipt
@testable import SignatureTrust

struct AdviceTests {
    static let all = VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) })

    /// What only somebody who writes Swift has heard of.
    private static let swiftNames = [
        "VerificationPolicy", "VerificationLimits", "AppStoreTrust", "AlgorithmPolicy", "(_:",
    ]

    @Test(arguments: Surface.allCases)
    func `advice is in the words of its surface alone`(surface: Surface) {
        for error in Self.all {
            let advice = error.advice(for: .user(of: surface))
            #expect(advice.hasSuffix(".") && advice.count > 20, "\(error.stage) \(error.code): \(advice)")
            #expect(!advice.contains("operator"), "\(error.code): \(advice)")
            if surface != .swift {
                #expect(!Self.swiftNames.contains { advice.contains($0) }, "\(error.code): \(advice)")
            }
            if surface != .command, surface != .server {
                let words = advice.replacing("update-crypto-policies --set", with: "")
                #expect(!words.contains("--"), "\(error.code): \(advice)")
            }
        }
    }

    /// `VerifierSettings` of other languages refuse each of them as a value.
    @Test(arguments: Surface.allCases)
    func `no sentence has another language's word for nothing`(surface: Surface) {
        let words: Set<Substring> = ["nil", "None", "null", "undefined"]
        for error in Self.all where error.code != .leakedText {
            let sentences = error.explanation + " " + error.advice(for: .user(of: surface))
            let found = words.intersection(sentences.split { !$0.isLetter })
            #expect(found.isEmpty, "\(error.code): \(sentences)")
        }
    }

    @Test func `every setting of a surface is named as the table of settings names it`() {
        let error = VerificationError.policy(.bundleIDMismatch)
        for surface in Surface.allCases {
            guard let name = VerifierSetting.bundleIDs.name(on: surface) else { continue }
            #expect(error.advice(for: .user(of: surface)).contains(name), "\(surface)")
        }
        let old = VerificationError.policy(.receiptTooOld)
        #expect(old.advice(for: .user(of: .c)).contains("`maximum_age`"))
        #expect(old.advice(for: .user(of: .node)).contains("`maximumAge`"))
        #expect(old.advice(for: .user(of: .go)).contains("`MaximumAge`"))
    }

    @Test func `a sentence that names a setting is left out where there is no such setting`() {
        let setting = VerifierSetting.allCases.first { setting in
            Surface.allCases.contains { setting.name(on: $0) == nil }
        }
        guard let setting, let surface = Surface.allCases.first(where: { setting.name(on: $0) == nil }) else { return }
        let advice: Advice = ["Refuse it.", "To accept it, \(.use(setting))."]
        #expect(advice.text(for: .user(of: surface)) == "Refuse it.")
        #expect(advice.text(for: .swift).hasPrefix("Refuse it. To accept it, use `"))
    }

    @Test func `a client of the server is told what its operator can set`() {
        for error in Self.all {
            let (own, clients) = (error.advice(for: .user(of: .server)), error.advice(for: .httpClient))
            for setting in VerifierSetting.allCases {
                guard let name = setting.name(on: .server), own.contains("pass ") || own.contains("use --"),
                    own.contains(name), error.code != .distrustedCertificate
                else { continue }
                #expect(clients.contains("have the operator of the server "), "\(error.code): \(clients)")
            }
        }
        #expect(
            VerificationError.policy(.bundleIDMismatch).advice(for: .httpClient)
                == "If the app is yours, have the operator of the server pass its bundle id with --bundle-id. If it is not, refuse the evidence."
        )
    }

    @Test(
        arguments: [
            ("production", .apple, "pass --environment production"),
            ("production", .roots, "pass --environment production"),
            ("sandbox", .apple, "pass --environment sandbox"), ("xcode", .apple, "--xcode-root"),
            ("production", .storeKitTesting, "omit --xcode-root"), ("sandbox", .storeKitTesting, "omit --xcode-root"),
        ] as [(String, Audience.Trust, String)])
    func `advice on an environment names the option that accepts it`(
        found: String, trust: Audience.Trust, expected: String
    ) {
        let error = VerificationError.policy(.environmentMismatch, found: found, expected: "another")
        let advice = error.advice(for: Audience(.command, trust: trust))
        #expect(advice.contains(expected), "\(advice)")
        #expect(advice.contains("TestFlight") == (found == "sandbox" && trust != .storeKitTesting))
        // What is from production is not told to use the sandbox, in the API's terms either.
        #expect(error.advice.contains("TestFlight") == (found == "sandbox"))
    }

    @Test(arguments: [
        (SignatureTrustError.Kind.untrustedChain, Audience(.command, trust: .apple), "Apple did not sign"),
        (.untrustedChain, Audience(.command, trust: .roots), "omit --root"),
        (.untrustedChain, Audience(.command, trust: .storeKitTesting), "omit --xcode-root"),
        (.certificateExpired, Audience(.command, hasValidationDate: true), "omit --at"),
        (.certificateExpired, Audience(.command, hasValidationDate: false), "Refuse it"),
        (.certificateNotYetValid, Audience(.command, hasValidationDate: true), "omit --at"),
        (.distrustedCertificate, Audience(.command), "--distrust"),
        (.missingLeafMarker, Audience(.command, trust: .apple), "Apple did not sign"),
        (.missingLeafMarker, Audience(.command, trust: .roots), "Apple's signers are not like this"),
    ])
    func `advice on a chain fits the options that were given`(
        kind: SignatureTrustError.Kind, audience: Audience, expected: String
    ) {
        let advice = VerificationError.chain(SignatureTrustError(kind), of: .receipt).advice(for: audience)
        #expect(advice.contains(expected), "\(advice)")
    }

    @Test(arguments: Fault.Party.allCases)
    func `categories and statuses follow from who is at fault`(party: Fault.Party) {
        let faults = Self.all.filter { $0.fault.party == party }
        #expect(!faults.isEmpty)
        #expect(faults.allSatisfy { $0.category == party.category && $0.isHostFault == (party == .host) })
        // Of several pieces, only a host that cannot verify fails them all.
        #expect((party.categoryAmongOthers == .host) == (party == .host))
    }

    @Test func `what a trusted authority signed in a notification is not the client's fault`() {
        for error in Self.all {
            let part = VerificationError(error.reason, part: .transactionInfo)
            #expect(part.code == error.code && part.stage == error.stage)
            #expect((part.category == .client) == (error.stage == .policy), "\(error.stage) \(error.code)")
            #expect(part.category != .forgery)
        }
    }
}
