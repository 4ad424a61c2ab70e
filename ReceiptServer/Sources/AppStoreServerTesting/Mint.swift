import AppStoreReceipt
import AppStoreReceiptTesting

/// Signs the items of one answer, with its fault.
struct Mint {
    let store: FakeAppStore
    let fault: FakeFault?

    func sign(_ builder: JWSBuilder) throws(FakeRefusal) -> JSONValue {
        var builder = builder
        switch fault {
        case .otherApp: if builder.bundleID != nil { builder.bundleID = Self.otherBundleID }
        case .otherEnvironment: builder.environment = otherEnvironment
        case .future: builder.signedDate = store.now + .seconds(86_400)
        case .otherTransaction:
            if builder.transactionID != nil { builder.transactionID = "999999999999999" }
            builder.originalTransactionID = "999999999999999"
        default: break
        }
        return .string(try finish(builder))
    }

    /// Signs a notification whose parts are already signed.
    func signNotification(_ builder: JWSBuilder) throws(FakeRefusal) -> JSONValue {
        var builder = builder
        switch fault {
        case .otherApp: builder.payload["data"]?["bundleId"] = .string(Self.otherBundleID)
        case .otherEnvironment: builder.payload["data"]?["environment"] = .string(otherEnvironment.name)
        case .future: builder.signedDate = store.now + .seconds(86_400)
        default: break
        }
        return .string(try finish(builder))
    }

    private static let otherBundleID = "com.example.other"
    private var otherEnvironment: AppStoreEnvironment { store.environment == .production ? .sandbox : .production }

    private func finish(_ builder: JWSBuilder) throws(FakeRefusal) -> String {
        let jws: String
        do throws(MintingError) {
            jws = try builder.signed(by: fault == .untrustedRoot ? store.strangers : store.authority)
        } catch {
            throw .internalError
        }
        guard fault == .changedSignature else { return jws }
        // Change a byte in the middle of the signature: the last character of base64 can have unused bits.
        var bytes = Array(jws.utf8)
        let place = bytes.count - 40
        bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension AppStoreEnvironment {
    /// The environment's name in Apple's answers.
    var name: String {
        switch self {
        case .production: "Production"
        case .sandbox: "Sandbox"
        case .xcode: "Xcode"
        case .localTesting: "LocalTesting"
        @unknown default: rawValue
        }
    }
}
