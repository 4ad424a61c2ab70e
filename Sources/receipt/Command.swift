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
            console.print(syntax.help(width: console.style.width ?? 80))
            return .passed
        }
        console.style = console.style.applying(arguments)
        return try Self(arguments).run(&console)
    }
}
