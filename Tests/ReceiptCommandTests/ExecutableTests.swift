import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

/// The built executable: what only a process shows.
@Suite struct ExecutableTests {
    private let executable: URL
    private let folder: TemporaryFolder

    init() throws {
        executable = try builtExecutable()
        folder = try TemporaryFolder()
    }

    private func run(
        _ words: [String], input: [UInt8] = [], environment: [String: String] = [:]
    ) throws -> Run {
        let process = Process()
        process.executableURL = executable
        process.arguments = words
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: try folder.write("stdin", input)))
        let (output, errorOutput) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errorOutput
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let errorText = errorOutput.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Run(
            status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
            errorOutput: String(decoding: errorText, as: UTF8.self))
    }

    @Test func `it prints its version`() throws {
        let result = try run(["--version"])
        #expect(result.status == 0 && result.output == "receipt \(ReceiptCommand.version)\n")
    }

    @Test(arguments: [[], ["-"]])
    func `a receipt is read from standard input`(operands: [String]) throws {
        let authority = try Minted.authority
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: authority)
        let root = try folder.write("root.pem", pem("CERTIFICATE", authority.root.certificate))
        let result = try run(
            ["verify", "--root", root] + operands, input: Array(Data(receipt).base64EncodedString().utf8))
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("VERIFIED  -, "))
        #expect(!result.output.contains("\u{1B}"))
    }

    @Test func `the exit status is the process's`() throws {
        #expect(try run(["verify", "-"], input: [0x30]).status == 1)
        #expect(try run(["verify", "--nonsense"]).status == 2)
        let missing = try run(["decode", "/no/such/file"])
        #expect(missing.status == 2 && missing.errorOutput == "receipt: /no/such/file: No such file or directory\n")
    }

    @Test func `an input without end is refused, not read for ever`() throws {
        let result = try run(["verify", "--format", "json", "/dev/zero"])
        #expect(result.status == 1)
        #expect(result.output.contains("\"error\""))
    }

    @Test func `output that cannot be written is told`() throws {
        let process = Process()
        process.executableURL = executable
        process.arguments = ["--help"]
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
        let errorOutput = Pipe()
        process.standardError = errorOutput
        try process.run()
        let text = errorOutput.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 2)
        #expect(String(decoding: text, as: UTF8.self).contains("cannot write to standard output: No space left"))
    }
}
