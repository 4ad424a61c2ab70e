import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerTesting

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// An App Store on this machine for tests in any language. See ReceiptServer/TEST-YOUR-BACKEND.md.

let help = """
    Usage: fake-app-store --port PORT --root-out FILE [OPTIONS]

      --port PORT            Listens on 127.0.0.1; 0 for any free port
      --root-out FILE        Writes the root that a tested backend must trust: DER, or PEM for a name that ends in .pem
      --key-out FILE         Writes the private key for tokens (.p8); readable by its owner only
      --key-id ID            The id of that key; FAKEKEY123 by default
      --issuer-id ID         The issuer id; 57246542-96fe-1a63-e053-0824d011072a by default
      --bundle-id ID         The app; com.example.app by default
      --environment NAME     sandbox (the default) or production
      --notifications URL    Sends notifications there
      --clock DATE           Where the clock stands, such as 2026-01-31T12:00:00Z; by default it runs with the system's

    It prints one line of JSON when it listens, and ends with SIGTERM or SIGINT.
    """

func stop(_ message: String) -> Never {
    let text = Array("fake-app-store: \(message)\n\n\(help)\n".utf8)
    _ = unsafe write(STDERR_FILENO, text, text.count)
    exit(2)
}

/// Writes a file anew. An old one may have had other permissions.
func save(_ bytes: [UInt8], to path: String, mode: mode_t) {
    _ = unsafe unlink(path)
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL, mode)
    guard file >= 0, unsafe write(file, bytes, bytes.count) == bytes.count, close(file) == 0 else {
        stop("cannot write \(path)")
    }
}

var store = FakeAppStore.Options()
var port: UInt16?
var rootPath: String?
var keyPath: String?
var arguments = CommandLine.arguments.dropFirst()
while let name = arguments.popFirst() {
    if name == "--help" {
        print(help)
        exit(0)
    }
    guard let value = arguments.popFirst(), !value.isEmpty else { stop("\(name) needs a value") }
    switch name {
    case "--port":
        guard let number = UInt16(value) else { stop("--port must be 0 to 65535") }
        port = number
    case "--root-out": rootPath = value
    case "--key-out": keyPath = value
    case "--key-id": store.keyID = value
    case "--issuer-id": store.issuerID = value
    case "--bundle-id": store.bundleID = value
    case "--environment":
        switch value {
        case "sandbox": store.environment = .sandbox
        case "production": store.environment = .production
        default: stop("--environment must be sandbox or production")
        }
    case "--notifications":
        guard value.hasPrefix("http://") || value.hasPrefix("https://") else {
            stop("--notifications must be an http: or https: URL")
        }
        store.receiver = NotificationReceivers.http(value)
    case "--clock":
        guard let date = FakeAppStore.date(value) else { stop("--clock must be a date such as 2026-01-31T12:00:00Z") }
        store.date = date
    default: stop("unknown option \(name)")
    }
}
guard let port, let rootPath else { stop("--port and --root-out are required") }

do {
    let store = try FakeAppStore(store)
    save(store.rootFile(isPEM: rootPath.hasSuffix(".pem")), to: rootPath, mode: 0o644)
    if let keyPath { save(try store.clientKey.pem(), to: keyPath, mode: 0o600) }
    // These end the process, also when it was started in the background of a script, where SIGINT is ignored.
    signal(SIGINT, SIG_DFL)
    let server = try FakeAppStoreServer(store, port: port)
    let fields = [
        ("url", server.url), ("key_id", store.options.keyID), ("issuer_id", store.options.issuerID),
        ("bundle_id", store.options.bundleID),
        ("environment", store.environment == .production ? "Production" : "Sandbox"),
    ]
    print(String(decoding: JSONValue.object(fields.map { .init($0.0, .string($0.1)) }).bytes, as: UTF8.self))
    fflush(nil)
    while true { pause() }
} catch {
    stop("\(error)")
}
