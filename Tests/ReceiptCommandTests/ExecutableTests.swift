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

    @Test func `an argument that is not UTF-8 is refused, and no other file is opened`() throws {
        let name = folder.url.path(percentEncoded: false) + "/a"
        try Data([2, 1, 7]).write(to: URL(filePath: name + "\u{FFFD}.der"))
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = [
            "-c", #"printf '\002\001\005' > "$1$(printf '\377')".der; exec "$0" asn1 "$1$(printf '\377')".der"#,
            executable.path(percentEncoded: false), name,
        ]
        let (output, errorOutput) = (Pipe(), Pipe())
        (shell.standardOutput, shell.standardError) = (output, errorOutput)
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 2)
        #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
        let error = String(decoding: errorOutput.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(error.hasPrefix("receipt: an argument is not UTF-8"))
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

    @Test func `mint reads its specification from standard input`() throws {
        let authority = folder.url.appending(path: "ca").path(percentEncoded: false)
        #expect(try run(["ca", "--key", "ec", "--out", authority]).status == 0)
        for operands in [[], ["-"]] {
            let receipt = try run(
                ["mint", "--ca", authority] + operands, input: Array(#"{"bundle_id":"com.example.stdin"}"#.utf8))
            #expect(receipt.status == 0)
            #expect(
                try run(["decode", "-"], input: Array(receipt.output.utf8)).output.contains("com.example.stdin"))
            let jws = try run(["mint", "--ca", authority] + operands, input: Array(#"{"transaction":{}}"#.utf8))
            #expect(try run(["verify", "--root", authority + "/root.der"], input: Array(jws.output.utf8)).status == 0)
        }
        // --purchases says what to mint.
        let counted = try run(["mint", "--purchases", "0"], input: Array("no JSON".utf8))
        #expect(counted.status == 0 && counted.output.hasPrefix("M"))
    }

    @Test(arguments: [[], [0x0A], Array("{".utf8)] as [[UInt8]])
    func `mint without a specification on standard input mints nothing`(input: [UInt8]) throws {
        let result = try run(["mint"], input: input)
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(
            result.errorOutput.contains(
                input.contains(0x7B) ? "the JSON is malformed" : "-: the specification is empty"))
    }

    @Test(arguments: [("40", 40), ("120", 120), ("", Int.max), ("0", .max), ("x", .max)])
    func `in a pipe, COLUMNS is the width of the report, if it is set`(columns: String, width: Int) throws {
        let receipt = try run(["mint", "--purchases", "3"])
        let result = try run(["decode", "-"], input: Array(receipt.output.utf8), environment: ["COLUMNS": columns])
        #expect(result.lines.allSatisfy { $0.unicodeScalars.count <= width })
        #expect(result.lines.contains { $0.hasPrefix("  PRODUCT ") && $0.hasSuffix("PURCHASED (UTC)") } == (width > 40))
    }

    @Test(arguments: [60, 80])
    func `on a terminal, the report has its width and colour`(width: Int) throws {
        let script = URL(filePath: "/usr/bin/script")
        guard FileManager.default.isExecutableFile(atPath: script.path) else { return }
        let receipt = try folder.write("receipt", try run(["mint", "--purchases", "3"]).output)
        let process = Process()
        process.executableURL = script
        let command = "stty cols \(width) rows 40; TERM=xterm NO_COLOR= '\(executable.path)' decode '\(receipt)'"
        process.arguments = ["-qec", command, "/dev/null"]
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text.contains("\u{1B}[1;33mUNVERIFIED\u{1B}[0m"))
        #expect(text.contains("PURCHASED (UTC)") && text.contains("\u{1B}[2m  PRODUCT"))
        // The head is in one line if it fits in it.
        let isOneLine = text.replacing("\r\n", with: "\n").split(separator: "\n").contains {
            $0.contains("PRODUCT") && $0.contains("PURCHASED")
        }
        #expect(isOneLine == (width == 80))
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
