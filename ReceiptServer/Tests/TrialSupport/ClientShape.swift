package import AppStoreReceipt
import Foundation

/// What a client sends instead of evidence or around it: a line of `TestVectors/clients/expectations.json`, whose cases
/// all languages run, too.
package struct ClientShape: Decodable, Sendable {
    package let file: String
    /// What is verified; `nil` if it is refused.
    package let kind: String?
    package let unwrapped: [String]?
    /// Why it is refused.
    package let code: String?
    package let path: String?
    package let found: String?
    package let expected: String?

    private static let vectors = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../TestVectors").standardized

    private static func contents(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: vectors.appending(path: file)))
    }

    package static func all() throws -> [ClientShape] {
        try JSONDecoder().decode([ClientShape].self, from: Data(contents("clients/expectations.json")))
    }

    /// What is sent.
    package var contents: [UInt8] { get throws { try Self.contents(file) } }

    /// What is sent as a text, which can stand in JSON; `nil` for binary.
    package var text: String? { get throws { String(validating: try contents, as: UTF8.self) } }

    package static func policy(isStrict: Bool = false) -> VerificationPolicy {
        var policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production])
        policy.allowsRSA1024TransactionReceipts = true
        policy.requiresStrictForm = isStrict
        return policy
    }

    package static var trust: AppStoreTrust {
        get throws {
            let roots = try ["root.der", "ec-root.der"].map { try TrustAnchor(der: contents("authority/\($0)")) }
            let issuers = try ["itunes-store.der", "intermediate.der"].map {
                try TransactionReceiptIssuer(der: contents("authority/\($0)"))
            }
            return .roots(roots).adding(issuers)
        }
    }
}
