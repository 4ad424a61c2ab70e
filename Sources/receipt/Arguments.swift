import Instants
import StrictText

/// The parsed arguments of a command: `--option value`, `--option=value`, and operands. `--` ends the options.
struct Arguments {
    private(set) var operands: [String] = []
    private var options: [String: [String]] = [:]
    /// Whether `--help` was given. Then other arguments are ignored.
    private(set) var asksForHelp = false

    /// - Parameter words: The words after the name of the command.
    init(_ words: some Sequence<String>, syntax: CommandSyntax) throws(UsageError) {
        var words = Array(words)[...]
        while let word = words.popFirst() {
            if word == "--" {
                operands += words
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                operands.append(word)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if parts[0] == "--help" || word == "-h" {
                asksForHelp = true
                return
            }
            guard let option = syntax.options.first(where: { $0.name == parts[0] }) else {
                throw .unknownOption(parts[0], suggestion: nearest(to: parts[0], in: syntax.allOptions.map(\.name)))
            }
            guard !option.value.isEmpty else {
                guard parts.count == 1 else { throw .unexpectedValue(option.name) }
                options[option.name] = [""]
                continue
            }
            // A word that looks like an option is one: the value is missing. With `=` it may be anything.
            let value = parts.count == 2 ? parts[1] : words.first.flatMap { $0.hasPrefix("--") ? nil : $0 } ?? ""
            guard !value.isEmpty else { throw .missingValue(option: option.name, value: option.value) }
            if parts.count == 1 { words.removeFirst() }
            if let choices = option.choices, !choices.contains(value) {
                throw .invalidValue(
                    option: option.name, value: value, expected: choices.joined(separator: ", "),
                    suggestion: nearest(to: value, in: choices))
            }
            guard option.isRepeatable || options[option.name] == nil else { throw .repeatedOption(option.name) }
            options[option.name, default: []].append(value)
        }
        guard operands.count <= syntax.maximumOperandCount else {
            throw .unexpectedOperand(operands[syntax.maximumOperandCount])
        }
    }

    /// Returns the last value of an option; empty for an option without a value.
    subscript(option: String) -> String? { options[option]?.last }

    /// Returns the number of an option.
    func number(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = self[option] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .invalidValue(
                option: option, value: text, expected: "\(range.lowerBound) to \(range.upperBound)", suggestion: nil)
        }
        return number
    }

    func all(_ option: String) -> [String] { options[option] ?? [] }

    /// Returns the files to read: the operands, or standard input if there are none and it is not a terminal.
    ///
    /// - Parameter word: A word that may stand before them.
    func inputs(after word: String? = nil) throws(UsageError) -> [FileInput] {
        var operands = operands[...]
        if let word, operands.first == word { operands.removeFirst() }
        if operands.isEmpty {
            guard !System.isTerminal(System.standardInput) else { throw .noInput }
            return [.standardInput]
        }
        return operands.map { FileInput($0) }
    }
}

/// The errors of using a command.
enum UsageError: Error, Hashable {
    case noCommand
    case unknownCommand(String, suggestion: String?)
    case unknownShell(String, suggestion: String?)
    case unknownOption(String, suggestion: String?)
    case missingValue(option: String, value: String)
    case invalidValue(option: String, value: String, expected: String, suggestion: String?)
    case unexpectedValue(String)
    case repeatedOption(String)
    case conflictingOptions(String, String)
    case unexpectedOperand(String)
    case noInput
    case missingOption(String)
    case notUTF8
}

extension UsageError: CustomStringConvertible {
    var description: String {
        switch self {
        case .noCommand: "a command is needed"
        case .unknownCommand(let name, let suggestion):
            "there is no command '\(name.printable)'" + Self.ask(suggestion)
        case .unknownShell(let name, let suggestion):
            "there are no completions for '\(name.printable)'" + Self.ask(suggestion)
        case .unknownOption(let name, let suggestion):
            "there is no option '\(name.printable)'" + Self.ask(suggestion)
        case .missingValue(let option, let value): "\(option) needs a value: \(option) \(value)"
        case .invalidValue(let option, let value, let expected, let suggestion):
            "\(option) cannot be '\(value.printable)'" + (suggestion == nil ? "; expected: \(expected)" : "")
                + Self.ask(suggestion)
        case .unexpectedValue(let option): "\(option) takes no value"
        case .repeatedOption(let option): "\(option) can be given once only"
        case .conflictingOptions(let first, let second): "\(first) and \(second) exclude each other"
        case .unexpectedOperand(let operand): "one argument too many: '\(operand.printable)'"
        case .missingOption(let option): "\(option) is needed"
        case .notUTF8: "an argument is not UTF-8; pass such a file by standard input"
        case .noInput: "no input: name a file, or pass '-' to read standard input"
        }
    }

    private static func ask(_ suggestion: String?) -> String {
        suggestion.map { "; did you mean '\($0)'?" } ?? ""
    }
}

extension Instant {
    /// Reads the value of an option: RFC 3339, or a date alone, which is its first moment in UTC.
    ///
    /// - Parameter words: The words that the option takes instead of a date, for the error.
    init(option: String, _ text: String, orOneOf words: [String]) throws(UsageError) {
        guard let date = Instant(specified: text) else {
            let instead = words.isEmpty ? "" : words.joined(separator: ", ") + ", or "
            throw .invalidValue(
                option: option, value: text,
                expected: "\(instead)a date such as 2025-01-31 or 2025-01-31T12:00:00Z",
                suggestion: nearest(to: text, in: words))
        }
        self = date
    }
}
