import Testing

@testable import receipt

@Suite struct ArgumentsTests {
    private static let syntax = CommandSyntax(
        name: "test", summary: "", operands: "[FILE]...", maximumOperandCount: 3,
        options: [
            .init("--root", "FILE", "", isRepeatable: true),
            .init("--bundle-id", "ID", ""),
            .init("--format", "text|json", ""),
        ])

    @Test func `options take their value after them or after an equals sign, operands stand anywhere`() throws {
        let arguments = try Arguments(
            ["a", "--root", "r1", "--format=json", "-", "--root=r=2", "--", "--bundle-id"], syntax: Self.syntax)
        #expect(arguments.operands == ["a", "-", "--bundle-id"])
        #expect(arguments.all("--root") == ["r1", "r=2"])
        #expect(arguments["--format"] == "json")
        #expect(arguments["--bundle-id"] == nil)
        #expect(!arguments.asksForHelp)
    }

    @Test func `a value that looks like an option is taken after an equals sign only`() throws {
        #expect(try Arguments(["--bundle-id=--format"], syntax: Self.syntax)["--bundle-id"] == "--format")
    }

    @Test(arguments: [["--help"], ["-h"], ["a", "--root", "r", "--help", "--nonsense"]])
    func `help is asked for wherever it stands`(words: [String]) throws {
        #expect(try Arguments(words, syntax: Self.syntax).asksForHelp)
    }

    @Test(arguments: [
        (["--rot", "x"], UsageError.unknownOption("--rot", suggestion: "--root")),
        (["-format"], .unknownOption("-format", suggestion: "--format")),
        (["--bundle"], .unknownOption("--bundle", suggestion: "--bundle-id")),
        (["--xyzzy"], .unknownOption("--xyzzy", suggestion: nil)),
        (["--root"], .missingValue(option: "--root", value: "FILE")),
        (["--root="], .missingValue(option: "--root", value: "FILE")),
        (["--bundle-id", ""], .missingValue(option: "--bundle-id", value: "ID")),
        (["--bundle-id", "--format", "json"], .missingValue(option: "--bundle-id", value: "ID")),
        (
            ["--format", "jsn"],
            .invalidValue(option: "--format", value: "jsn", expected: "text, json", suggestion: "json")
        ),
        (["--format=yaml"], .invalidValue(option: "--format", value: "yaml", expected: "text, json", suggestion: nil)),
        (["--format", "json", "--format", "json"], .repeatedOption("--format")),
        (["a", "b", "c", "d"], .unexpectedOperand("d")),
    ])
    func `wrong usage is named`(words: [String], error: UsageError) {
        #expect(throws: error) { try Arguments(words, syntax: Self.syntax) }
    }

    @Test(
        arguments: [
            ("verfy", "verify"), ("vreify", "verify"), ("Verify", "verify"), ("decod", "decode"), ("asn.1", "asn1"),
            ("ver", "verify"), ("dec", "decode"), ("", nil), ("v", nil), ("sign", nil),
            (String(repeating: "verify", count: 10_000), nil),
        ] as [(String, String?)])
    func `a typo suggests the word it is near to`(word: String, suggestion: String?) {
        #expect(nearest(to: word, in: ["verify", "decode", "asn1"]) == suggestion)
    }
}
