import Foundation
import Testing

/// What must not compile does not.
///
/// Each file of `Snippets/` breaks one rule, which its first line states, in a line below the message that the compiler has for it;
/// with `CONTROL` defined it keeps the rule and compiles.
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
        let control = try compile(file, ["-D", "CONTROL"])
        #expect(control.status == 0 && control.errors.isEmpty, "\(control.errors)")

        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let marker = "// error: "
        let note = try #require(lines.firstIndex { $0.contains(marker) })
        let message = try #require(lines[note].components(separatedBy: marker).last)
        // Lines count from 1.
        let expected = note + 2
        let broken = try compile(file, [])
        #expect(broken.status != 0)
        #expect(broken.errors.contains { $0.line == expected && $0.message.contains(message) }, "\(broken.errors)")
        // No other mistake is what keeps it from compiling.
        #expect(broken.errors.allSatisfy { $0.line == expected }, "\(broken.errors)")
    }

    private typealias Outcome = (status: Int32, errors: [(line: Int, message: String)])

    /// Lifetimes are checked when SIL is made, not by the type checker.
    private func compile(_ file: URL, _ options: [String]) throws -> Outcome {
        let package = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let modules = try #require(
            [tests, CommandLine.arguments[0]].map {
                URL(filePath: $0).deletingLastPathComponent().appending(path: "Modules")
            }.first { FileManager.default.fileExists(atPath: $0.appending(path: "SpanASN1.swiftmodule").path) })
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "swiftc", "-swift-version", "6", "-emit-sil", "-o", "/dev/null", "-I", modules.path, "-Xcc",
                "-fmodule-map-file=\(package.path)/Sources/CLibcryptoShims/module.modulemap",
            ] + options + [file.path]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        // `FILE:LINE:COLUMN: error: MESSAGE`
        let errors = text.split(separator: "\n").compactMap { line -> (Int, String)? in
            guard line.hasPrefix(file.path + ":"), let range = line.range(of: ": error: ") else { return nil }
            let number = line.dropFirst(file.path.count + 1).prefix { $0 != ":" }
            return Int(number).map { ($0, String(line[range.upperBound...])) }
        }
        return (process.terminationStatus, errors)
    }
}
