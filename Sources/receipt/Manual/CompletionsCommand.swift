/// `receipt completions`
struct CompletionsCommand: Command {
    static let syntax = CommandSyntax(
        name: "completions",
        summary: "Prints the completions of this command for a shell",
        operands: "bash|zsh|fish",
        maximumOperandCount: 1,
        options: [],
        notes: """
            To use them, write them where the shell looks for completions:
              receipt completions bash > ~/.local/share/bash-completion/completions/receipt
              receipt completions zsh > ~/.zfunc/_receipt      # with fpath+=~/.zfunc before compinit
              receipt completions fish > ~/.config/fish/completions/receipt.fish
            """)

    private let shell: Shell

    enum Shell: String, CaseIterable { case bash, zsh, fish }

    init(_ arguments: Arguments) throws(UsageError) {
        let names = Shell.allCases.map(\.rawValue)
        guard let name = arguments.operands.first else { throw .missingOption(Self.syntax.operands) }
        guard let shell = Shell(rawValue: name) else {
            throw .unknownShell(name, suggestion: nearest(to: name, in: names))
        }
        self.shell = shell
    }

    func run(_ console: inout Console) -> ExitStatus {
        let commands = ReceiptCommand.commands.map { $0.syntax }
        switch shell {
        case .bash: console.print(Completions.bash(commands))
        case .zsh: console.print(Completions.zsh(commands))
        case .fish: console.print(Completions.fish(commands))
        }
        return .passed
    }
}
