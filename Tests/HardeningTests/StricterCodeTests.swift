import AppStoreReceipt
import CMSTrust
import FuzzSupport
import SignatureTrust
import SpanASN1
import TestSupport
import Testing

/// SECURITY.md says why we are stricter than libcrypto, code by code; `FuzzDifferential` fails on a code that is not
/// explained.
@Suite struct StricterCodeTests {
    @Test func `every code of a refused message is explained, shared with libcrypto, or of an option`() {
        var codes = ASN1DecodingError.Kind.allCases.map(\.rawValue)
        codes += SignatureTrustError.Kind.allCases.map(\.rawValue)
        codes += CMSFault.allCases.map(\.rawValue)
        codes += DateFault.allCases.map(\.rawValue)
        codes += PolicyViolation.allCases.map(\.rawValue)
        // What only a JWS or a transaction receipt is refused for, which libcrypto does not read.
        let ofJWS: Set = [
            "signed-date-missing", "signed-date-repeated", "signed-date-unreadable", "app-apple-id-mismatch",
            "part-mismatch", "signed-too-long-ago", "signed-in-the-future",
        ]
        #expect(ofJWS.isSubset(of: codes))
        codes.removeAll(where: ofJWS.contains)
        let ofTransactionReceipts: Set = [
            "dates-disagree", "purchase-date-missing", "purchase-date-unreadable", "key-size-mismatch",
            "unpinned-issuer",
        ]
        #expect(ofTransactionReceipts.isSubset(of: codes))
        codes.removeAll(where: ofTransactionReceipts.contains)
        let ofTheHost = Set(SignatureTrustError.Kind.allCases.filter(\.isHostFault).map(\.rawValue))
        let listed = StricterCode.reasons.flatMap(\.codes) + StricterCode.shared + StricterCode.optional
        #expect(Set(listed).count == listed.count, "a code has two places")
        #expect(Set(codes).subtracting(ofTheHost).subtracting(listed) == [])
        #expect(Set(listed).subtracting(codes) == [], "no such code")
    }

    @Test func `SECURITY.md has the reasons that the fuzzer knows`() throws {
        let rows = StricterCode.reasons.map { row in
            "| \(row.codes.map { "`\($0)`" }.joined(separator: ", ")) | \(row.reason) |"
        }
        let text = try Project.lines(of: "SECURITY.md")
        for row in rows where !text.contains(row) { Issue.record("missing: \(row)") }
    }
}
