import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import Testing

@testable import receipt

/// What a run of the command left behind.
struct Run {
    let status: Int32
    let output: String
    let errorOutput: String

    var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast() }

    /// Each line as a JSON object.
    func objects() throws -> [NSDictionary] {
        try lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return object as? NSDictionary ?? [:]
        }
    }
}

/// Runs the command in this process.
func run(_ words: String..., style: Style = Style()) -> Run { run(words, style: style) }

func run(_ words: [String], style: Style = Style()) -> Run {
    var console = Console.memory(style: style)
    let status = ReceiptCommand.run(words, &console)
    return Run(
        status: console.finish(status).rawValue, output: String(decoding: console.output, as: UTF8.self),
        errorOutput: String(decoding: console.errorOutput, as: UTF8.self))
}

/// The executable that was built with the tests.
func builtExecutable() throws -> URL {
    // It lies beside the tests' own bundle.
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let beside = [tests, CommandLine.arguments[0]].map {
        URL(filePath: $0).deletingLastPathComponent().appending(path: "receipt")
    }
    return try #require(beside.first { FileManager.default.isExecutableFile(atPath: $0.path) })
}

/// A folder for the time of one test.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "receipt-command-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file and gives its path.
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let file = url.appending(path: name)
        try Data(bytes).write(to: file)
        return file.path(percentEncoded: false)
    }

    func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }
}

/// A PEM block, with lines of 64 characters.
func pem(_ label: String, _ der: [UInt8]) -> String {
    let text = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
}
