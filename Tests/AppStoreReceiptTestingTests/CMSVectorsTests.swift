import Foundation
import Testing

@testable import generate_vectors

@Suite("Vectors of other signed messages")
struct CMSVectorsTests {
    private static let expectations = Result {
        try JSONDecoder().decode([CMSExpectation].self, from: Tree.contents("cms/expectations.json"))
    }

    /// A certificate or list by its name, in `cms/` or in `authority/`.
    private static func contents(_ name: String) throws -> [UInt8] {
        let own = try? Tree.contents("cms/" + name)
        return Array(try own ?? Tree.contents("authority/" + name))
    }

    @Test("every file has the verdict that it deserves", arguments: try expectations.get())
    func verdict(_ expectation: CMSExpectation) throws {
        let message = Array(try Tree.contents(expectation.file))
        let options = expectation.verifier ?? CMSOptions()
        #expect(try options.verdict(on: message, contents: Self.contents) == expectation.expectedVerdict)
    }
}

extension CMSExpectation: CustomTestStringConvertible {
    var testDescription: String { file }
}
