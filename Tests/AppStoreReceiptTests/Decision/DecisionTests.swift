import AppStoreReceiptTesting
import Foundation
import StrictText
import TestSupport
import Testing

@_spi(Surfaces) @testable import AppStoreReceipt

struct DecisionTests {
    private let date = Instant.now
    private let verifier: AppStoreVerifier
    private let receipt: [UInt8]
    private let forged: [UInt8]

    init() throws {
        verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: Minted.trust)
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")])
        receipt = try builder.signed(by: Minted.authority)
        forged = try builder.signed(by: Minted.stranger)
    }

    private func object(_ json: String) throws -> NSDictionary {
        try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary)
    }

    @Test func `the pieces that were verified are decided together, and each refusal names its piece`() throws {
        let decision = verifier.decision(on: [forged, receipt, [], receipt], at: date)
        #expect(decision.evidence.count == 2)
        #expect(decision.entitlements.date == date)
        #expect(decision.entitlements.items.map(\.transactionID) == ["1"])
        #expect(decision.refusals.map(\.index) == [0, 2])
        #expect(decision.refusals.map(\.error.code) == [.untrustedChain, .emptyInput])
    }

    @Test func `without a date it is decided for the present of the policy's clock`() throws {
        var policy = verifier.policy
        policy.clock = { Instant(millisecondsSince1970: 17) }
        let verifier = try AppStoreVerifier(policy: policy, trust: Minted.trust)
        #expect(verifier.decision(on: [receipt]).entitlements.date == Instant(millisecondsSince1970: 17))
    }

    @Test(
        arguments: [
            ([.production], nil), ([.production, .sandbox], "environment-not-named"), (nil, "environment-not-named"),
        ] as [(Set<AppStoreEnvironment>?, String?)])
    func `the environment of a decision is named, unless the policy accepts only one`(
        accepted: Set<AppStoreEnvironment>?, code: String?
    ) throws {
        let verifier = try AppStoreVerifier(
            bundleID: "com.example.app", environments: accepted, trust: Minted.trust)
        func itemCount(_ environment: AppStoreEnvironment?) throws(VerificationError) -> Int {
            try verifier.decision(on: [receipt], inEnvironment: environment, at: date).entitlements.items.count
        }
        #expect(try itemCount(.production) == 1)
        #expect(try itemCount(.sandbox) == 0)
        if let code {
            let error = #expect(throws: VerificationError.self) { try itemCount(nil) }
            #expect(error?.code.rawValue == code)
        } else {
            #expect(try itemCount(nil) == 1)
        }
    }

    @Test func `a decision without items says why there are none`() throws {
        let empty = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        let renewal = Array(
            try Minted.jws(.renewalInfo(productID: "pro", originalTransactionID: "1")).utf8)
        let minted = try Minted.verifier()
        for (pieces, nothing) in [
            ([empty], .emptyInApp), ([renewal], .noProduct), ([renewal, empty], .emptyInApp), ([], .noProduct),
            ([empty, Array(try Minted.jws(Minted.transaction).utf8)], nil),
        ] as [([[UInt8]], Entitlements.Nothing?)] {
            let decision = minted.decision(on: pieces)
            #expect(decision.entitlements.nothing == nothing)
            let accepted = pieces.indices.map { #"{"index":\#($0)}"# }.joined(separator: ",")
            let member = nothing.map {
                #","items":[],"subscriptions":[],"nothing":"\#($0.rawValue)","accepted":[\#(accepted)],"refused":[]}"#
            }
            #expect(member.map { decision.json.hasSuffix($0) } ?? !decision.json.contains(#""nothing""#))
        }
        #expect(try minted.verify(empty).json.hasSuffix(#"},"nothing":"empty-in-app"}"#))
        #expect(try minted.verify(renewal).json.hasSuffix(#"},"nothing":"no-product"}"#))
        #expect(try !minted.verify(Minted.jws(Minted.transaction)).json.contains(#""nothing""#))
    }

    @Test func `the JSON is that of the entitlements, with the errors that the pieces alone have`() throws {
        let decision = verifier.decision(on: [receipt, forged, []], at: date)
        let object = try object(decision.json)
        let entitlements = try self.object(decision.entitlements.json)
        for (name, value) in entitlements { #expect(object[name] as? NSObject == value as? NSObject, "\(name)") }
        #expect(
            Set(object.allKeys.compactMap { $0 as? String }) == [
                "schema", "at", "next_change", "items", "subscriptions", "accepted", "refused",
            ])
        #expect(object["accepted"] as? [[String: Int]] == [["index": 0]])
        let refused = try #require(object["refused"] as? [NSDictionary])
        #expect(refused.map { $0["index"] as? Int } == [1, 2])
        for (refusal, error) in zip(refused, decision.refusals.map(\.error)) {
            #expect(try refusal["error"] as? NSObject == self.object(error.json)["error"] as? NSObject)
            #expect(refusal.count == 2)
        }
    }

    @Test func `each piece says what it was in, whether it is accepted or refused`() throws {
        func wrapped(_ evidence: [UInt8]) -> [UInt8] {
            Array(#""{\"Store\":\"AppleAppStore\",\"Payload\":\"\#(Base64.encode(evidence.span))\"}""#.utf8)
        }
        let decision = verifier.decision(on: [wrapped(receipt), receipt, wrapped(forged)], at: date)
        let unwrapped = #","unwrapped":["json-string","unity"]"#
        #expect(
            decision.json.contains(
                #","accepted":[{"index":0\#(unwrapped)},{"index":1}],"refused":[{"index":2\#(unwrapped),"error":{"#))
    }

    @Test func `a place is a member of its own name, and a file that cannot be read has an error, too`() throws {
        let noEnvironment = VerificationError.configuration(.noEnvironment)
        let decision = Decision(
            [
                .init(.file("a"), .refused(noEnvironment)),
                .init(.file("b"), .unreadable(message: "no such file")),
                .init(.line(7), .unreadable(message: "torn")),
            ], at: date)
        var writer = JSONWriter()
        writer.decision(decision, for: .user(of: .command))
        let object = try object(String(decoding: writer.bytes, as: UTF8.self))
        let refused = try #require(object["refused"] as? [NSDictionary])
        #expect(refused.map { $0["file"] as? String } == ["a", "b", nil])
        #expect(refused.map { $0["line"] as? Int } == [nil, nil, 7])
        let errors = refused.map { $0["error"] as? NSDictionary }
        #expect(errors.map { $0?["code"] as? String } == ["no-environment", "unreadable-file", "unreadable-file"])
        #expect(errors.map { $0?["advice"] as? String } == [noEnvironment.advice(for: .user(of: .command)), nil, nil])
        #expect(errors.map { $0?["message"] as? String }.dropFirst() == ["no such file", "torn"])
        #expect(decision.refusals.map(\.index) == [0])
    }

    @Test func `the worst refusal is the first of the worst category, and unreadable signed contents are the client's`()
        throws
    {
        func error(_ piece: [UInt8]) throws -> VerificationError {
            try #require(verifier.decision(on: [piece], at: date).refusals.first).error
        }
        let client = try error([])
        let forgery = try error(forged)
        let host = VerificationError(.host(.outOfMemory))
        let unreadable = try #require(
            try Minted.failure(JWSBuilder(payload: .raw("[]")).signed(by: Minted.ellipticAuthority)))
        #expect(unreadable.category == .host)
        for (errors, index, status) in [
            ([], nil, 200), ([client], 0, 400), ([unreadable], 0, 400), ([client, unreadable], 0, 400),
            ([unreadable, client], 0, 400), ([client, forgery], 1, 403), ([forgery, unreadable, forgery], 0, 403),
            ([client, forgery, host, host], 2, 500), ([host, forgery], 0, 500),
        ] as [([VerificationError], Int?, Int)] {
            let decision = Decision(
                errors.enumerated().map { .init(.index($0), .refused($1)) }, at: date)
            #expect(decision.worstRefusal?.index == index, "\(errors.map(\.code))")
            #expect(decision.httpStatus == status, "\(errors.map(\.code))")
        }
    }

    @Test func `a surface takes a thousand pieces and no more`() {
        #expect(throws: Never.self) { try TooMuchEvidence.check(pieceCount: 1000) }
        #expect(throws: TooMuchEvidence.self) { try TooMuchEvidence.check(pieceCount: 1001) }
        #expect(TooMuchEvidence.fault.code == "too-much-evidence" && TooMuchEvidence.fault.party.category == .client)
    }
}
