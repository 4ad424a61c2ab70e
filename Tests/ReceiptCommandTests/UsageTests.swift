import Testing

@testable import receipt

@Suite struct UsageTests {
    @Test(arguments: ["verify", "decode", "asn1", "cms"])
    func `every command has help that names its options`(command: String) throws {
        let help = run(command, "--help")
        #expect(help.status == 0 && help.errorOutput.isEmpty)
        #expect(help.output.hasPrefix("Usage: receipt \(command) "))
        for option in ReceiptCommand.commands.first(where: { $0.syntax.name == command })?.syntax.options ?? [] {
            #expect(help.output.contains("  \(option.name)\(option.value.isEmpty ? "" : " ")\(option.value)"))
        }
        #expect(run("help", command).output == help.output)
        #expect(help.lines.allSatisfy { $0.count <= 110 })
        #expect(run("--help").output.contains("  \(command) "))
    }

    @Test func `the version is one line`() {
        #expect(run("--version").output == "receipt \(ReceiptCommand.version)\n")
    }

    @Test(arguments: [
        ([], "a command is needed"),
        (["verfy", "x"], "there is no command 'verfy'; did you mean 'verify'?"),
        (["--verison"], "did you mean '--version'?"),
        (["frobnicate"], "there is no command 'frobnicate'\n"),
        (["verify", "--fromat", "json", "x"], "there is no option '--fromat'; did you mean '--format'?"),
        (["verify", "--environment", "prod", "x"], "--environment cannot be 'prod'; did you mean 'production'?"),
        (["verify", "--root", "a", "--xcode-root", "b", "x"], "--xcode-root and --root exclude each other"),
        (["verify", "--environment", "sandbox", "--xcode-root", "b", "x"], "exclude each other"),
        (["verify", "--at", "yesterday", "x"], "--at cannot be 'yesterday'; expected: creation, now, or a date"),
        (["verify", "--at", "nwo", "x"], "did you mean 'now'?"),
        (["verify", "--bundle-id=", "x"], "--bundle-id needs a value"),
        (["decode", "--root", "x", "y"], "there is no option '--root'"),
        (["cms", "--allow-sha1=yes", "x"], "--allow-sha1 takes no value"),
        (["cms", "--purpose", "mail", "x"], "did you mean 'email'?"),
        (["cms", "--at", "never", "x"], "--at cannot be 'never'; expected: now, signing, or a date"),
        (["asn1", "a", "b"], "one argument too many: 'b'"),
        (["decode", "--\u{1B}[31m"], "there is no option '--\\u{1B}[31m'"),
    ])
    func `wrong usage says what is wrong, on standard error, with exit status 2`(words: [String], message: String) {
        let result = run(words)
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.errorOutput.hasPrefix("receipt: "))
        #expect(result.errorOutput.contains(message), "\(result.errorOutput)")
        #expect(result.errorOutput.contains("--help'."))
    }

    @Test func `a command ends with the worst of its inputs`() {
        #expect(ExitStatus.passed < .refused && ExitStatus.refused < .unusable)
        #expect([ExitStatus.passed, .refused, .unusable].map(\.rawValue) == [0, 1, 2])
    }
}
