import AppStoreReceipt
import AppStoreReceiptTesting
import TestSupport
import Testing

// The code of the article Operations, word for word; the last test here compares them.

func trustIncludingNewRoot(_ der: [UInt8]) throws -> AppStoreTrust {
    .roots(TrustAnchor.appleRoots + [try TrustAnchor(der: der)])
}

extension VerifierCounts {
    /// The counters in the text format of Prometheus.
    var prometheusText: String {
        var lines = ["# TYPE receipt_verdicts_total counter", "receipt_verdicts_total{code=\"verified\"} \(verified)"]
        for (code, count) in refused.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lines.append("receipt_verdicts_total{code=\"\(code)\"} \(count)")
        }
        lines += [
            "# TYPE receipt_chain_validations_total counter", "receipt_chain_validations_total \(chainCacheMisses)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}

@Suite struct OperationsTests {
    @Test func `a root that was added by hand is trusted beside Apple's`() throws {
        let trust = try trustIncludingNewRoot(Minted.authority.root.certificate)
        let verifier = try AppStoreVerifier(bundleID: Minted.bundleID, environments: [.production], trust: trust)
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        #expect(try verifier.verifyReceipt(receipt).verification.authority == .customRoot)
        #expect(throws: VerificationError.self) { try verifier.verify([0x30]) }
        #expect(
            verifier.counts.prometheusText == """
                # TYPE receipt_verdicts_total counter
                receipt_verdicts_total{code="verified"} 1
                receipt_verdicts_total{code="unrecognized-form"} 1
                # TYPE receipt_chain_validations_total counter
                receipt_chain_validations_total 1

                """)
    }

    /// The table of alarms names codes that exist.
    @Test func `every code in the table of alarms is one that the list of errors has`() throws {
        let errors = try Article("Errors").text
        let rows = try Article("Operations").rows(under: "Alarms")
        #expect(rows.count == 7)
        let codes = rows.flatMap { row in
            row[0].components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        }
        #expect(codes.count > 10)
        for code in codes where !["input", "container", "payload"].contains(code) {
            #expect(errors.contains("| `\(code)` |"), "\(code)")
        }
    }

    @Test func `the article on operations shows this code`() throws {
        #expect(try Article("Operations").codeMissing().isEmpty)
    }
}
