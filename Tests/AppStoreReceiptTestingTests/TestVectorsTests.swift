import AppStoreReceipt
import Foundation
import TestSupport
import Testing

@testable import generate_vectors

/// `TestVectors/`, as it is in the repository.
enum Tree {
    static let directory = Project.url("TestVectors")

    static let expectations = Result {
        try JSONDecoder().decode([VectorExpectation].self, from: contents("expectations.json"))
    }

    static func contents(_ file: String) throws -> Data {
        try Data(contentsOf: directory.appendingPathComponent(file))
    }

    static func verifier(_ options: VerifierOptions) throws -> AppStoreVerifier {
        try options.verifier { Array(try contents("authority/" + $0)) }
    }

    /// Verifiers that have seen all receipts they accept, so that whatever their caches of chains could know they know.
    static let warmVerifiers = Result {
        var verifiers: [VerifierOptions: AppStoreVerifier] = [:]
        let all = try expectations.get()
        for options in Set(all.map { $0.verifier ?? VerifierOptions() }) {
            let verifier = try verifier(options)
            for expectation in all where expectation.verdict == "accepted" {
                _ = options.verify(Array(try contents(expectation.file)), with: verifier)
            }
            verifiers[options] = verifier
        }
        return verifiers
    }
}

@Suite("Test vectors")
struct TestVectorsTests {
    @Test(
        "every file has the verdict that it deserves, cold and with a warm chain cache",
        arguments: try Tree.expectations.get())
    func verdict(_ expectation: VectorExpectation) throws {
        let options = expectation.verifier ?? VerifierOptions()
        let input = Array(try Tree.contents(expectation.file))
        let cold = try Tree.verifier(options)
        #expect(options.verify(input, with: cold) == expectation.expectedVerdict, "cold")
        #expect(options.verify(input, with: cold) == expectation.expectedVerdict, "a second time")
        let warm = try #require(Tree.warmVerifiers.get()[options])
        #expect(options.verify(input, with: warm) == expectation.expectedVerdict, "warm")
    }

    @Test func `there are at least 120 of them, and each is in a folder for its kind`() throws {
        let expectations = try Tree.expectations.get()
        #expect(expectations.count >= 120)
        #expect(expectations.allSatisfy { GenerateVectors.folders.contains(String($0.file.prefix { $0 != "/" })) })
        print("\(expectations.count) vectors, \(expectations.filter { $0.verdict == "refused" }.count) of them refused")
    }

    @Test func `the tree is what its generator makes, and each fault undone is accepted`() throws {
        let forge = try Forge(directory: Tree.directory, makesMissingKeys: false)
        let (files, problems) = try GenerateVectors.generate(with: forge)
        #expect(problems.isEmpty)
        #expect(try GenerateVectors.compare(files, Tree.directory) == [])
    }

    @Test func `nothing is accepted that is not made for Apple's roots`() throws {
        let verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox]))
        for expectation in try Tree.expectations.get() {
            let verdict = VerifierOptions().verify(Array(try Tree.contents(expectation.file)), with: verifier)
            guard case .refused = verdict else {
                Issue.record("\(expectation.file) is accepted under Apple's roots")
                continue
            }
        }
    }
}

extension VectorExpectation: CustomTestStringConvertible {
    var testDescription: String { file }
}
