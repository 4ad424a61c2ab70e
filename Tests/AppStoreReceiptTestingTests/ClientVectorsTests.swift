import AppStoreReceipt
import Foundation
import TestSupport
import Testing

@testable import generate_vectors

/// `TestVectors/clients/`: what clients send instead of evidence or around it.
@Suite struct ClientVectorsTests {
    private static let expectations = Result {
        try JSONDecoder().decode([ClientExpectation].self, from: Tree.contents("clients/expectations.json"))
    }

    private static func verifier(isStrict: Bool = false) throws -> AppStoreVerifier {
        let verifier = try Tree.verifier(ClientVector.options)
        var policy = verifier.policy
        policy.requiresStrictForm = isStrict
        return try AppStoreVerifier(policy: policy, trust: verifier.trust)
    }

    private static func accepted() throws -> [(expectation: ClientExpectation, text: [UInt8])] {
        try expectations.get().filter { $0.verdict == "accepted" }.map { ($0, Array(try Tree.contents($0.file))) }
    }

    @Test(arguments: try expectations.get())
    func `what a client sent is unwrapped or named`(_ expectation: ClientExpectation) throws {
        let text = Array(try Tree.contents(expectation.file))
        #expect(ClientVerdict.of(text, by: try Self.verifier()) == expectation.expectedVerdict)
    }

    @Test func `there are forty shapes, all of which another code met before, or none`() throws {
        let all = try Self.expectations.get()
        #expect(all.count >= 40 && all.count { $0.verdict == "accepted" } >= 20)
        #expect(all.allSatisfy { $0.before != "verified" })
    }

    @Test func `every layer and every code has a shape`() throws {
        let all = try Self.expectations.get()
        let names = Set(all.flatMap { $0.unwrapped ?? [] })
        #expect(names == Set(Wrapper.allCases.map(\.rawValue)))
        let codes = Set(all.compactMap(\.code))
        #expect(codes == Set(InputError.Kind.ofClients.map(\.rawValue)))
    }

    @Test func `what is accepted is the evidence that was sent alone`() throws {
        let verifier = try Self.verifier()
        for (expectation, text) in try Self.accepted() {
            let alone = Unwrapper.evidence(in: text, verifier.policy.limits)
            let (wrapped, plain) = (try verifier.verify(text), try verifier.verify(alone))
            #expect(plain.unwrapped.isEmpty && plain.parts.count == wrapped.parts.count, "\(expectation.file)")
            #expect(wrapped.json.replacing(/"unwrapped":\[[^\]]*\],/, with: "") == plain.json, "\(expectation.file)")
            #expect(Unwrapper.evidence(in: alone, verifier.policy.limits) == alone)
        }
    }

    @Test func `strict form accepts none of them, and every refusal has a code`() throws {
        let strict = try Self.verifier(isStrict: true)
        for (expectation, text) in try Self.accepted() {
            let error = #expect(throws: VerificationError.self, "\(expectation.file)") { try strict.verify(text) }
            #expect(error?.category == .client && error?.unwrapped == [], "\(expectation.file)")
        }
    }

    @Test func `what Apple's servers send is never unwrapped`() throws {
        let verifier = try Self.verifier()
        for (expectation, text) in try Self.accepted() where expectation.kind == "transaction" {
            #expect(throws: VerificationError.self, "\(expectation.file)") { try verifier.verifyTransaction(text) }
            #expect(throws: VerificationError.self, "\(expectation.file)") { try verifier.verifyNotification(text) }
            #expect(throws: VerificationError.self, "\(expectation.file)") { try verifier.verifyRealtimeRequest(text) }
        }
    }

    @Test func `a receipt is unwrapped where only receipts are accepted`() throws {
        let verifier = try Self.verifier()
        for (expectation, text) in try Self.accepted() {
            switch expectation.kind {
            case "receipt" where expectation.file != "clients/react-native-jws-and-receipt.json":
                #expect(try verifier.verifyReceipt(text).verification.unwrapped == expectation.unwrapped ?? [])
            default: break
            }
        }
    }

    @Test func `everything that reads evidence unwraps it: decoding, batches, decisions, answers`() throws {
        let verifier = try Self.verifier()
        let responder = try VerifyReceiptResponder(policy: verifier.policy, trust: verifier.trust)
        for (expectation, text) in try Self.accepted() {
            let unwrapped = expectation.unwrapped ?? []
            #expect(try UnverifiedEvidence(decoding: text).unwrapped == unwrapped, "\(expectation.file)")
            #expect(try verifier.verdict(on: text).result.get().unwrapped == unwrapped, "\(expectation.file)")
            #expect(verifier.decision(on: [text]).refusals.isEmpty, "\(expectation.file)")
            let status = responder.answer(to: text).status
            #expect(status == (expectation.kind == "transaction" ? .malformedReceipt : .valid), "\(expectation.file)")
        }
    }

    @Test func `names are counted`() throws {
        let verifier = try Self.verifier()
        var expected: [String: UInt64] = [:]
        for expectation in try Self.expectations.get() {
            _ = try? verifier.verify(Array(Tree.contents(expectation.file)))
            for name in expectation.unwrapped ?? [] { expected[name, default: 0] += 1 }
        }
        #expect(verifier.counts.unwrapped == expected)
    }
}
