import Foundation
import Testing

/// Every example of the README and of the modules' front pages compiles as it stands, without a warning. One that imports nothing is
/// compiled with the modules of its page imported.
///
/// (The code of the other articles is part of the tests, word for word.)
@Suite struct ExamplesTests {
    struct Example: CustomTestStringConvertible, Sendable {
        let document: String
        let index: Int
        let code: String
        var testDescription: String { "\(document), example \(index + 1)" }
        /// A manifest is compiled against another module, by SwiftPM.
        var isManifest: Bool { code.hasPrefix("// swift-tools-version") }
    }

    /// The README, then the front page of each module that has a catalogue.
    private static let documents =
        ["README.md"]
        + ((try? FileManager.default.contentsOfDirectory(atPath: Compiler.package.path + "/Sources")) ?? [])
        .sorted().map { "Sources/\($0)/\($0).docc/\($0).md" }
        .filter { FileManager.default.fileExists(atPath: Compiler.package.path + "/" + $0) }

    private static let examples = documents.flatMap { document -> [Example] in
        let text = try? String(contentsOf: Compiler.package.appending(path: document), encoding: .utf8)
        let blocks = text?.components(separatedBy: "```swift\n").dropFirst() ?? []
        return blocks.enumerated().map { index, block in
            Example(document: document, index: index, code: block.components(separatedBy: "```\n")[0])
        }
    }

    @Test func `the README and every front page have an example`() {
        #expect(Self.documents.count == 6)
        for document in Self.documents { #expect(Self.examples.contains { $0.document == document }, "\(document)") }
    }

    @Test(arguments: examples.filter { !$0.isManifest })
    func `an example compiles`(example: Example) throws {
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "main.swift")
            let imports =
                example.code.contains("import ") ? "" : "import SignatureTrust; import SpanASN1; import SpanPKCS7; "
            try (imports + example.code).write(to: file, atomically: true, encoding: .utf8)
            let outcome = try Compiler.compile(file)
            #expect(outcome.status == 0 && outcome.output == "", "\(outcome.output)")
        }
    }

    @Test(arguments: examples.filter(\.isManifest))
    func `a manifest is read, and its products are this package's`(example: Example) throws {
        try withTemporaryFolder { folder in
            try example.code.write(
                to: folder.appending(path: "Package.swift"), atomically: true, encoding: .utf8)
            let (status, output) = try Compiler.run(
                ["swift", "package", "--package-path", folder.path, "dump-package"])
            #expect(status == 0, "\(output)")
        }
        let own = try String(contentsOf: Compiler.package.appending(path: "Package.swift"), encoding: .utf8)
        for product in example.code.components(separatedBy: ".product(name: \"").dropFirst() {
            let name = product.prefix { $0 != "\"" }
            #expect(own.contains(".library(name: \"\(name)\""), "\(name)")
        }
    }

    private func withTemporaryFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }
}
