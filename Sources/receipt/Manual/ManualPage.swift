/// The manual page in roff, with the macros of man(7).
enum ManualPage {
    static func text(_ commands: [CommandSyntax]) -> String {
        var lines = [
            ".TH RECEIPT 1 \"\" \"receipt \(ReceiptCommand.version)\" \"User Commands\"", ".SH NAME",
            "receipt \\- verify App Store receipts and StoreKit 2 data offline", ".SH SYNOPSIS", ".B receipt",
            ".I COMMAND", "[\\fIARGUMENTS\\fR]", ".SH DESCRIPTION", escaped(ReceiptCommand.summary), ".SH COMMANDS",
        ]
        for command in commands { lines += section(command) }
        lines.append(".SH EXIT STATUS")
        for (status, meaning) in ExitStatus.meanings { lines += [".TP", ".B \(status)", escaped(meaning)] }
        lines.append(".SH ENVIRONMENT")
        for (name, meaning) in Style.variables { lines += [".TP", ".B \(name)", escaped(meaning)] }
        return lines.joined(separator: "\n")
    }

    private static func section(_ command: CommandSyntax) -> [String] {
        var lines = [".SS \(command.name)", ".B \(escaped(command.usage))", ".PP", escaped(command.summary + ".")]
        for option in command.allOptions {
            let value = option.value.isEmpty ? "" : " \\fI\(escaped(option.value))\\fR"
            lines += [".TP", "\\fB\(escaped(option.name))\\fR\(value)", escaped(option.help)]
        }
        var isExample = false
        for part in command.notesParts {
            if part.isExample != isExample { lines.append(part.isExample ? ".PP\n.nf" : ".fi") }
            if !part.isExample { lines.append(".PP") }
            lines.append(escaped(part.text))
            isExample = part.isExample
        }
        return isExample ? lines + [".fi"] : lines
    }

    /// Escapes a text for roff. Hyphens can be copied into a shell.
    private static func escaped(_ text: String) -> String {
        let escapes: [Character: String] = ["\\": "\\e", "-": "\\-", "'": "\\(aq", "~": "\\(ti", "`": "\\(ga"]
        let text = text.map { escapes[$0] ?? String($0) }.joined()
        return text.hasPrefix(".") ? "\\&" + text : text
    }
}
