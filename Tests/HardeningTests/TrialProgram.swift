import Foundation
import Testing

/// A program that is built beside the tests, for what must not happen to the process of the tests.
enum TrialProgram {
    /// Runs a program, and returns what it prints and its exit status.
    static func run(
        _ name: String, _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws -> (output: String, status: Int32) {
        let tests = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let places = [tests, URL(fileURLWithPath: CommandLine.arguments[0])].map {
            $0.deletingLastPathComponent().appendingPathComponent(name)
        }
        let process = Process()
        let output = Pipe()
        let found: URL = try #require(places.first { FileManager.default.isExecutableFile(atPath: $0.path) })
        process.executableURL = found
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (text, process.terminationStatus)
    }
}
