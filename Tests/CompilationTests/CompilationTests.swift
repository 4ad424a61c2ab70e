import Foundation
import Testing

/// What must not compile does not.
///
/// Each file of `Snippets/` breaks one rule, which its first line states, in a line below the message that the compiler
/// has for it; with `CONTROL` defined it keeps the rule and compiles.
@Suite struct CompilationTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private static let snippets =
        (try? FileManager.default.contentsOfDirectory(
            at: folder.appending(path: "Snippets"), includingPropertiesForKeys: nil
        ))?.map(\.lastPathComponent).sorted() ?? []

    @Test func `there are snippets`() { #expect(Self.snippets.count >= 10) }

    @Test(arguments: snippets)
    func `a snippet that breaks a rule does not compile, one that keeps it does`(name: String) throws {
        let file = Self.folder.appending(path: "Snippets/\(name)")
        let control = try Compiler.compile(file, ["-D", "CONTROL"])
        #expect(control.status == 0 && control.errors.isEmpty, "\(control.errors)")

        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let marker = "// error: "
        let note = try #require(lines.firstIndex { $0.contains(marker) })
        let message = try #require(lines[note].components(separatedBy: marker).last)
        // Lines count from 1.
        let expected = note + 2
        let broken = try Compiler.compile(file)
        #expect(broken.status != 0)
        #expect(broken.errors.contains { $0.line == expected && $0.message.contains(message) }, "\(broken.errors)")
        // No other mistake is what keeps it from compiling.
        #expect(broken.errors.allSatisfy { $0.line == expected }, "\(broken.errors)")
    }
}
