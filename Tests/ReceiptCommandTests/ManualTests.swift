import Foundation
import Testing

@testable import receipt

/// Completions and the manual page, which come from the table of options.
@Suite struct ManualTests {
    private static func path(of program: String) -> String? {
        ["/usr/bin/", "/bin/", "/usr/local/bin/"].map { $0 + program }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// Runs a program, and returns its status and what it printed, errors included.
    private func execute(_ program: String, _ words: [String], input: String = "") throws -> (
        status: Int32, output: String
    ) {
        let folder = try TemporaryFolder()
        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.path(of: program)))
        process.arguments = words
        process.standardInput = try FileHandle(
            forReadingFrom: URL(filePath: try folder.write("stdin", input)))
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `completions name every command, option and choice`(shell: String) {
        let result = run("completions", shell)
        #expect(result.status == 0 && result.errorOutput.isEmpty)
        for command in ReceiptCommand.commands.map({ $0.syntax }) {
            #expect(result.output.contains(command.name))
            for option in command.allOptions {
                // fish writes `-l NAME`.
                #expect(result.output.contains(shell == "fish" ? "-l " + option.name.dropFirst(2) : option.name))
                for choice in option.choices ?? [] { #expect(result.output.contains(choice)) }
            }
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `a shell takes its completions, if it is installed`(shell: String) throws {
        guard Self.path(of: shell) != nil else { return }
        let result = try execute(shell, ["-n"], input: run("completions", shell).output)
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)")
    }

    @Test(arguments: [
        (["receipt", "ver"], ["verify"]), (["receipt", "--v"], ["--version"]),
        (["receipt", "verify", "--env"], ["--environment"]),
        (["receipt", "verify", "--environment", ""], ["production", "sandbox"]),
        (["receipt", "verify", "--environment", "=", "s"], ["sandbox"]),
        (["receipt", "verify", "--environment", "="], ["production", "sandbox"]),
        (["receipt", "decode", "--format", "a"], ["attributes"]),
        (["receipt", "verify", "--at", "n"], ["now"]), (["receipt", "ca", "--key", "e"], ["ec"]),
        (["receipt", "completions", "z"], ["zsh"]), (["receipt", "help", "as"], ["asn1"]),
        (["receipt", "verify", "--bundle-id", ""], []), (["receipt", "verify", "a fi"], ["a file.der"]),
        (["receipt", "mint", "--ca", "a"], ["a folder"]), (["receipt", "verify", "--root", "a fi"], ["a file.der"]),
    ])
    func `bash completes what can stand at a place`(words: [String], expected: [String]) throws {
        guard Self.path(of: "bash") != nil else { return }
        let folder = try TemporaryFolder()
        _ = try folder.write("a file.der", "")
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "a folder"), withIntermediateDirectories: false)
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let script =
            run("completions", "bash").output + """
                cd '\(folder.url.path)' || exit 1
                COMP_WORDS=(\(quoted))
                COMP_CWORD=\(words.count - 1)
                _receipt
                for reply in "${COMPREPLY[@]}"; do printf '%s\\n' "$reply"; done

                """
        let result = try execute("bash", [], input: script)
        #expect(result.output.split(separator: "\n").map(String.init) == expected)
    }

    @Test func `the manual page has every command, option, exit status and variable`() {
        let result = run("man")
        #expect(result.status == 0 && result.output.hasPrefix(".TH RECEIPT 1 "))
        let text = result.output.replacing("\\-", with: "-").replacing("\\fB", with: "")
        for command in ReceiptCommand.commands.map({ $0.syntax }) {
            #expect(text.contains("\n.SS \(command.name)\n"))
            for option in command.allOptions { #expect(text.contains("\n\(option.name)\\fR")) }
        }
        for name in ["NO_COLOR", "COLUMNS", "130"] { #expect(text.contains("\n.B \(name)\n")) }
        // A line that begins with a dot or an apostrophe is a request.
        let requests = ["TH", "SH", "SS", "TP", "PP", "B", "I", "nf", "fi"]
        for line in result.lines where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(requests.contains(String(line.dropFirst().prefix { $0 != " " })), "\(line)")
        }
    }

    @Test(arguments: [("groff", ["-ww", "-man", "-Tutf8", "-z"]), ("mandoc", ["-Tlint", "-W", "error"])])
    func `a formatter takes the manual page without a warning, if it is installed`(
        program: String, words: [String]
    ) throws {
        guard Self.path(of: program) != nil else { return }
        let result = try execute(program, words, input: run("man").output)
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)")
    }

    @Test(arguments: [
        ([], "bash|zsh|fish is needed"), (["bsh"], "there are no completions for 'bsh'; did you mean 'bash'?"),
        (["tcsh"], "there are no completions for 'tcsh'"), (["bash", "zsh"], "one argument too many: 'zsh'"),
    ])
    func `another shell is wrong usage`(words: [String], message: String) {
        let result = run(["completions"] + words)
        #expect(result.status == 2 && result.output.isEmpty && result.errorOutput.contains(message))
    }

    @Test(arguments: [40, 60, 80, 120])
    func `help fits the terminal`(width: Int) {
        for command in ReceiptCommand.commands.map({ $0.syntax }) {
            let result = run(["help", command.name], style: Style(width: width))
            // Examples are to be copied, so that they are not divided.
            let examples = command.notesParts.filter(\.isExample).map(\.text)
            for line in result.lines where !examples.contains(String(line)) {
                let isHead = command.allOptions.contains { line == "  \($0.head)" }
                #expect(line.count <= width || isHead, "\(line)")
            }
        }
    }
}
