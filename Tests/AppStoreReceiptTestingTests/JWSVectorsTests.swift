import AppStoreReceipt
import Foundation
import Testing

@testable import generate_vectors

@Suite("Vectors of JWS")
struct JWSVectorsTests {
    private static let expectations = Result {
        try JSONDecoder().decode([JWSExpectation].self, from: Tree.contents("jws/expectations.json"))
    }

    private static func verifier(_ options: VerifierOptions?) throws -> AppStoreVerifier {
        try (options ?? VerifierOptions()).verifier(defaultRoot: "ec-root.der") {
            Array(try Tree.contents("authority/" + $0))
        }
    }

    @Test(
        "every file has the verdict that it deserves, cold and with a warm chain cache",
        arguments: try expectations.get())
    func verdict(_ expectation: JWSExpectation) throws {
        let input = Array(try Tree.contents(expectation.file))
        let verifier = try Self.verifier(expectation.verifier)
        #expect(JWSVerdict(input, verifier) == expectation.expectedVerdict, "cold")
        for other in try Self.expectations.get()
        where other.verdict == "accepted" && other.verifier == expectation.verifier {
            _ = JWSVerdict(Array(try Tree.contents(other.file)), verifier)
        }
        #expect(JWSVerdict(input, verifier) == expectation.expectedVerdict, "warm")
    }

    @Test func `every kind of JWS is among those accepted, and more than half are refused`() throws {
        let expectations = try Self.expectations.get()
        let accepted = expectations.filter { $0.verdict == "accepted" }
        for kind in JWSKind.allCases {
            #expect(accepted.contains { $0.kinds?.first == kind.rawValue }, "\(kind)")
        }
        #expect(expectations.count > accepted.count * 2)
        print("\(expectations.count) vectors of JWS, \(accepted.count) of them accepted")
    }

    @Test func `every purchase of every vector has a key`() throws {
        var count = 0
        for expectation in try Self.expectations.get() where expectation.verdict == "accepted" {
            let verifier = try Self.verifier(expectation.verifier)
            let evidence = try verifier.verify(Array(try Tree.contents(expectation.file)))
            for item in Entitlements([evidence], at: .now).items {
                #expect(item.purchaseKey != nil, "\(expectation.file)")
                count += 1
            }
        }
        #expect(count >= 20)
    }

    @Test func `nothing is accepted that is not made for Apple's roots`() throws {
        let verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox]))
        for expectation in try Self.expectations.get() {
            guard case .refused = JWSVerdict(Array(try Tree.contents(expectation.file)), verifier) else {
                Issue.record("\(expectation.file) is accepted under Apple's roots")
                continue
            }
        }
    }
}

extension JWSExpectation: CustomTestStringConvertible {
    var testDescription: String { file }
}
