/// Why we refuse what libcrypto reads or verifies, by the codes of our errors. `FuzzDifferential` fails on a code that is not here; the
/// table in SECURITY.md is this one, which a test compares.
public enum StricterCode {
    public static let reasons: [(codes: [String], reason: String)] = [
        (
            ["trailing-data"],
            "`d2i` stops where the structure ends: what follows would be unsigned bytes in a \"verified\" file"
        ),
        (
            [
                "non-minimal-length", "non-minimal-tag", "length-overflow", "invalid-length", "tag-number-too-large",
            ], "DER is demanded where nobody writes BER; lax lengths are how two readers come to read two things"
        ),
        (
            ["indefinite-length", "constructed-string"],
            "inside certificates, attributes and other signed structures: the gate does not rewrite what is signed"
        ),
        (
            [
                "unexpected-end-of-contents", "truncated", "missing-element", "unexpected-tag", "duplicate-element",
                "invalid-string", "invalid-integer", "integer-out-of-range", "invalid-time", "invalid-null",
                "nesting-too-deep",
            ],
            "a payload that is no receipt: to `CMS_verify` the content is just bytes. In the container: optional fields out of place"
        ),
        (
            ["creation-date-missing", "creation-date-repeated", "creation-date-unreadable"],
            "the same: attribute 12 is what the chain is judged by"
        ),
        (
            ["certificate-expired", "certificate-not-yet-valid"],
            "the receipt is judged at its own date; libcrypto was asked for another"
        ),
        (
            ["unexpected-value"],
            "versions that do not follow from the structure (RFC 5652, 5.1 and 5.3); a certificate's two algorithm identifiers that differ (RFC 5280, 4.1.1.2); a content type that is not signed data"
        ),
        (["invalid-bit-string", "invalid-object-identifier", "invalid-boolean"], "DER (X.690, 11.2 and 8.19)"),
        (["signer-count"], "a receipt has one signer"),
        (
            ["missing-signer-certificate", "ambiguous-signer-certificate"],
            "names are compared byte for byte, libcrypto folds case and spaces; two answers to one name are none"
        ),
        (["unexpected-content-type", "missing-content"], "a receipt is plain data, and there"),
        (
            ["invalid-signed-attributes", "missing-signed-attributes", "unsorted-set", "signed-attributes-as-content"],
            "RFC 5652, 5.3 and 11, to the letter: DER order, content-type and message-digest exactly once; required where the content is not plain data; never content themselves (RFC 5652, 5.3)"
        ),
        (
            ["unsupported-algorithm", "algorithm-mismatch", "weak-algorithm", "weak-key", "unsupported-key"],
            "our own list"
        ),
        (
            [
                "missing-leaf-marker", "missing-intermediate-marker", "invalid-key-usage", "invalid-extended-key-usage",
                "unknown-critical-extension", "invalid-issuer", "invalid-chain-length", "untrusted-chain",
                "certificate-too-large", "malformed-certificate",
            ], "what a receipt's chain must be; purpose *any* asks for none of it"
        ),
        (["bundle-id-mismatch", "environment-mismatch", "unknown-environment"], "the policy"),
        (["too-many-elements", "too-many-attributes", "too-many-paths", "input-too-large"], "limits"),
    ]

    /// Codes with which libcrypto never disagrees: what they are about, it checks too.
    public static let shared = [
        "content-digest-mismatch", "invalid-signature", "invalid-certificate-signature", "missing-signer",
        "unexpected-content",
    ]

    /// Codes that a verifier of the fuzzer cannot give: of options that it leaves alone.
    public static let optional = [
        "application-version-mismatch", "device-mismatch", "receipt-too-old", "receipt-from-the-future",
        "missing-signing-time", "future-signing-time", "distrusted-certificate", "revoked-certificate",
        "missing-revocation-list", "malformed-revocation-list", "delta-revocation-list", "unsupported-revocation-list",
        "anchor-not-self-signed",
    ]

    private static let explained = Set(reasons.flatMap(\.codes))

    public static func isExplained(_ code: String) -> Bool { explained.contains(code) }
}
