import AppStoreReceipt
import Foundation
import Testing

@testable import generate_vectors

@Suite("Vectors of transaction receipts")
struct TransactionVectorsTests {
    private static let expectations = Result {
        try JSONDecoder().decode(
            [TransactionExpectation].self, from: Tree.contents("transaction-receipts/expectations.json"))
    }

    @Test(
        "every file has the verdict that it deserves, cold and with a warm chain cache",
        arguments: try expectations.get())
    func verdict(_ expectation: TransactionExpectation) throws {
        let input = Array(try Tree.contents(expectation.file))
        let verifier = try expectation.verifier.verifier { Array(try Tree.contents("authority/" + $0)) }
        #expect(TransactionVerdict(input, verifier) == expectation.expectedVerdict, "cold")
        for other in try Self.expectations.get()
        where other.verdict == "accepted" && other.verifier == expectation.verifier {
            _ = TransactionVerdict(Array(try Tree.contents(other.file)), verifier)
        }
        #expect(TransactionVerdict(input, verifier) == expectation.expectedVerdict, "warm")
    }

    @Test func `nothing is accepted that is not made for Apple's roots`() throws {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox])
        policy.allowsRSA1024TransactionReceipts = true
        let verifier = try AppStoreVerifier(policy: policy)
        for expectation in try Self.expectations.get() {
            #expect(TransactionVerdict(Array(try Tree.contents(expectation.file)), verifier) != .accepted)
        }
    }
}

extension TransactionExpectation: CustomTestStringConvertible {
    var testDescription: String { file }
}
