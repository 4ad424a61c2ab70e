import CMSTrust
import Foundation
import SignatureTrust
import TestSupport
import Testing

/// The messages that `scripts/check/generate-openssl-messages` made with OpenSSL, and the verdict of `openssl cms
/// -verify` on each.
enum OpenSSLVectors {
    static func anchor(_ name: String) throws -> TrustAnchor { try TrustAnchor(der: OpenSSLFiles.bytes(name)) }

    /// The date at which the script verifies messages.
    static let date = Instant(year: 2026, month: 6, day: 1) ?? Instant(millisecondsSince1970: 0)

    static let verdicts: [Verdict] = {
        let text = (try? Project.text("TestVectors/pkcs7/openssl/verdicts.tsv")) ?? ""
        return text.split(separator: "\n").dropFirst().compactMap(Verdict.init)
    }()

    /// One line of the table.
    struct Verdict: CustomTestStringConvertible, Sendable {
        let message: String
        let options: [(name: String, value: String)]
        let openSSL: String
        let ours: String
        /// Why we refuse what OpenSSL accepts.
        let rule: String?

        init?(_ line: Substring) {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 5 else { return nil }
            message = fields[0]
            options = fields[1].split(separator: " ").compactMap { option in
                let parts = option.split(separator: "=").map(String.init)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }
            openSSL = fields[2]
            ours = fields[3]
            rule = fields[4] == "-" ? nil : fields[4]
        }

        var testDescription: String {
            ([message] + options.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
        }

        func values(_ name: String) -> [String] { options.filter { $0.name == name }.map(\.value) }

        func policy() throws -> CMSPolicy {
            var policy = CMSPolicy(anchors: [try anchor((values("root").first ?? "root.crt") + ".der")])
            policy.additionalCertificates = try values("extra").map { try OpenSSLFiles.bytes($0 + ".der") }
            policy.revocationLists = try values("crl").map { try OpenSSLFiles.bytes($0 + ".der") }
            policy.algorithms.allowsSHA1 = !values("sha1").isEmpty
            switch values("revocation").first {
            case "signer": policy.revocation = .signer
            case "chain": policy.revocation = .chain
            default: policy.revocation = .none
            }
            switch values("purpose").first {
            case "smimesign":
                policy.purposes = [.emailProtection]
                policy.allowsUnstatedPurposes = true
            case "timestampsign": policy.purposes = [.timeStamping]
            default: break
            }
            return policy
        }

        func date() throws -> Instant {
            guard let digits = values("at").first else { return OpenSSLVectors.date }
            func number(_ range: Range<Int>) -> Int { Int(String(Array(digits)[range])) ?? 0 }
            return try #require(
                Instant(
                    year: number(0..<4), month: number(4..<6), day: number(6..<8), hour: number(8..<10),
                    minute: number(10..<12), second: number(12..<14)))
        }

        /// `ok`, or the code of the error.
        func outcome() throws -> String {
            do {
                let message = try CMSVerifier(policy: policy()).verify(
                    OpenSSLFiles.bytes(message), detachedContent: values("content").first.map(OpenSSLFiles.bytes),
                    at: date())
                return message.signers.isEmpty ? "nobody" : "ok"
            } catch let error as CMSVerificationError {
                return error.code.rawValue
            }
        }
    }
}
