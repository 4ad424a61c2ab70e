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
    print: { text, isError in System.print(text, to: isError ? System.standardError : System.standardOutput) })
System.exit(status)
