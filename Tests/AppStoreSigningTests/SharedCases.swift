import Foundation
import LibcryptoHandles
import Testing

@testable import AppStoreSigning

/// The file of cases that every language runs: `Bindings/cases/signing.json`.
struct SharedCases: Decodable {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let call: String
        let arguments: Arguments
        let expect: Expectation
        var testDescription: String { name }

        /// The arguments as the library's JSON has them.
        var json: [UInt8]? {
            let text = try? String(
                contentsOf: SharedCases.folder.deletingLastPathComponent().appending(path: "signing.json"),
                encoding: .utf8)
            let all = (try? JSONSerialization.jsonObject(with: Data((text ?? "").utf8))) as? [String: Any]
            let cases = all?["cases"] as? [[String: Any]]
            guard let own = cases?.first(where: { $0["name"] as? String == name }) else { return nil }
            var members = own["arguments"] as? [String: Any] ?? [:]
            members["sign"] = call
            return (try? JSONSerialization.data(withJSONObject: members)).map { Array($0) }
        }
    }

    struct Arguments: Decodable, Sendable {
        let product_id, offer_id, transaction_id, app_account_token, application_username, request: String?
        let allow_introductory_offer: Bool?
    }

    /// The claims beside those that every JWS has, or the parts of the message before the nonce, or a refusal.
    struct Expectation: Decodable, Sendable {
        let claims: [String: Value]?
        let message: [String]?
        let code, argument, kind: String?
    }

    enum Value: Decodable, Equatable, Sendable {
        case text(String), flag(Bool), number(Int)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    struct Key: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let expect: Expectation
        var testDescription: String { file }
    }

    struct ID: Decodable, Sendable {
        let argument, value: String
        let expect: Expectation
    }

    let key_id, issuer_id, bundle_id: String
    let cases: [Case]
    let keys: [Key]
    let ids: [ID]

    static let folder = URL(filePath: #filePath).appending(path: "../../../Bindings/cases/signing").standardized
    static let all = Result {
        try JSONDecoder().decode(
            SharedCases.self,
            from: Data(contentsOf: folder.deletingLastPathComponent().appending(path: "signing.json")))
    }
    static let cases = (try? all.get().cases) ?? []
    static let keys = (try? all.get().keys) ?? []

    static func bytes(of file: String) throws -> [UInt8] { try Array(Data(contentsOf: folder.appending(path: file))) }

    static func signer() throws -> AppStoreSigner {
        let all = try all.get()
        return try AppStoreSigner(
            keyID: all.key_id, issuerID: all.issuer_id, bundleID: all.bundle_id,
            key: InAppPurchaseKey(p8: bytes(of: "key.p8")))
    }

    /// The public half, as `openssl pkey -pubout` wrote it.
    static func publicKey() throws -> PublicKey {
        let text = String(decoding: try bytes(of: "public.pem"), as: UTF8.self)
        let base64 = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        return try PublicKey(subjectPublicKeyInfo: Array(#require(Data(base64Encoded: base64))).span)
    }
}

/// A folder for the time of one test.
final class TemporaryFolder {
    let url = FileManager.default.temporaryDirectory.appending(path: "signing-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file with rights, and returns its path.
    func write(_ name: String, _ bytes: [UInt8], rights: Int = 0o600) throws -> String {
        let file = url.appending(path: name)
        try Data(bytes).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: rights], ofItemAtPath: file.path)
        return file.path
    }
}
