/// `receipt man`
struct ManCommand: Command {
    static let syntax = CommandSyntax(
        name: "man",
        summary: "Prints the manual page of this command",
        operands: "",
        maximumOperandCount: 0,
        options: [],
        notes: """
            To read it, or to install it:
              receipt man | man -l -
              receipt man > /usr/local/share/man/man1/receipt.1
            """)

    init(_ arguments: Arguments) throws(UsageError) {}

    func run(_ console: inout Console) -> ExitStatus {
        guard !console.isTerminal else {
            console.report("the manual page is in the format of man(1). To read it: receipt man | man -l -")
            return .unusable
        }
        console.print(ManualPage.text(ReceiptCommand.commands.map { $0.syntax }))
        return .passed
    }
}
