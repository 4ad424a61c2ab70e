import Foundation
import Testing

/// Forks while other threads verify. `Tests/ForkTrial` is the process that forks.
@Suite struct ForkTests {
    /// The program, which is built beside the tests.
    private static let program = Result { () throws -> URL in
        let tests = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let found = [tests, URL(fileURLWithPath: CommandLine.arguments[0])].map {
            $0.deletingLastPathComponent().appendingPathComponent("fork-trial")
        }
        return try #require(found.first { FileManager.default.isExecutableFile(atPath: $0.path) })
    }

    /// The program kills a child that hangs after ten seconds, and counts it.
    @Test(.timeLimit(.minutes(10)))
    func `no lock of this library hangs a child of fork, whatever the threads of its parent do`() throws {
        let process = Process()
        let output = Pipe()
        process.executableURL = try Self.program.get()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        print(text)
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.split(separator: "\n").count == 3, "\(text)")
    }
}
