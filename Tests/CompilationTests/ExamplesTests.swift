import Foundation
import Testing

/// Every example of the README and of the modules' front pages compiles as it stands, without a warning, and every manifest on any page. One that imports nothing is
/// compiled with the modules of its page imported.
///
/// The code of the other articles is part of the tests, word for word. Here, that of each article of `AppStoreReceipt` is compiled as its reader has it: with that module imported, and
/// those that the article names.
@Suite struct ExamplesTests {
    struct Example: CustomTestStringConvertible, Sendable {
        let document: String
        let index: Int
        let code: String
        var testDescription: String { "\(document), example \(index + 1)" }
        /// A manifest is compiled against another module, by SwiftPM.
        var isManifest: Bool { code.hasPrefix("// swift-tools-version") }
    }

    /// The pages of all catalogues.
    private static let articles =
        (FileManager.default.enumerator(atPath: Compiler.package.path + "/Sources")?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix(".md") }.sorted()

    /// The README, then the front page of each module that has a catalogue: `MODULE/MODULE.docc/MODULE.md`.
    private static let documents =
        ["README.md"]
        + articles.filter {
            $0.split(separator: "/").first.map { module in "\(module)/\(module).docc/\(module).md" } == $0
        }
        .map { "Sources/" + $0 }

    private static func examples(in documents: [String]) -> [Example] {
        documents.flatMap { document -> [Example] in
            let text = try? String(contentsOf: Compiler.package.appending(path: document), encoding: .utf8)
            let blocks = text?.components(separatedBy: "```swift\n").dropFirst() ?? []
            return blocks.enumerated().map { index, block in
                Example(document: document, index: index, code: block.components(separatedBy: "```\n")[0])
            }
        }
    }

    private static let gettingStarted = "Sources/AppStoreReceipt/AppStoreReceipt.docc/GettingStarted.md"
    private static let examples = examples(in: documents).filter { !$0.isManifest }
    private static let manifests = examples(in: articles.map { "Sources/" + $0 }).filter(\.isManifest)

    @Test func `the README and every front page have an example`() {
        #expect(Self.documents.count == 7 && Self.articlesWithCode.count == 8)
        for document in Self.documents { #expect(Self.examples.contains { $0.document == document }, "\(document)") }
        #expect(Self.manifests.map(\.document) == [Self.gettingStarted])
    }

    @Test(arguments: examples)
    func `an example compiles`(example: Example) throws {
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "main.swift")
            let imports =
                example.code.contains("import ")
                ? "" : "import CMSTrust; import SignatureTrust; import SpanASN1; "
            try (imports + example.code).write(to: file, atomically: true, encoding: .utf8)
            let outcome = try Compiler.compile(file)
            #expect(outcome.status == 0 && outcome.output == "", "\(outcome.output)")
        }
    }

    private static let articlesWithCode = articles.filter {
        $0.hasPrefix("AppStoreReceipt/") && $0 != "AppStoreReceipt/AppStoreReceipt.docc/AppStoreReceipt.md"
    }.map { "Sources/" + $0 }.filter { document in examples(in: [document]).contains { !$0.isManifest } }

    @Test(arguments: articlesWithCode)
    func `the code of an article compiles with the modules that the article names`(document: String) throws {
        func text(_ document: String) throws -> String {
            try String(contentsOf: Compiler.package.appending(path: document), encoding: .utf8)
        }
        // "the `Endpoint` of [Article](Article.md)": its reader has the code of that article, too.
        let others = try text(document).matches(of: /`\w+` of \[[^\]]+\]\((\w+\.md)\)/).map { match in
            document.replacing(/\w+\.md$/, with: match.output.1)
        }
        let documents = others + [document]
        let imports = try documents.flatMap { try text($0).matches(of: /`(import \w+)`/).map { String($0.output.1) } }
        let code = Self.examples(in: documents).map(\.code).filter { code in
            // Vapor and Hummingbird are not here: the tests of that article have types of the same shape.
            !["// swift-tools-version", "_ app: Application", "Router<"].contains { code.contains($0) }
        }
        try #require(!code.isEmpty)
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "main.swift")
            let lines = ["import AppStoreReceipt"] + imports + code
            try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
            let outcome = try Compiler.compile(file)
            #expect(outcome.status == 0 && outcome.output == "", "\(outcome.output)")
        }
    }

    @Test(arguments: manifests)
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
