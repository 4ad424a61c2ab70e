import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable @_spi(Surfaces) import AppStoreReceipt
@testable import SignatureTrust

/// What an error tells a person: what is wrong, which value was found, and which are accepted.
@Suite struct VerificationErrorTextTests {
    /// What each kind of evidence says of its app and environment.
    struct Claim: CustomTestStringConvertible, Sendable {
        let kind: String
        var hasBundleID = true
        /// Signed evidence that says so.
        let evidence: @Sendable (_ bundleID: String, _ environment: String) throws -> [UInt8]

        var testDescription: String { kind }

        private static func jws(
            _ kind: String, hasBundleID: Bool = true, environment member: String = "environment",
            _ builder: @escaping @Sendable (String) -> JWSBuilder
        ) -> Claim {
            Claim(kind: kind, hasBundleID: hasBundleID) { bundleID, environment in
                var builder = builder(bundleID)
                if builder.payload["data"] == nil {
                    builder.payload[member] = .string(environment)
                } else {
                    builder.payload["data"]?[member] = .string(environment)
                }
                return Array(try Minted.jws(builder).utf8)
            }
        }

        static let all = [
            Claim(kind: "receipt") { bundleID, environment in
                var builder = ReceiptBuilder(bundleID: bundleID)
                builder.receiptType = environment == "Sandbox" ? "ProductionSandbox" : environment
                return try builder.signed(by: Minted.authority)
            },
            jws("transaction") { .transaction(bundleID: $0, productID: "pro", transactionID: "1") },
            jws("app transaction", environment: "receiptType") { .appTransaction(bundleID: $0) },
            jws("notification") { .notification(.test, bundleID: $0) },
            jws("renewal information", hasBundleID: false) { _ in
                .renewalInfo(productID: "pro", originalTransactionID: "1")
            },
            jws("real-time request", hasBundleID: false) { _ in
                .realtimeRequest(productID: "pro", originalTransactionID: "1")
            },
        ]
    }

    private func error(_ verifier: AppStoreVerifier, _ evidence: [UInt8]) -> VerificationError? {
        do throws(VerificationError) {
            _ = try verifier.verify(evidence)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: Claim.all)
    func `a genuine bundle id or environment that is refused is named, with what is accepted`(claim: Claim) throws {
        let verifier = try Minted.verifier(environments: [.production]) {
            $0.bundleIDs = ["com.example.b", "com.example.app"]
            $0.appAppleID = "1234567890"
        }
        #expect(try error(verifier, claim.evidence(Minted.bundleID, "Production")) == nil)

        let other = try error(verifier, claim.evidence("com.example.other", "Production"))
        #expect(
            other
                == (claim.hasBundleID
                    ? .policy(
                        .bundleIDMismatch, found: "com.example.other", expected: "com.example.app, com.example.b")
                    : nil))

        let sandbox = try error(verifier, claim.evidence(Minted.bundleID, "Sandbox"))
        #expect(sandbox == .policy(.environmentMismatch, found: "sandbox", expected: "production"))
        #expect(sandbox?.found == "sandbox" && sandbox?.expected == "production")
        #expect(sandbox?.description.hasSuffix(#": found "sandbox", expected "production""#) == true)

        let unknown = try error(verifier, claim.evidence(Minted.bundleID, "Staging"))
        #expect(unknown == .policy(.unknownEnvironment, found: "Staging"))
        #expect(unknown?.description.hasSuffix(#": found "Staging""#) == true)
    }

    @Test func `what is missing is not found, and what was expected is still named`() throws {
        var builder = ReceiptBuilder(bundleID: "")
        builder.bundleID = nil
        let receipt = try builder.signed(by: Minted.authority)
        let missing = try error(Minted.verifier(), receipt)
        #expect(missing == .policy(.missingBundleID, expected: Minted.bundleID))
        #expect(missing?.description.hasSuffix(#": expected "com.example.app""#) == true)

        let app = JWSBuilder.appTransaction(bundleID: Minted.bundleID)
        let verifier = try Minted.verifier { $0.appAppleID = "987" }
        #expect(
            try error(verifier, Array(Minted.jws(app).utf8))
                == .policy(.appAppleIDMismatch, found: "1234567890", expected: "987"))
        let version = #expect(throws: VerificationError.self) {
            try Minted.verifier().verifyReceipt(
                ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority), applicationVersion: "2")
        }
        #expect(version == .policy(.applicationVersionMismatch, found: "1.0", expected: "2"))
    }

    @Test func `dates that are too old or in the future are named, with the nearest that is accepted`() throws {
        let created = ReceiptBuilder.defaultCreationDate
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        let now = created + .seconds(7_200)
        let old = try error(
            Minted.verifier {
                $0.maximumAge = .seconds(3_600)
                $0.clock = { now }
            }, receipt)
        #expect(
            old == .policy(.receiptTooOld, found: "\(created)", expected: "since \(created + .seconds(3_600))"))
        let early = try error(
            Minted.verifier {
                $0.allowsFutureDates = false
                $0.clock = { created - .seconds(1) }
            }, receipt)
        #expect(
            early
                == .policy(.receiptFromTheFuture, found: "\(created)", expected: "until \(created - .seconds(1))"))
        var builder = ReceiptBuilder(bundleID: Minted.bundleID)
        builder.purchases = [.consumable("coins", transactionID: "1")]
        builder.purchases[0].revocationDate = created + .seconds(60)
        let later = try error(
            Minted.verifier { $0.allowsFutureDates = false }, builder.signed(by: Minted.authority))
        #expect(
            later
                == .policy(.receiptFromTheFuture, found: "\(created + .seconds(60))", expected: "until \(created)"))
    }

    @Test func `what was cut off is told with its place, as it is written`() throws {
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        let cut = try error(Minted.verifier(), Array(receipt.prefix(1_000)))
        #expect(
            cut?.description
                == #"the evidence was cut off: found "1000 bytes", expected "\#(receipt.count) bytes" "#
                + "(container › ContentInfo at byte 0 of the binary receipt)")
    }

    @Test(arguments: [Duration(attoseconds: .max), Duration(attoseconds: .min), .seconds(Int64.max), .zero])
    func `the longest durations are ages like any other`(maximum: Duration) throws {
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        let verifier = try Minted.verifier { $0.maximumAge = maximum }
        #expect(error(verifier, receipt)?.code == (maximum > .zero ? nil : .receiptTooOld))
    }

    @Test func `nothing is named that nobody trusted has signed`() throws {
        for claim in Claim.all {
            let verifier = try Minted.verifier(Minted.stranger, Minted.ellipticStranger, environments: [.production])
            let refused = try error(verifier, claim.evidence("com.example.other", "Staging"))
            #expect(refused?.code == .untrustedChain && refused?.found == nil && refused?.expected == nil)
        }
    }

    @Test func `an error in a part of a notification names the part and what it says`() throws {
        let other = JWSBuilder.transaction(bundleID: "com.example.other", productID: "pro", transactionID: "1")
        let notification = try JWSBuilder.notification(
            .refund, bundleID: Minted.bundleID, transaction: Minted.jws(other))
        let refused = try error(Minted.verifier(), Array(Minted.jws(notification).utf8))
        #expect(refused?.part == .transactionInfo && refused?.found == "com.example.other")
        #expect(
            refused?.description.hasSuffix(
                #": found "com.example.other", expected "com.example.app" (signedTransactionInfo)"#) == true)
    }

    @Test func `JSON has the description as its message, for strangers without what the settings accept`() throws {
        func message(_ error: VerificationError, _ audience: Audience) throws -> String? {
            let object =
                try JSONSerialization.jsonObject(with: Data(error.json(for: audience).utf8)) as? [String: Any]
            return (object?["error"] as? [String: Any])?["message"] as? String
        }
        for error in Self.all + [.policy(.bundleIDMismatch, found: "com.example.other", expected: "com.example.app")] {
            for audience in [Audience.swift, .httpClient] + Surface.allCases.map({ .user(of: $0) }) {
                #expect(try message(error, audience) == error.description)
            }
            let told = try message(error, .httpStranger)
            #expect(error.stage == .policy || told == error.description)
        }
        let missing = VerificationError.policy(.missingBundleID, expected: "com.example.app")
        #expect(try message(missing, .httpStranger) == missing.explanation)
        let other = VerificationError.policy(.bundleIDMismatch, found: "com.example.other", expected: "com.example.app")
        #expect(try message(other, .httpStranger) == other.explanation + #": found "com.example.other""#)
    }

    // MARK: Strings of strangers

    /// A developer chooses bundle ids, and whoever holds a key of a test authority anything.
    static let hostile = [
        String(repeating: "a", count: 500_000), String(repeating: "\u{1F600}", count: 10_000),
        "a\nREFUSED\r\n\u{0}b", "\u{1B}[2J\u{9B}31m", "\u{202E}moc.elpmaxe\u{2066}\u{200B}\u{FEFF}\u{2028}",
        "\"quoted\" and \\", "cafe\u{301}", "\u{7F}\u{85}\u{E000}\u{E0041}",
    ]

    @Test(arguments: hostile.indices)
    func `a description is one short line of printable ASCII, whatever was found and expected`(index: Int) throws {
        let text = Self.hostile[index]
        for accepted in [["com.example.app"], [text + "x"]] as [Set<String>] {
            let verifier = try Minted.verifier { $0.bundleIDs = accepted }
            for claim in Claim.all.prefix(2) {
                let refused = try #require(try error(verifier, claim.evidence(text, "Production")))
                // The property has the text as it was signed.
                #expect(refused.found?.utf8.elementsEqual(text.utf8) == true)
                let description = refused.description
                #expect(description.unicodeScalars.allSatisfy { $0 == "…" || 0x20..<0x7F ~= $0.value })
                #expect(description.count < 2_000, "\(description.count)")
                #expect(description == "\(refused)" && description == String(reflecting: refused))
                if text.utf8.count > 128 { #expect(description.contains("…\"")) }
                // JSON has all of it, with what hides escaped.
                let json = try JSONSerialization.jsonObject(with: Data(refused.json.utf8)) as? NSDictionary
                let found = (json?["error"] as? NSDictionary)?["found"] as? String
                #expect(found.map { Array($0.utf8) } == Array(text.utf8))
                #expect(!refused.json.unicodeScalars.contains { $0.value < 0x20 || 0x7F...0x9F ~= $0.value })
                #expect(!refused.json.unicodeScalars.contains { ["\u{202E}", "\u{2066}", "\u{2028}"].contains($0) })
            }
        }
    }

    // MARK: Every error

    static let all = VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) })

    @Test func `every error says what is wrong in one clause, and its description begins with that`() {
        for error in Self.all {
            let explanation = error.explanation
            #expect(explanation.count > 10 && explanation.allSatisfy { !$0.isNewline }, "\(error.code)")
            #expect(!explanation.hasSuffix(".") && explanation.first != " ", "\(explanation)")
            #expect(error.description.hasPrefix(explanation), "\(error)")
        }
    }

    @Test func `every error says what to do about it in terms of the library, and none of the command's`() {
        for error in Self.all {
            let advice = error.advice
            #expect(advice.hasSuffix(".") && advice.count > 20, "\(error.code): \(advice)")
            #expect(!advice.contains(" --") || advice.contains("update-crypto-policies --set"), "\(advice)")
        }
    }
}
