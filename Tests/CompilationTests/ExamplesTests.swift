import Foundation
import Testing

/// Every example of the README and of the modules' front pages compiles as it stands, with the imports that it shows
/// and no other module's members (SE-0444), without a warning; and every manifest on any page is read.
///
/// The code of the other articles is part of the tests, word for word. Here, that of each article is compiled as its
/// reader has it: with the imports that the article shows.
@Suite struct ExamplesTests {
    struct Example: CustomTestStringConvertible, Sendable {
        let document: String
        let index: Int
        let code: String
        var testDescription: String { "\(document), example \(index + 1)" }
        /// A manifest is compiled against another module, by SwiftPM.
        var isManifest: Bool { code.hasPrefix("// swift-tools-version") }
        /// Lines to be added to a manifest.
        var isPartOfManifest: Bool { code.hasPrefix(".") }
    }

    /// The pages of all catalogues.
    private static let articles =
        (FileManager.default.enumerator(atPath: Compiler.package.path + "/Sources")?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix(".md") }.sorted()

    /// The READMEs, then the front page of each module that has a catalogue: `MODULE/MODULE.docc/MODULE.md`.
    private static let documents =
        ["README.md", "README.zh-CN.md"]
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
    private static let examples = examples(in: documents).filter { !$0.isManifest && !$0.isPartOfManifest }
    private static let manifests = examples(in: articles.map { "Sources/" + $0 }).filter(\.isManifest) + linesOfReadme

    /// Manifests with the lines of each README: one for each way to add the package.
    private static let linesOfReadme = ["README.md", "README.zh-CN.md"].flatMap { document -> [Example] in
        let lines = examples(in: [document]).filter(\.isPartOfManifest).map(\.code)
        let products = lines.filter { $0.hasPrefix(".product(") }.joined()
        return lines.filter { $0.hasPrefix(".package(") }.enumerated().map { index, package in
            Example(
                document: document, index: index,
                code: """
                    // swift-tools-version: 6.3
                    import PackageDescription

                    let package = Package(
                        name: "Backend", dependencies: [\(package)],
                        targets: [.executableTarget(name: "Backend", dependencies: [\(products)])])

                    """)
        }
    }

    @Test func `the README and every front page have an example`() {
        #expect(Self.documents.count == 6 && Self.articlesWithCode.count == 10)
        for document in Self.documents { #expect(Self.examples.contains { $0.document == document }, "\(document)") }
        #expect(Self.manifests.filter { $0.document == Self.gettingStarted }.count == 1)
        #expect(Self.linesOfReadme.map(\.document) == ["README.md", "README.md", "README.zh-CN.md", "README.zh-CN.md"])
    }

    @Test(arguments: examples)
    func `an example compiles`(example: Example) throws {
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "main.swift")
            try example.code.write(to: file, atomically: true, encoding: .utf8)
            let outcome = try Compiler.compile(file)
            #expect(outcome.status == 0 && outcome.output == "", "\(outcome.output)")
        }
    }

    private static let articlesWithCode = articles.map { "Sources/" + $0 }.filter { document in
        !documents.contains(document) && examples(in: [document]).contains { !$0.isManifest }
    }

    @Test(arguments: articlesWithCode)
    func `the code of an article compiles with the imports that the article shows`(document: String) throws {
        func text(_ document: String) throws -> String {
            try String(contentsOf: Compiler.package.appending(path: document), encoding: .utf8)
        }
        // "the `Endpoint` of [Article](Article.md)": its reader has the code of that article, too.
        let others = try text(document).matches(of: /`\w+` of \[[^\]]+\]\((\w+\.md)\)/).map { match in
            document.replacing(/\w+\.md$/, with: match.output.1)
        }
        let documents = others + [document]
        let code = Self.examples(in: documents).map(\.code).filter { code in
            // StoreKit, Vapor and Hummingbird are not here: other tests have types of the same shape.
            !["// swift-tools-version", "import StoreKit", "_ app: Application", "Router<"].contains {
                code.contains($0)
            }
        }
        try #require(!code.isEmpty)
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "main.swift")
            try code.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
            let outcome = try Compiler.compile(file, Compiler.macrosOfTests)
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
        #expect(!example.code.components(separatedBy: ".product(name: \"").dropFirst().isEmpty)
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
