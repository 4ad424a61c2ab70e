import AppStoreReceipt
import Foundation
import SignatureTrust
import SpanASN1
import Testing

/// The table of limits in SECURITY.md is what the code has for defaults.
@Suite struct LimitsTests {
    static let rows: [(what: String, default: String)] = {
        let receipt = VerificationLimits()
        let cms = CMSLimits()
        let asn1 = ASN1Limits()
        let gate = BERGate()
        let policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        let rsa = AlgorithmPolicy().rsaKeySizes
        return [
            ("binary receipt", mebibytes(receipt.maximumByteCount)),
            ("certificates in a receipt", "\(receipt.maximumCertificateCount)"),
            ("purchases in a receipt", grouped(receipt.maximumPurchaseCount)),
            ("RSA modulus", "\(rsa.lowerBound)–\(rsa.upperBound) bits"),
            (
                "nesting in BER",
                "\(gate.maximumDepth) levels, \(gate.maximumElementCount) elements outside certificates and strings"
            ),
            (
                "elements walked",
                "\(asn1.maximumDepth) levels, \(grouped(asn1.maximumElementCount)) elements, \(mebibytes(asn1.maximumByteCount))"
            ),
            ("App Store signed data (JWS)", mebibytes(VerificationLimits().maximumJWSByteCount)),
            (
                "other signed messages",
                "\(mebibytes(cms.maximumByteCount)); \(cms.maximumSignerCount) signers, \(cms.maximumCertificateCount) certificates, \(cms.maximumRevocationInfoCount) revocation lists, \(cms.maximumAttributeCount) attributes a signer, \(cms.maximumIntermediateCount) intermediates; \(cms.maximumIssuerCheckCount) checks of issuers, \(cms.maximumPathCount) paths tried"
            ),
        ]
    }()

    @Test(arguments: rows.indices)
    func `a limit is the one in SECURITY.md`(index: Int) throws {
        let row = Self.rows[index]
        let lines = try Document.lines(of: "SECURITY.md")
        #expect(lines.contains { $0.hasPrefix("| \(row.what) | \(row.default) |") }, "\(row)")
    }

    private static func mebibytes(_ count: Int) -> String { "\(count >> 20) MiB" }

    private static func grouped(_ number: Int) -> String {
        var groups: [String] = []
        var rest = String(number)[...]
        while !rest.isEmpty {
            groups.insert(String(rest.suffix(3)), at: 0)
            rest = rest.dropLast(3)
        }
        return groups.joined(separator: ",")
    }
}

/// A text of the project.
enum Document {
    static func lines(of name: String) throws -> [String] {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        return try String(contentsOfFile: root + "/" + name, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
