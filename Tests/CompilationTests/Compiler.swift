import Foundation
import Testing

/// The compiler, with the modules that were built for these tests.
enum Compiler {
    static let package = URL(filePath: #filePath).appending(path: "../../..").standardized

    private static let packageName = String(
        package.lastPathComponent.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })

    struct Outcome {
        let status: Int32
        /// `FILE:LINE:COLUMN: error: MESSAGE`, of the file that was compiled.
        let errors: [(line: Int, message: String)]
        let output: String
    }

    /// Compiles a file as a program, which sees the members of what it imports alone (SE-0444). Lifetimes are checked
    /// when SIL is made, not by the type checker.
    ///
    /// A file that says `// In this package.` is compiled as a part of this package, which sees what users do not.
    /// SwiftPM names a package after its folder.
    static func compile(_ file: URL, _ options: [String] = []) throws -> Outcome {
        let isOfPackage = try String(contentsOf: file, encoding: .utf8).contains("// In this package.\n")
        let (status, output) = try run(
            [
                "swiftc", "-swift-version", "6", "-enable-upcoming-feature", "MemberImportVisibility", "-emit-sil",
                "-o",
                "/dev/null", "-I", try modules().path,
            ] + modulesOfC + (isOfPackage ? ["-package-name", packageName] : []) + options + [file.path])
        let errors = output.split(separator: "\n").compactMap { line -> (Int, String)? in
            guard line.hasPrefix(file.path + ":"), let range = line.range(of: ": error: ") else { return nil }
            let number = line.dropFirst(file.path.count + 1).prefix { $0 != ":" }
            return Int(number).map { ($0, String(line[range.upperBound...])) }
        }
        return Outcome(status: status, errors: errors, output: output)
    }

    /// The options for the modules of C that the library's modules import.
    static let modulesOfC = ["CLibcryptoShims", "CBase64/include"].flatMap {
        ["-Xcc", "-fmodule-map-file=\(package.path)/Sources/\($0)/module.modulemap"]
    }

    /// The options for the macros of `Testing`, which the package manager passes, too.
    static let macrosOfTests: [String] = {
        let compiler = (try? run(["swiftc", "-print-target-info"]))?.output ?? ""
        guard let path = compiler.firstMatch(of: /"runtimeResourcePath": "([^"]+)"/)?.output.1 else { return [] }
        return ["-plugin-path", "\(path)/host/plugins/testing", "-plugin-path", "\(path)/host/plugins"]
    }()

    /// The folder of the modules that were built for these tests.
    static func modules() throws -> URL {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return try #require(
            [tests, CommandLine.arguments[0]].map {
                URL(filePath: $0).deletingLastPathComponent().appending(path: "Modules")
            }.first { FileManager.default.fileExists(atPath: $0.appending(path: "SpanASN1.swiftmodule").path) })
    }

    /// Runs a program, and returns its exit status and what it printed.
    static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
