package import HTTPService

/// The options of the desk.
package struct SupportConfiguration: Sendable {
    package let address: ListenAddress
    let origin: SupportOrigin

    package static let options: [OptionTable.Option] = [
        .init(
            "--support", "HOST:PORT",
            "Where to listen for the support desk, a page for staff with a token of the scope 'support'; a port alone is one of 127.0.0.1. Needs --ledger: see SUPPORT.md."
        ),
        .init(
            "--support-origin", "ORIGIN",
            "The scheme and the host with which browsers reach the desk, such as https://desk.example.com. Required behind a proxy."
        ),
    ]

    /// Creates the configuration that the options describe, or returns `nil` without `--support`.
    package init?(_ values: OptionTable.Values) throws(ConfigurationError) {
        guard let text = values["--support"] else {
            guard values["--support-origin"] == nil else {
                throw ConfigurationError("--support-origin needs --support")
            }
            return nil
        }
        guard values["--ledger"] != nil else { throw ConfigurationError("--support needs --ledger") }
        let isPort = text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
        guard let address = ListenAddress(isPort ? "127.0.0.1:\(text)" : text) else {
            throw ConfigurationError(
                "--support must be a host and a port, such as 127.0.0.1:8081, or a port, and is '\(text)'")
        }
        self.address = address
        origin = try SupportOrigin(values["--support-origin"])
    }

    /// Whether tokens and sessions can cross a network in clear text.
    package var isExposed: Bool {
        let loopback = ["127.0.0.1", "::1", "[::1]", "localhost"]
        return !origin.isSecure && !loopback.contains { $0.utf8.elementsEqual(address.host.utf8) }
    }
}
