/// The scripts that complete commands, options and values in a shell. All words are from the table of options.
enum Completions {
    /// The words that are possible at a place.
    private struct Values {
        let words: [String]
        let isFile: Bool
        let isDirectory: Bool

        init(_ alternatives: [CommandSyntax.Alternative]) {
            words = alternatives.filter { $0.isLiteral && $0.text != "-" }.map(\.text)
            isFile = alternatives.contains(where: \.isFile)
            isDirectory = alternatives.contains(where: \.isDirectory)
        }
    }

    private static let topOptions = ["--help", "--version"]

    // MARK: bash

    static func bash(_ commands: [CommandSyntax]) -> String {
        var values = ""
        var lists = ""
        for command in commands {
            for option in command.options where !option.value.isEmpty {
                values += "    '\(command.name) \(option.name)') \(bash(Values(option.alternatives))) return ;;\n"
            }
            let options = command.allOptions.map(\.name).joined(separator: " ")
            lists += """
                    \(command.name)) if [[ $word == -* ]]; then _receipt_words '\(options)'
                        else \(bash(Values(command.operandAlternatives))) fi ;;

                """
        }
        let names = commands.map(\.name) + ["help"]
        return """
            # bash completion for receipt

            _receipt_words() { local IFS=$' \\n'; COMPREPLY+=($(compgen -W "$1" -- "$word")); }
            _receipt_files() {
                local file
                while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen "$1" -- "$word")
            }

            _receipt() {
                local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
                local command="${COMP_WORDS[1]}"
                COMPREPLY=()
                if ((COMP_CWORD == 1)); then
                    _receipt_words '\((names + topOptions).joined(separator: " "))'
                    return
                fi
                # bash takes the sign in --option=value for a word.
                if [[ $word == '=' ]]; then word=''; elif [[ $previous == '=' ]]; then previous="${COMP_WORDS[COMP_CWORD-2]}"; fi
                case "$command $previous" in
            \(values)    esac
                case "$command" in
            \(lists)    help) _receipt_words '\(commands.map(\.name).joined(separator: " "))' ;;
                esac
            }

            complete -o filenames -F _receipt receipt
            """
    }

    private static func bash(_ values: Values) -> String {
        var text = values.words.isEmpty ? "" : "_receipt_words '\(values.words.joined(separator: " "))';"
        if values.isFile { text += " _receipt_files -f;" } else if values.isDirectory { text += " _receipt_files -d;" }
        return text.isEmpty ? ":;" : text
    }

    // MARK: zsh

    static func zsh(_ commands: [CommandSyntax]) -> String {
        var cases = ""
        for command in commands {
            var arguments = command.allOptions.map { option in
                let name = option.name + (option.value.isEmpty ? "" : "=")
                let value = option.value.isEmpty ? "" : ":\(zshText(option.value)):\(zsh(Values(option.alternatives)))"
                let spelling = option.isRepeatable ? "*\(name)" : name
                return "'\(spelling)[\(zshText(option.help))]\(value)'"
            }
            if command.maximumOperandCount > 0 {
                let place = command.maximumOperandCount == 1 ? "1" : "*"
                arguments.append("'\(place):input:\(zsh(Values(command.operandAlternatives)))'")
            }
            cases += "    \(command.name)) _arguments -S \(arguments.joined(separator: " \\\n        ")) ;;\n"
        }
        let names = commands.map { "'\($0.name):\(zshText($0.summary))'" }.joined(separator: "\n        ")
        return """
            #compdef receipt

            _receipt() {
                local -a commands
                commands=(
                    \(names)
                    'help:Describes a command'
                )
                if (( CURRENT == 2 )); then
                    _describe command commands
                    return
                fi
                shift words
                (( CURRENT-- ))
                case $words[1] in
            \(cases)    help) _describe command commands ;;
                esac
            }

            if [ "$funcstack[1]" = "_receipt" ]; then _receipt "$@"; else compdef _receipt receipt; fi
            """
    }

    private static func zsh(_ values: Values) -> String {
        if values.isFile { return "_files" }
        if values.isDirectory { return "_files -/" }
        return values.words.isEmpty ? " " : "(\(values.words.joined(separator: " ")))"
    }

    /// Escapes text for single quotes in which `[`, `]` and `:` are special.
    private static func zshText(_ text: String) -> String {
        escaped(text, ["[": "\\[", "]": "\\]", ":": "\\:", "'": "'\\''"])
    }

    // MARK: fish

    static func fish(_ commands: [CommandSyntax]) -> String {
        var lines = ["# fish completion for receipt", "complete -c receipt -f"]
        for option in topOptions {
            lines.append("complete -c receipt -n __fish_use_subcommand -l \(option.dropFirst(2))")
        }
        for command in commands {
            let isGiven = "-n '__fish_seen_subcommand_from \(command.name)'"
            lines.append(
                "complete -c receipt -n __fish_use_subcommand -a \(command.name) -d '\(fishText(command.summary))'")
            for option in command.allOptions {
                let value = option.value.isEmpty ? "" : " -r" + fish(Values(option.alternatives))
                lines.append(
                    "complete -c receipt \(isGiven) -l \(option.name.dropFirst(2))\(value) -d '\(fishText(option.help))'"
                )
            }
            let operands = Values(command.operandAlternatives)
            let text = fish(operands)
            if !text.isEmpty { lines.append("complete -c receipt \(isGiven)\(text)") }
        }
        return lines.joined(separator: "\n")
    }

    private static func fish(_ values: Values) -> String {
        let words = values.words.isEmpty ? "" : " -a '\(values.words.joined(separator: " "))'"
        if values.isFile { return words + " -F" }
        return values.isDirectory ? words + " -a '(__fish_complete_directories)'" : words
    }

    private static func fishText(_ text: String) -> String { escaped(text, ["\\": "\\\\", "'": "\\'"]) }

    private static func escaped(_ text: String, _ escapes: [Character: String]) -> String {
        text.map { escapes[$0] ?? String($0) }.joined()
    }
}
