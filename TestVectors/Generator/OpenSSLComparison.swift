import AppStoreReceipt
import Foundation
import StrictText

/// What `openssl cms -verify` says of the binary vectors, beside what they are said to deserve.
///
/// It judges at the receipt's creation date, with the vector's own roots as the only ones.
struct OpenSSLComparison {
    /// A vector that OpenSSL accepts and we refuse, or the other way round.
    struct Disagreement {
        let file: String
        let code: String?
        /// `nil` where there is none that we know of.
        let reason: String?
    }

    private(set) var count = 0
    private(set) var refusedByBoth = 0
    private(set) var acceptedByBoth = 0
    private(set) var disagreements: [Disagreement] = []

    init(_ expectations: [VectorExpectation], directory: URL) throws {
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: scratch) }
        // Texts are not OpenSSL's affair, and its PEM is laxer than ours.
        for expectation in expectations where !expectation.file.hasPrefix("requests/") {
            let file = directory.appendingPathComponent(expectation.file)
            let options = expectation.verifier ?? VerifierOptions()
            let roots = scratch.appendingPathComponent("roots.pem")
            try (options.storeKitTesting ?? options.roots ?? ["root.der"]).map { name in
                let certificate = try Data(contentsOf: directory.appendingPathComponent("authority/" + name))
                return "-----BEGIN CERTIFICATE-----\n"
                    + certificate.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
                    + "\n-----END CERTIFICATE-----\n"
            }.joined().write(to: roots, atomically: true, encoding: .utf8)

            let date = try Self.validationDate(options, of: Data(contentsOf: file))
            let isAccepted = try Self.run([
                "openssl", "cms", "-verify", "-binary", "-purpose", "any", "-CAfile", roots.path, "-no-CApath",
                "-no-CAstore", "-attime", String(date.secondsSince1970), "-inform", "DER", "-in", file.path,
                "-out", "/dev/null",
            ])
            count += 1
            switch (expectation.verdict == "accepted", isAccepted) {
            case (true, true): acceptedByBoth += 1
            case (false, false): refusedByBoth += 1
            case (true, false):
                let isRenewal = expectation.file == "certificates/renewed-root-as-trust.der"
                disagreements.append(
                    .init(
                        file: expectation.file, code: nil,
                        reason: isRenewal ? "OpenSSL tries the first anchor of a name, and no other" : nil))
            case (false, true):
                disagreements.append(
                    .init(file: expectation.file, code: expectation.code, reason: Self.reason(expectation)))
            }
        }
    }

    func print() {
        Swift.print("\(count) binary vectors: \(acceptedByBoth) accepted by both, \(refusedByBoth) refused by both\n")
        for (reason, group) in Dictionary(grouping: disagreements, by: \.reason).sorted(by: {
            $0.value.count > $1.value.count
        }) {
            Swift.print("\(group.count) × \(reason ?? "WITHOUT A KNOWN REASON")")
            for disagreement in group.sorted(by: { $0.file < $1.file }) {
                Swift.print(
                    "    \(disagreement.file): "
                        + (disagreement.code.map { "accepted by OpenSSL, refused here (\($0))" }
                            ?? "refused by OpenSSL, accepted here"))
            }
        }
    }

    /// Why OpenSSL accepts what we refuse.
    private static func reason(_ expectation: VectorExpectation) -> String? {
        switch expectation.stage {
        case "payload", "date", "policy": return "OpenSSL verifies the container; what it contains is not its affair"
        default: break
        }
        switch expectation.code {
        case "missing-leaf-marker", "missing-intermediate-marker":
            return "marker extensions are Apple's and ours: to OpenSSL they are unknown extensions"
        case "weak-key", "weak-algorithm", "unsupported-key", "unsupported-algorithm", "algorithm-mismatch":
            return "which algorithms and keys may sign is our list; OpenSSL's level 0 accepts what it can compute"
        case "trailing-data": return "OpenSSL stops reading at the end of the structure"
        case "unexpected-content-type": return "OpenSSL verifies content of any type"
        case "signer-count", "too-many-elements", "invalid-chain-length":
            return "OpenSSL sets no limits: any number of signers and certificates, chains of any length"
        case "ambiguous-signer-certificate": return "OpenSSL takes the first certificate that answers to the signer"
        case "distrusted-certificate": return "OpenSSL was not told what to distrust"
        case "invalid-key-usage": return "purpose *any* ignores the leaf's key usage"
        case "unexpected-value", "non-minimal-length", "non-minimal-tag", "invalid-bit-string", "invalid-integer",
            "invalid-object-identifier", "indefinite-length", "unexpected-end-of-contents", "nesting-too-deep",
            "unexpected-tag":
            return "OpenSSL reads a laxer BER, and does not compare versions"
        case "invalid-signed-attributes": return "OpenSSL asks less of signed attributes than RFC 5652"
        case "malformed-certificate": return "OpenSSL does not look into extensions that it does not need"
        case "untrusted-chain" where expectation.file == "certificates/issuer-name-in-another-encoding.der":
            return "OpenSSL compares names by their characters, whatever the string type"
        default: return nil
        }
    }

    private static func validationDate(_ options: VerifierOptions, of receipt: Data) throws -> Instant {
        if let text = options.validationDate == "now" ? options.now : options.validationDate,
            let date = Instant(rfc3339: text)
        {
            return date
        }
        return try (try? UnverifiedReceipt(decoding: Array(receipt)).creationDate) ?? date("2025-06-15T12:00:00Z")
    }

    private static func run(_ command: [String]) throws -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
