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
        /// The name of the value in the help, such as `FILE`, or the choices, such as `a|b`; empty for an option
        /// without a value.
        let value: String
        let help: String
        let isRepeatable: Bool

        init(_ name: String, _ value: String, _ help: String, isRepeatable: Bool = false) {
            (self.name, self.value, self.help, self.isRepeatable) = (name, value, help, isRepeatable)
        }

        /// An option without a value.
        init(_ name: String, _ help: String) { self.init(name, "", help) }

        /// The choices, if the value is one of a few words.
        var choices: [String]? {
            let alternatives = alternatives
            return alternatives.count > 1 && alternatives.allSatisfy(\.isLiteral) ? alternatives.map(\.text) : nil
        }

        /// What the value may be: one or several, such as `now` and `DATE`.
        var alternatives: [Alternative] { value.split(separator: "|").map { Alternative(text: String($0)) } }

        /// The name and the value, as in the help.
        var head: String { value.isEmpty ? name : "\(name) \(value)" }
    }

    /// A value that an option or an operand may have: a word to write as it is, or the name of something in capitals.
    struct Alternative {
        let text: String

        var isLiteral: Bool { !text.contains(where: \.isUppercase) }
        var isFile: Bool { text.hasPrefix("FILE") || text.hasPrefix("SPEC") }
        var isDirectory: Bool { text == "DIR" }
    }

    /// The options that every command has.
    static let commonOptions = [Option("--help", "Show this help.")]

    var allOptions: [Option] { options + Self.commonOptions }

    /// What an operand may be, such as `FILE` and `-`.
    var operandAlternatives: [Alternative] {
        operands.filter { !"[].".contains($0) }.split(separator: "|").map { Alternative(text: String($0)) }
    }

    var usage: String {
        "receipt \(name)\(options.isEmpty ? "" : " [OPTIONS]")\(operands.isEmpty ? "" : " ")\(operands)"
    }

    /// The parts of ``notes``: paragraphs, which end at an empty line, and lines that are examples and stay as they
    /// are.
    var notesParts: [(text: String, isExample: Bool)] {
        var parts: [(text: String, isExample: Bool)] = []
        var continues = false
        for line in notes.split(separator: "\n", omittingEmptySubsequences: false) {
            let isExample = line.hasPrefix(" ")
            defer { continues = !isExample && !line.isEmpty }
            if line.isEmpty { continue }
            if !isExample, continues {
                parts[parts.count - 1].text += " " + line
            } else {
                parts.append((String(line), isExample))
            }
        }
        return parts
    }

    /// Returns the text of `--help`.
    ///
    /// - Parameter width: The width of the terminal.
    func help(width: Int) -> String {
        let width = min(max(width, 40), 100)
        var lines = "Usage: \(usage)".lines(width: width, indent: 4)
        lines += [""] + (summary + ".").lines(width: width, indent: 0) + ["", "Options:"]
        let column = min(allOptions.map(\.head.count).max() ?? 0, width > 70 ? 30 : 16) + 4
        for option in allOptions {
            let isBeside = option.head.count + 4 <= column
            let head = isBeside ? "  " + option.head.padded(to: column - 2) : String(repeating: " ", count: column)
            if !isBeside { lines.append("  " + option.head) }
            lines += option.help.lines(width: width, after: head, column, indent: column)
        }
        if !notes.isEmpty { lines.append("") }
        for part in notesParts {
            lines += part.isExample ? [part.text] : part.text.lines(width: width, indent: 0)
        }
        return lines.joined(separator: "\n")
    }
}
