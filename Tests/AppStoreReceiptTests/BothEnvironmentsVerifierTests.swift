import AppStoreReceiptTesting
import TestSupport
import Testing

@testable import AppStoreReceipt

struct BothEnvironmentsVerifierTests {
    private let verifier: BothEnvironmentsVerifier

    init() throws { verifier = try AppStoreVerifier.both(bundleID: Minted.bundleID, trust: Minted.trust) }

    private func transaction(_ environment: AppStoreEnvironment, _ bundleID: String = Minted.bundleID) throws -> String
    {
        try JWSBuilder.transaction(
            bundleID: bundleID, productID: "pro", transactionID: "1", environment: environment
        ).signed(by: Minted.ellipticAuthority)
    }

    @Test func `evidence is told apart by the environment that signed it`() throws {
        guard case .production(let paid) = try verifier.verify(transaction(.production)) else {
            Issue.record("not of production")
            return
        }
        #expect(paid.environment == .production && paid.purchases.map(\.environment) == [.production])
        guard case .sandbox(let tried) = try verifier.verify(transaction(.sandbox)) else {
            Issue.record("not of the sandbox")
            return
        }
        #expect(tried.environment == .sandbox)
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID, environment: .sandbox)
            .signed(by: Minted.authority)
        guard case .sandbox = try verifier.verify(receipt) else {
            Issue.record("not of the sandbox")
            return
        }
        #expect(verifier.counts.verified == 3)
    }

    @Test func `a policy decides all but the environments`() throws {
        let policy = VerificationPolicy(bundleIDs: [Minted.bundleID], environments: [.xcode])
        let verifier = try AppStoreVerifier.both(policy: policy, trust: Minted.trust)
        for environment in [AppStoreEnvironment.production, .sandbox] {
            let evidence =
                switch try verifier.verify(transaction(environment)) {
                case .production(let evidence), .sandbox(let evidence): evidence
                }
            #expect(evidence.environment == environment)
        }
        #expect(throws: VerificationError.self) { try verifier.verify(transaction(.production, "com.example.other")) }
    }

    @Test func `another app, a forgery and another environment are refused`() throws {
        func code(_ evidence: String) -> VerificationError.Code? {
            do throws(VerificationError) {
                _ = try verifier.verify(evidence)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(try code(transaction(.production, "com.example.other")) == .bundleIDMismatch)
        #expect(try code(transaction(.production).dropLast(8) + "AAAAAAAA") == .invalidSignature)
        #expect(try code(transaction(.xcode)) == .environmentMismatch)
        // It names no environment, and nobody knows whether anyone paid.
        let unclaim = JWSBuilder.notification(
            .unclaimSeats, about: "unclaimInfo", .object([.init("unclaimSeatIds", ["1"])]))
        let alone = try AppStoreVerifier(
            bundleID: Minted.bundleID, environments: [.production, .sandbox], trust: Minted.trust)
        let jws = try unclaim.signed(by: Minted.ellipticAuthority)
        #expect(try alone.verify(jws).environment == nil)
        #expect(code(jws) == .environmentMissing)
        #expect(verifier.counts.verified == 0 && verifier.counts.refused[.environmentMissing] == 1)
    }

    @Test func `a notification is told apart by the environment that it names, if it names one`() throws {
        func notification(_ environment: AppStoreEnvironment) throws -> String {
            try JWSBuilder.notification(
                .refund, bundleID: Minted.bundleID, environment: environment, transaction: transaction(environment)
            ).signed(by: Minted.ellipticAuthority)
        }
        guard case .production(let paid) = try verifier.verifyNotification(notification(.production)),
            case .sandbox(let tried) = try verifier.verifyNotification(notification(.sandbox)),
            case .unnamed(let unclaim) = try verifier.verifyNotification(
                JWSBuilder.notification(
                    .unclaimSeats, about: "unclaimInfo", .object([.init("unclaimSeatIds", ["1"])])
                ).signed(by: Minted.ellipticAuthority))
        else {
            Issue.record("of another environment")
            return
        }
        #expect(paid.environment == .production && paid.transactionInfo?.payload.environment == .production)
        #expect(tried.environment == .sandbox && unclaim.environment == nil && unclaim.type == .unclaimSeats)
        #expect(verifier.counts.verified == 3)
        for (jws, code) in [
            (try notification(.xcode), .environmentMismatch), (try transaction(.production), .missingMember),
        ] as [(String, VerificationError.Code)] {
            let error = #expect(throws: VerificationError.self) { try verifier.verifyNotification(jws) }
            #expect(error?.code == code)
        }
    }

    @Test func `a decision is in one environment, and pieces of the other are refused`() throws {
        let pieces = [try transaction(.production), try transaction(.sandbox)]
        for (index, environment) in [AppStoreEnvironment.production, .sandbox].enumerated() {
            let decision = verifier.decision(on: pieces, in: environment)
            #expect(decision.entitlements.items.map(\.environment) == [environment])
            #expect(decision.refusals.map(\.index) == [1 - index])
            #expect(decision.refusals.first?.error.code == .environmentMismatch)
            #expect(decision.refusals.first?.error.expected == environment.rawValue && decision.httpStatus == 400)
        }
        // The sender is not at fault for evidence that names no environment and decides nothing.
        let unclaim = try JWSBuilder.notification(
            .unclaimSeats, about: "unclaimInfo", .object([.init("unclaimSeatIds", ["1"])])
        ).signed(by: Minted.ellipticAuthority)
        #expect(verifier.decision(on: [unclaim], in: .production).refusals.isEmpty)
    }
}
