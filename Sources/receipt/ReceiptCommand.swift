/// The command line: `receipt COMMAND …`.
@main
struct ReceiptCommand {
    static let version = "0.3.0"
    static let commands: [any Command.Type] = [
        VerifyCommand.self, EntitlementsCommand.self, ReportCommand.self, BatchCommand.self, DecodeCommand.self,
        ASN1Command.self,
        CMSCommand.self, RootsCommand.self, MintCommand.self,
        AuthorityCommand.self, SignOfferCommand.self, CompletionsCommand.self, ManCommand.self,
    ]

    static func main() {
        System.setIgnored(true, signal: System.pipeSignal)
        var console = Console.standard()
        let status =
            if let words = System.arguments { run(words, &console) } else { complain(.notUTF8, "", &console) }
        let final = console.finish(status)
        System.exit(final.rawValue, atOnce: final.leavesThreads)
    }

    /// - Parameter words: the arguments without the program's name.
    static func run(_ words: [String], _ console: inout Console) -> ExitStatus {
        guard let name = words.first else { return complain(.noCommand, "", &console) }
        switch name {
        case "--help", "-h": return show(help, &console)
        case "--version": return show("receipt \(version)", &console)
        case "help":
            guard let topic = words.dropFirst().first else { return show(help, &console) }
            return run([topic, "--help"], &console)
        default: break
        }
        guard let command = commands.first(where: { $0.syntax.name == name }) else {
            let known = commands.map { $0.syntax.name } + ["help", "--help", "--version"]
            return complain(.unknownCommand(name, suggestion: nearest(to: name, in: known)), "", &console)
        }
        do throws(UsageError) {
            return try command.run(words.dropFirst(), &console)
        } catch {
            return complain(error, " \(name)", &console)
        }
    }

    private static func show(_ text: String, _ console: inout Console) -> ExitStatus {
        console.print(text)
        return .passed
    }

    private static func complain(_ error: UsageError, _ command: String, _ console: inout Console) -> ExitStatus {
        console.report("\(error)\nTry 'receipt\(command) --help'.")
        return .unusable
    }

    static let summary = "Verifies App Store receipts and StoreKit 2 data offline, and shows their contents."

    static var help: String {
        let width = commands.map { $0.syntax.name.count }.max() ?? 0
        let list = commands.map { "  \($0.syntax.name.padded(to: width))  \($0.syntax.summary)" }
        return """
            Usage: receipt COMMAND [ARGUMENTS]

            \(summary)

            Commands:
            \(list.joined(separator: "\n"))

            'receipt COMMAND --help' describes a command. 'receipt --version' prints the version.
            """
    }
}
