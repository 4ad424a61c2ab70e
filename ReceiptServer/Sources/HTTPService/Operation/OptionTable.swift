/// The options of a service: command line options, each with an environment variable.
package struct OptionTable: Sendable {
    package struct Option: Sendable {
        /// The option's name, such as `--listen`.
        package let name: String
        /// The placeholder for the value in the help text, empty for an option without a value.
        package let value: String
        package let help: String
        package let isRepeatable: Bool
        /// The separator of several values in the variable.
        private let separator: Character
        package static let prefix = "RECEIPT_SERVER_"

        package init(
            _ name: String, _ value: String, isRepeatable: Bool = false, separator: Character = ",", _ help: String
        ) {
            self.name = name
            self.value = value
            self.help = help
            self.isRepeatable = isRepeatable
            self.separator = separator
        }

        /// Returns the values in the text of a variable.
        func values(_ text: String) -> [String] {
            isRepeatable ? text.split(separator: separator, omittingEmptySubsequences: false).map(String.init) : [text]
        }

        /// The name of the variable, such as `RECEIPT_SERVER_BUNDLE_ID`.
        package var variable: String {
            Self.prefix
                + String(
                    decoding: name.dropFirst(2).utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0 },
                    as: UTF8.self
                )
                .uppercased()
        }
    }

    package let options: [Option]
    /// The command that has these options, or `nil` for the service itself.
    private let command: String?

    package init(_ options: [Option], command: String? = nil) {
        self.options = options
        self.command = command
    }

    /// The values of options, by the options' names.
    package struct Values: Sendable {
        fileprivate var values: [String: [String]] = [:]

        package func all(_ name: String) -> [String] { values[name] ?? [] }
        package subscript(name: String) -> String? { values[name]?.last }
    }

    /// Reads arguments, and the variables of options that aren't among the arguments.
    ///
    /// - Parameters:
    ///   - arguments: The arguments without the name of the command.
    ///   - environment: Returns the value of an environment variable.
    package func read(
        _ arguments: [String], environment: (String) -> String?
    ) throws(ConfigurationError) -> Values {
        var values = Values()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let option = options.first(where: { $0.name == parts[0] }) else {
                let (of, help) = command.map { (" of '\($0)'", "'\($0) --help'") } ?? ("", "--help")
                throw ConfigurationError("'\(argument)' is no option\(of); \(help) lists them")
            }
            let value: String
            if option.value.isEmpty {
                guard parts.count == 1 else { throw ConfigurationError("\(option.name) takes no value") }
                value = ""
            } else if parts.count == 2 {
                value = String(parts[1])
            } else {
                guard let next = rest.popFirst() else {
                    throw ConfigurationError("\(option.name) needs a value: \(option.value)")
                }
                value = next
            }
            // Don't treat an empty value as unset: without a bundle id, every app is accepted.
            guard option.value.isEmpty || !value.isEmpty else {
                throw ConfigurationError("\(option.name) must not be empty")
            }
            guard option.isRepeatable || values.values[option.name] == nil else {
                throw ConfigurationError("\(option.name) is given twice")
            }
            values.values[option.name, default: []].append(value)
        }
        for option in options where values.values[option.name] == nil {
            guard let text = environment(option.variable) else { continue }
            if option.value.isEmpty {
                switch text {
                case "1", "true", "yes": values.values[option.name] = [""]
                case "0", "false", "no": break
                default: throw ConfigurationError("\(option.variable) must be 'true' or 'false', and is '\(text)'")
                }
            } else {
                let all = option.values(text)
                guard !all.contains("") else {
                    throw ConfigurationError("\(option.variable) must not be empty: give it a value, or remove it")
                }
                values.values[option.name] = all
            }
        }
        return values
    }

    /// Returns the variables with the service's prefix that belong to no option, such as misspelled ones.
    package func unknownVariables(among names: [String]) -> [String] {
        names.filter { name in
            name.utf8.starts(with: Option.prefix.utf8) && !options.contains { $0.variable == name }
        }.sorted()
    }

    /// The help text: one paragraph for each option, with its variable.
    package var help: String {
        options.map { option in
            let head = "  " + option.name + (option.value.isEmpty ? "" : " " + option.value)
            let tail = (option.isRepeatable ? " May be repeated." : "") + " [\(option.variable)]"
            return head + "\n" + Self.wrapped(option.help + tail, indent: "      ")
        }.joined(separator: "\n")
    }

    private static func wrapped(_ text: String, indent: String) -> String {
        var lines: [String] = []
        var line = indent
        for word in text.split(separator: " ") {
            if line.utf8.count + word.utf8.count + 1 > 100, line.utf8.count > indent.utf8.count {
                lines.append(line)
                line = indent
            }
            line += (line.utf8.count > indent.utf8.count ? " " : "") + word
        }
        return (lines + [line]).joined(separator: "\n")
    }
}

/// The reason a service can't start.
package struct ConfigurationError: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// Whether the same configuration may work a second later, for example when a database answers again.
    package let isTemporary: Bool

    package init(_ description: String, isTemporary: Bool = false) {
        self.description = description
        self.isTemporary = isTemporary
    }
}

extension OptionTable.Values {
    /// Returns the value of an option as a number, or `nil` if it isn't set.
    package func number(_ name: String, _ range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else {
            throw ConfigurationError(
                "\(name) must be a number from \(range.lowerBound) to \(range.upperBound), and is '\(text)'")
        }
        return number
    }

    /// Returns the value of an option in seconds, or `nil` if it isn't set.
    package func seconds(_ name: String, _ range: ClosedRange<Int> = 1...3600) throws(ConfigurationError) -> Duration? {
        try number(name, range).map { .seconds($0) }
    }

    /// Returns the value of an option as an address, or `nil` if it isn't set.
    package func address(_ name: String) throws(ConfigurationError) -> ListenAddress? {
        guard let text = self[name] else { return nil }
        guard let address = ListenAddress(text) else {
            throw ConfigurationError(
                "\(name) must be a host and a port, such as 127.0.0.1:8080 or [::1]:8080, and is '\(text)'")
        }
        return address
    }
}
