@testable import ReceiptService
import StrictText
import Testing

@Suite struct CommandTests {
    private func help(_ arguments: [String]) -> String {
        var text = ""
        let status = ReceiptServer.run(arguments, environment: { _ in nil }) { line, _ in text += line + "\n" }
        #expect(status == 0)
        return text
    }

    private func options(in help: String) -> [String] {
        help.split(separator: "\n").filter { $0.hasPrefix("  --") }.map { String($0.dropFirst(2).prefix { $0 != " " }) }
    }

    @Test(arguments: ReceiptServer.Command.allCases)
    func `the help of a command lists its options, and no others`(_ command: ReceiptServer.Command) {
        let text = help([command.rawValue, "--help"])
        #expect(text.hasPrefix("usage: receipt-server \(command.rawValue) "))
        #expect(options(in: text) == command.options.options.map(\.name))
        #expect(!options(in: text).contains("--token-file"))
        // The service's own names the command.
        #expect(help(["--help"]).contains("receipt-server \(command.usage)\n"))
    }
}
