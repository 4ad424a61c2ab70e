/// The reasons for which this library refuses input that libcrypto accepts, by error code. `FuzzDifferential` fails on
/// other codes. The table in SECURITY.md is the same, which a test checks.
public enum StricterCode {
    public static let reasons: [(codes: [String], reason: String)] = [
        (
            ["trailing-data"],
            "`d2i` ignores bytes after the structure"
        ),
        (
            [
                "non-minimal-length", "non-minimal-tag", "length-overflow", "invalid-length", "tag-number-too-large",
            ], "DER is required where nobody writes BER"
        ),
        (
            ["indefinite-length", "constructed-string"],
            "inside signed structures, which the gate does not rewrite"
        ),
        (
            [
                "unexpected-end-of-contents", "truncated", "missing-element", "unexpected-tag", "duplicate-element",
                "invalid-string", "invalid-integer", "integer-out-of-range", "invalid-time", "invalid-null",
                "nesting-too-deep",
            ],
            "the payload is not a receipt, or optional fields of the container are out of place"
        ),
        (
            ["creation-date-missing", "creation-date-repeated", "creation-date-unreadable"],
            "the chain is validated at attribute 12"
        ),
        (
            ["certificate-expired", "certificate-not-yet-valid"],
            "libcrypto was given another date"
        ),
        (
            ["unexpected-value"],
            "versions (RFC 5652, 5.1 and 5.3); a certificate's two algorithm identifiers (RFC 5280, 4.1.1.2); a content type other than signed data"
        ),
        (["invalid-bit-string", "invalid-object-identifier", "invalid-boolean"], "DER (X.690, 11.2 and 8.19)"),
        (["signer-count"], "a receipt has one signer"),
        (
            ["missing-signer-certificate", "ambiguous-signer-certificate"],
            "names are compared byte for byte; two matches are ambiguous"
        ),
        (["unexpected-content-type", "missing-content"], "a receipt's content is plain data"),
        (
            ["invalid-signed-attributes", "missing-signed-attributes", "unsorted-set", "signed-attributes-as-content"],
            "RFC 5652, 5.3 and 11, strictly"
        ),
        (
            ["unsupported-algorithm", "algorithm-mismatch", "weak-algorithm", "weak-key", "unsupported-key"],
            "this library's list of algorithms"
        ),
        (
            [
                "missing-leaf-marker", "missing-intermediate-marker", "invalid-key-usage", "invalid-extended-key-usage",
                "unknown-critical-extension", "invalid-issuer", "invalid-chain-length", "untrusted-chain",
                "certificate-too-large", "malformed-certificate",
            ], "the rules for a receipt's chain"
        ),
        (
            [
                "bundle-id-mismatch", "bundle-id-missing", "environment-mismatch", "environment-missing",
                "unknown-environment",
            ], "the policy"
        ),
        (["too-many-elements", "too-many-attributes", "too-many-paths", "input-too-large"], "limits"),
    ]

    /// Codes of errors that libcrypto also reports.
    public static let shared = [
        "content-digest-mismatch", "invalid-signature", "invalid-certificate-signature", "missing-signer",
        "unexpected-content",
    ]

    /// Codes of options that the fuzzer's verifiers do not use.
    public static let optional = [
        "application-version-mismatch", "device-mismatch", "receipt-too-old", "receipt-from-the-future",
        "missing-signing-time", "future-signing-time", "distrusted-certificate", "revoked-certificate",
        "missing-revocation-list", "malformed-revocation-list", "delta-revocation-list", "unsupported-revocation-list",
        "anchor-not-self-signed",
    ]

    private static let explained = Set(reasons.flatMap(\.codes))

    public static func isExplained(_ code: String) -> Bool { explained.contains(code) }
}
