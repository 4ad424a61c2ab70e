import HTTPService
import ReceiptService

guard System.hasUTF8Input(variablesWith: OptionTable.Option.prefix) else {
    System.print(
        "receipt-server: an argument or a variable \(OptionTable.Option.prefix)… is not UTF-8", to: System.standardError
    )
    System.exit(2)
}
let status = ReceiptServer.run(
    Array(CommandLine.arguments.dropFirst()), environment: System.environment,
    print: { text, isError in
        if isError {
            System.print(text, to: System.standardError)
        } else if !System.print(text) {
            // What nobody could read does not count as listed.
            System.print("receipt-server: the standard output cannot be written", to: System.standardError)
            System.exit(1)
        }
    })
System.exit(status)
