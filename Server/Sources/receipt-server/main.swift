import HTTPService
import ReceiptService

let status = ReceiptServer.run(
    Array(CommandLine.arguments.dropFirst()), environment: System.environment,
    print: { text, isError in System.print(text, to: isError ? System.standardError : System.standardOutput) })
System.exit(status)
