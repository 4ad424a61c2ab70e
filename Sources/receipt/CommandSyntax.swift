/// The syntax of a command, for its parser and its help.
struct CommandSyntax: Sendable {
    let name: String
    /// The line for the list of commands.
    let summary: String
    let operands: String
    /// The maximum number of operands.
    var maximumOperandCount = Int.max
    let options: [Option]
    /// The text below the options.
    var notes = ""

    struct Option: Sendable {
        /// The name, with its two hyphens.
        let name: String
        /// The name of the value in the help, such as `FILE`, or the choices, such as `a|b`; empty for an option without a value.
        let value: String
        let help: String
        var isRepeatable = false

        /// The choices, if the value is one of a few words.
        var choices: [String]? {
            value.contains("|") && value.allSatisfy { !$0.isUppercase }
                ? value.split(separator: "|").map(String.init) : nil
        }
    }

    /// The text of `--help`.
    var help: String {
        var lines = [
            "Usage: receipt \(name)\(options.isEmpty ? "" : " [OPTIONS]")\(operands.isEmpty ? "" : " ")\(operands)", "",
            summary + ".", "",
        ]
        lines.append("Options:")
        let help = Option(name: "--help", value: "", help: "Show this help.")
        let heads = (options + [help]).map { $0.value.isEmpty ? $0.name : "\($0.name) \($0.value)" }
        let width = min(heads.map(\.count).max() ?? 0, 30)
        for (option, head) in zip(options + [help], heads) {
            var texts = option.help.split(separator: "\n").map(String.init)
            if head.count > width {
                lines.append("  " + head)
            } else {
                lines.append("  " + head.padded(to: width) + "  " + (texts.isEmpty ? "" : texts.removeFirst()))
            }
            for text in texts { lines.append(String(repeating: " ", count: width + 4) + text) }
        }
        if !notes.isEmpty { lines += ["", notes] }
        return lines.joined(separator: "\n")
    }
}

/// A command: `init` reads its arguments, `run` does its work.
protocol Command: Sendable {
    static var syntax: CommandSyntax { get }
    init(_ arguments: Arguments) throws(UsageError)
    func run(_ console: inout Console) -> ExitStatus
}

extension Command {
    /// - Parameter words: The words after the name of the command.
    static func run(_ words: ArraySlice<String>, _ console: inout Console) throws(UsageError) -> ExitStatus {
        let arguments = try Arguments(words, syntax: syntax)
        guard !arguments.asksForHelp else {
            console.print(syntax.help)
            return .passed
        }
        return try Self(arguments).run(&console)
    }
}
