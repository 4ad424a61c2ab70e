import Testing

@testable import HTTPService

struct OptionTableTests {
    private let table = OptionTable([
        .init("--listen", "HOST:PORT", "Where to listen."),
        .init("--bundle-id", "ID", isRepeatable: true, "An app."),
        .init("--allow-rsa-1024", "", "Accept weak keys."),
        .init("--name", "NAME=ID,ID", isRepeatable: true, separator: ";", "A name."),
    ])

    private func read(_ arguments: [String], _ environment: [String: String] = [:]) throws -> OptionTable.Values {
        try table.read(arguments, environment: { environment[$0] })
    }

    @Test func `the variable of an option has its words`() {
        #expect(
            table.options.map(\.variable) == [
                "RECEIPT_SERVER_LISTEN", "RECEIPT_SERVER_BUNDLE_ID", "RECEIPT_SERVER_ALLOW_RSA_1024",
                "RECEIPT_SERVER_NAME",
            ])
    }

    @Test func `a value follows its option, with a space or an equals sign`() throws {
        let values = try read(["--listen", "a:1", "--bundle-id=x=y", "--bundle-id", "z", "--allow-rsa-1024"])
        #expect(values["--listen"] == "a:1")
        #expect(values.all("--bundle-id") == ["x=y", "z"])
        #expect(values["--allow-rsa-1024"] != nil)
    }

    @Test func `values with commas are separated by another character`() throws {
        let values = try read([], ["RECEIPT_SERVER_NAME": "a=b,c;d=e"])
        #expect(values.all("--name") == ["a=b,c", "d=e"])
        #expect(try read(["--name", "a=b;c"]).all("--name") == ["a=b;c"])
        #expect(throws: ConfigurationError.self) { try read([], ["RECEIPT_SERVER_NAME": "a=b;"]) }
    }

    @Test func `a variable counts where its option is not given`() throws {
        let environment = [
            "RECEIPT_SERVER_LISTEN": "b:2", "RECEIPT_SERVER_BUNDLE_ID": "x,y", "RECEIPT_SERVER_ALLOW_RSA_1024": "true",
        ]
        let values = try read(["--listen", "a:1"], environment)
        #expect(values["--listen"] == "a:1")
        #expect(values.all("--bundle-id") == ["x", "y"])
        #expect(values["--allow-rsa-1024"] != nil)
        #expect(try read([], ["RECEIPT_SERVER_ALLOW_RSA_1024": "0"])["--allow-rsa-1024"] == nil)
    }

    @Test(arguments: ["RECEIPT_SERVER_LISTEN", "RECEIPT_SERVER_BUNDLE_ID", "RECEIPT_SERVER_ALLOW_RSA_1024"])
    func `an empty variable is not as one that is not set`(_ variable: String) {
        for text in variable == "RECEIPT_SERVER_BUNDLE_ID" ? ["", ",", "a,", ",a", "a,,b"] : [""] {
            let error = #expect(throws: ConfigurationError.self) { try read([], [variable: text]) }
            #expect(error?.description.hasPrefix("\(variable) must ") == true)
        }
    }

    @Test(arguments: [
        (["--listen"], "--listen needs a value: HOST:PORT"), (["--listen=a", "--listen=b"], "--listen is given twice"),
        (["--listen="], "--listen must not be empty"), (["--bundle-id", ""], "--bundle-id must not be empty"),
        (["--allow-rsa-1024=1"], "--allow-rsa-1024 takes no value"), (["x"], "'x' is no option; --help lists them"),
        (["--Listen", "a"], "'--Listen' is no option; --help lists them"),
    ])
    func `wrong usage is refused in words`(arguments: [String], words: String) {
        #expect(throws: ConfigurationError(words)) { try read(arguments) }
    }

    @Test func `a flag's variable is true or false`() {
        #expect(throws: ConfigurationError("RECEIPT_SERVER_ALLOW_RSA_1024 must be 'true' or 'false', and is 'maybe'")) {
            try read([], ["RECEIPT_SERVER_ALLOW_RSA_1024": "maybe"])
        }
    }

    @Test(
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1", 8080), ("localhost:0", "localhost", 0), ("[::1]:65535", "::1", 65535),
            ("0.0.0.0:80", "0.0.0.0", 80),
        ] as [(String, String, UInt16)])
    func `an address is a host and a port`(text: String, host: String, port: UInt16) throws {
        let address = try #require(ListenAddress(text))
        #expect(address.host == host && address.port == port)
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", ":", "8080", ":8080", "host", "host:", "host:65536", "host:-1", "host:+1", "host:x", "::1:80", "[]:80",
    ])
    func `anything else is no address`(text: String) { #expect(ListenAddress(text) == nil) }

    @Test(arguments: [
        ("1", 1), ("10", 10), ("0", nil), ("11", nil), ("+5", nil), ("5x", nil),
        ("99999999999999999999", nil),
    ])
    func `a number is in its range`(text: String, number: Int?) throws {
        let values = try read(["--listen=\(text)"])
        if let number {
            #expect(try values.number("--listen", 1...10) == number)
        } else {
            #expect(throws: ConfigurationError("--listen must be a number from 1 to 10, and is '\(text)'")) {
                try values.number("--listen", 1...10)
            }
        }
    }

    @Test func `a variable of the service that belongs to no option is named`() {
        let names = ["HOME", "RECEIPT_SERVER_LISTEN", "RECEIPT_SERVER_LISTEM", "XRECEIPT_SERVER_A", "RECEIPT_SERVER_"]
        #expect(table.unknownVariables(among: names) == ["RECEIPT_SERVER_", "RECEIPT_SERVER_LISTEM"])
    }
}
