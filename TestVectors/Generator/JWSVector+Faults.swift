import AppStoreReceipt
import AppStoreReceiptTesting

// Signed data with each fault.
extension JWSVector {
    static let faults = headers + certificates + forms + signatures + chains + payloads + policies + parts

    /// Has everything signed by a stranger.
    private static let stranger: JWSStep = .shape { _, keys in
        keys = ChainKeys(root: .strangerP384, intermediate: .strangerP384, leaf: .strangerP256)
    }

    private static let headers: [JWSVector] = [
        refused(
            "alg-none", .header, "unsupported-algorithm", "Nothing is signed.", .algorithm("none"), .unsigned()),
        refused(
            "alg-hs256-with-the-key-as-secret", .header, "unsupported-algorithm",
            "A MAC whose secret is the signer's public key, which everybody knows.", .algorithm("HS256"),
            .signature { signature, input, minting in
                signature = try hmac(input, key: minting.authority.leaf.key.subjectPublicKeyInfo())
            }),
        refused("alg-es384", .header, "unsupported-algorithm", "Another algorithm.", .algorithm("ES384")),
        refused("alg-in-small-letters", .header, "unsupported-algorithm", "es256 is none.", .algorithm("es256")),
        refused("alg-missing", .header, "missing-algorithm", "No algorithm.", .algorithm(nil)),
        refused("alg-twice", .header, "duplicate-member", "Which one counts?", .header("alg", "none")),
        refused(
            "alg-twice-escaped", .header, "duplicate-member", "The same name, written otherwise.",
            .parts(JWSStep.recoding(0) { $0 = $0.dropLast() + #","\u0061lg":"none"}"# })),
        refused(
            "crit", .header, "critical-header", "An extension that nobody knows.", .header("crit", ["exp"]),
            .header("exp", 1)),
        refused("b64", .header, "critical-header", "An unencoded payload (RFC 7797).", .header("b64", false)),
        refused("jku", .header, "foreign-key", "Keys by URL.", .header("jku", "https://example.com/keys")),
        refused(
            "jwk", .header, "foreign-key", "A key in the header.",
            .header("jwk", ["kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"])),
        refused("x5u", .header, "foreign-key", "A chain by URL.", .header("x5u", "https://example.com/chain")),
        refused(
            "header-no-object", .header, "unexpected-type", "An array.", .parts(JWSStep.recoding(0) { $0 = "[\($0)]" })),
    ]

    private static let certificates: [JWSVector] = [
        refused(
            "kid-without-x5c", .header, "missing-certificates", "A name in place of a chain.", .x5c { _, _ in [] },
            .header("kid", "Apple_Xcode_Key")),
        refused("x5c-twice", .header, "duplicate-member", "Which one counts?", .header("x5c", [])),
        refused("x5c-of-1", .header, "certificate-count", "The leaf alone.", .x5c { chain, _ in [chain[0]] }),
        refused(
            "x5c-of-2", .header, "certificate-count", "Without the root.", .x5c { chain, _ in Array(chain.prefix(2)) }),
        refused("x5c-of-4", .header, "certificate-count", "The root twice.", .x5c { chain, _ in chain + [chain[2]] }),
        refused(
            "x5c-in-base64url", .header, "malformed-certificates", "Without padding (RFC 7515, 4.1.6 wants it).",
            .parts(JWSStep.recoding(0) { $0.replace("=", with: "") })),
        refused(
            "x5c-root-before-intermediate", .chain, "untrusted-chain",
            "Each certifies the one before it (RFC 7515, 4.1.6).",
            .x5c { chain, _ in [chain[0], chain[2], chain[1]] }),
        refused(
            "x5c-backwards", .signature, "unsupported-key", "The root where the signer should be.",
            .x5c { chain, _ in chain.reversed() }),
        refused(
            "x5c-with-a-strangers-root", .chain, "untrusted-chain", "The third is not the pinned root.",
            .x5c { chain, forge in try Array(chain.prefix(2)) + [forge.strangersChain().root.certificate] }),
        refused(
            "x5c-with-a-strangers-intermediate", .chain, "untrusted-chain", "It did not issue the leaf.",
            .x5c { chain, forge in try [chain[0], forge.strangersChain().intermediate.certificate, chain[2]] }),
        refused(
            "x5c-with-a-strangers-leaf", .signature, "invalid-signature", "The signature is by another key.",
            .x5c { chain, forge in try [forge.strangersChain().leaf.certificate] + chain.dropFirst() }),
    ]

    private static let forms: [JWSVector] = [
        refused("empty", .form, "empty-input", "No byte.", .text { $0 = "" }),
        refused(
            "two-parts", .form, "part-count", "Without the signature and its dot.", .signedParts { $0.removeLast() }),
        refused("four-parts", .form, "part-count", "One more.", .signedParts { $0.append($0[2]) }),
        refused(
            "json-serialization", .form, "part-count", "Flattened (RFC 7515, 7.2.2).",
            .text { text in
                let parts = text.split(separator: ".")
                text = #"{"payload":"\#(parts[1])","protected":"\#(parts[0])","signature":"\#(parts[2])"}"#
            }),
        refused("empty-header", .header, "truncated", "Nothing where the header should be.", .parts { $0[0] = "" }),
        refused("empty-payload", .payload, "truncated", "Nothing was signed.", .parts { $0[1] = "" }),
        refused("empty-signature", .signature, "invalid-signature", "No byte of it.", .unsigned()),
        refused("padding", .form, "invalid-base64url", "JWS has none (RFC 7515, 2).", .signedParts { $0[2] += "==" }),
        refused(
            "padding-signed", .form, "invalid-base64url", "In the header, and signed so.",
            base: [.header("typ", "JWT")], .parts { $0[0] += String(repeating: "=", count: 4 - $0[0].count % 4) }),
        refused(
            "trailing-bits", .form, "invalid-base64url",
            "The last character has bits that belong to no byte, and they are not 0.",
            .signedParts { parts in
                let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
                if let index = parts[2].last.flatMap(alphabet.firstIndex(of:)) {
                    parts[2] = parts[2].dropLast() + String(alphabet[index | 1])
                }
            }),
        refused(
            "standard-alphabet", .form, "invalid-base64url", "/ in place of _, and signed so.",
            base: [.member("offerIdentifier", "???")], .parts { $0[1].replace("_", with: "/") }),
        refused(
            "space", .form, "invalid-base64url", "In the payload, and signed so.", .parts(JWSStep.inserting(" ", in: 1))
        ),
        refused(
            "line-break", .form, "invalid-base64url", "In the header, and signed so.",
            .parts(JWSStep.inserting("\n", in: 0))),
    ]

    private static let signatures: [JWSVector] = [
        refused(
            "signature-der", .signature, "invalid-signature", "An ECDSA-Sig-Value in place of r and s (RFC 7518, 3.4).",
            .signature { signature, _, _ in
                func integer(_ bytes: ArraySlice<UInt8>) -> Node {
                    let bytes = Array(bytes.drop { $0 == 0 })
                    return Node(0x02, bytes.first.map { $0 >= 0x80 } ?? true ? [0] + bytes : bytes)
                }
                signature = Node(0x30, nodes: [integer(signature.prefix(32)), integer(signature.suffix(32))]).encoded
            }),
        refused(
            "signature-s-zero", .signature, "invalid-signature", "s is from 1 on.",
            .signature { signature, _, _ in signature.replaceSubrange(32..., with: [UInt8](repeating: 0, count: 32)) }),
        refused(
            "signature-zero", .signature, "invalid-signature", "r and s are from 1 on (CVE-2022-21449).",
            .signature { signature, _, _ in signature = [UInt8](repeating: 0, count: 64) }),
        refused(
            "signature-of-63-bytes", .signature, "invalid-signature", "One is missing.",
            .signature { signature, _, _ in signature.removeLast() }),
        refused(
            "signature-of-65-bytes", .signature, "invalid-signature", "One is too many.",
            .signature { signature, _, _ in signature.append(0) }),
        refused(
            "signature-of-another-payload", .signature, "invalid-signature", "Another product than was signed.",
            .signedParts(JWSStep.recoding(1) { $0.replace(#""pro""#, with: #""all""#) })),
        refused(
            "signature-of-another-encoding", .signature, "invalid-signature",
            "The header means the same as what was signed, with a space more.",
            .signedParts(JWSStep.recoding(0) { $0 = "{ " + $0.dropFirst() })),
    ]

    private static let chains: [JWSVector] = [
        refused(
            "strangers-chain", .chain, "untrusted-chain", "The same names, another root.",
            stranger),
        refused(
            "leaf-without-marker", .chain, "missing-leaf-marker", "Not marked for signing.",
            .leaf { $0.removeExtensions(.receiptSigningMarker) }),
        refused(
            "intermediate-without-marker", .chain, "missing-intermediate-marker", "Not marked as an issuer.",
            .intermediate { $0.removeExtensions(.worldwideDeveloperRelationsMarker) }),
        refused(
            "leaf-not-for-signatures", .chain, "invalid-key-usage", "For keys.",
            .leaf { $0.replaceExtension(.keyUsage(.keyEncipherment)) }),
        refused(
            "leaf-p-384", .signature, "unsupported-key", "ES256 is P-256.",
            .shape { _, keys in keys.leaf = .strangerP384 }),
        refused(
            "leaf-rsa", .signature, "unsupported-key", "No elliptic curve.", .shape { _, keys in keys.leaf = .leaf }),
        accepted(
            "intermediate-p-256", .transaction, why: "Either curve will do above the leaf.",
            [.shape { _, keys in keys.intermediate = .strangerP256 }]),
        accepted(
            "p-256-throughout", .transaction, why: "As Apple's libraries have their test certificates.",
            [
                .shape { shape, keys in
                    keys = ChainKeys(root: .strangerP256, intermediate: .storeKitP256, leaf: .p256)
                    (shape.root.digest, shape.intermediate.digest, shape.leaf.digest) = (.sha256, .sha256, .sha256)
                }, .verifier { $0.roots = ["p-256-root.der"] },
            ]),
        accepted(
            "root-rsa", .transaction, why: "A chain may end in an older root.",
            [.shape { _, keys in keys.root = .root }, .verifier { $0.roots = ["rsa-root.der"] }]),
        refused(
            "intermediate-rsa", .chain, "unsupported-key", "RSA is for roots.",
            .shape { _, keys in keys.intermediate = .intermediate }),
        refused(
            "intermediate-p-521", .chain, "unsupported-key", "A curve that nobody at Apple uses.",
            .shape { _, keys in keys.intermediate = .p521 }),
        accepted(
            "x5c-with-a-renewed-root", .transaction,
            why: "Of two anchors of one name and key the chain has the second.",
            [
                .x5c { chain, forge in
                    try Array(chain.prefix(2)) + [forge.chain(Forge.renewed(.ellipticCurve)).root.certificate]
                }, .verifier { $0.roots = ["ec-root.der", "renewed-ec-root.der"] },
            ]),
        accepted(
            "x5c-with-the-root-before-its-renewal", .transaction,
            why: "Of two anchors of one name and key it has the first.",
            [.verifier { $0.roots = ["ec-root.der", "renewed-ec-root.der"] }]),
        accepted(
            "x5c-with-a-root-that-was-issued-anew", .transaction,
            why: "It has the name and the key of the anchor, which stands in its place.",
            [
                .x5c { chain, forge in
                    try Array(chain.prefix(2)) + [forge.chain(Forge.renewed(.ellipticCurve)).root.certificate]
                }, .verifier { $0.roots = ["ec-root.der"] },
            ]),
        accepted(
            "leaf-in-its-last-second", .transaction, why: "The second of notAfter is valid (RFC 5280, 4.1.2.5).",
            [.leaf { $0.notAfter = Instant(millisecondsSince1970: date) }]),
        refused("leaf-sha-1", .chain, "weak-algorithm", "Its issuer signed over SHA-1.", .leaf { $0.digest = .sha1 }),
        refused(
            "leaf-expired", .chain, "certificate-expired", "At the date of signing.",
            .leaf { $0.notAfter = Instant(millisecondsSince1970: date - 1000) }),
        refused(
            "leaf-not-yet-valid", .chain, "certificate-not-yet-valid", "At the date of signing.",
            .leaf { $0.notBefore = Instant(millisecondsSince1970: date + 1000) }),
        refused(
            "leaf-expired-by-the-callers-date", .chain, "certificate-expired", "The caller has chosen a later date.",
            .verifier { $0.validationDate = "2046-01-01T00:00:00Z" }),
    ]

    private static let payloads: [JWSVector] = [
        refused(
            "signed-date-missing", .date, "signed-date-missing", "No date to judge the chain at.",
            .member("signedDate", nil)),
        refused(
            "signed-date-twice", .date, "signed-date-repeated", "Which one counts?",
            .repeated("signedDate", .integer(date - 1000))),
        refused(
            "signed-date-a-string", .date, "signed-date-unreadable", "Not a number.",
            .member("signedDate", "2025-06-15")),
        accepted(
            "signed-date-missing-and-chosen", .transaction, why: "The caller has chosen a date.",
            [.member("signedDate", nil), .verifier { $0.validationDate = "2025-06-15T12:00:00Z" }]),
        refused("product-id-twice", .payload, "duplicate-member", "Which one counts?", .repeated("productId", "all")),
        refused(
            "transaction-id-twice-escaped", .payload, "duplicate-member", "The same name, written otherwise.",
            .parts(JWSStep.recoding(1) { $0 = $0.dropLast() + #","transaction\u0049d":"1"}"# })),
        refused(
            "nested-member-twice", .payload, "duplicate-member", "In the commitment.",
            .member("commitmentInfo", .object([.init("commitmentPrice", 1), .init("commitmentPrice", 2)]))),
        refused(
            "quantity-2-to-the-63", .payload, "number-out-of-range", "One more than a signed number of 64 bits can be.",
            .parts(
                JWSStep.recoding(1) { $0 = $0.replacing("\"quantity\":1", with: "\"quantity\":9223372036854775808") })),
        accepted(
            "price-a-string", .transaction, why: "The price decides nothing: of another type, it is unknown.",
            [.member("price", "1990")]),
        accepted(
            "offer-an-object", .transaction, why: "The offer decides nothing: of another type, it is unknown.",
            [.member("offerType", .object([.init("kind", 1)]))]),
        refused("quantity-a-string", .payload, "unexpected-type", "Not a number.", .member("quantity", "1")),
        refused(
            "ownership-a-number", .payload, "unexpected-type", "Whether the purchase is shared is decided by it.",
            .member("inAppOwnershipType", 1)),
        refused(
            "payload-an-array", .payload, "unexpected-type", "Signed by a trusted signer, but no object.",
            .parts(JWSStep.recoding(1) { $0 = "[\($0)]" })),
        refused(
            "payload-no-json", .payload, "unexpected-character", "Signed by a trusted signer, but no JSON.",
            .parts(JWSStep.recoding(1) { $0 = "pro" })),
        refused(
            "payload-no-json-of-a-strangers", .chain, "untrusted-chain",
            "A stranger's, so that it is his forgery before it is unreadable.",
            stranger,
            .parts(JWSStep.recoding(1) { $0 = "pro" })),
        refused(
            "payload-of-no-kind", .payload, "missing-member", "A date and nothing else.",
            .payload(JWSBuilder(payload: ["signedDate": .integer(date)]))),
        refused(
            "payload-nested-too-deep", .payload, "nesting-too-deep", "A thousand arrays.",
            .member("new", .raw(String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000)))),
        refused(
            "payload-not-utf-8", .payload, "invalid-escape", "Half a surrogate pair.",
            .member("storefront", .raw(#""\ud800""#))),
    ]

    /// A day after what is minted was signed, where no more is allowed.
    private static let dayOld: JWSStep = .verifier { options in
        options.now = "2025-06-16T12:00:00Z"
        options.maximumAge = 86_400_000
    }

    private static let policies: [JWSVector] = [
        refused(
            "another-app", .policy, "bundle-id-mismatch", "The bundle id of another.",
            .member("bundleId", "com.example.other")),
        refused(
            "another-apps-id", .policy, "app-apple-id-mismatch", "The Apple id of another.",
            base: [.payload(.appTransaction(bundleID: VerifierOptions.bundleID)), appleID], .member("appAppleId", 1)),
        refused(
            "realtime-request-without-an-apple-id", .verifier, "no-app-apple-id",
            "A verifier with a bundle id alone cannot tell whose it is.",
            base: [realtimeRequest, appleID], .verifier { $0.appAppleID = nil }),
        refused(
            "sandbox", .policy, "environment-mismatch", "In a verifier for production.",
            .member("environment", "Sandbox")),
        refused(
            "environment-unknown", .policy, "unknown-environment", "None that is known.",
            .member("environment", "Staging")),
        refused(
            "environment-missing", .policy, "environment-missing", "As Apple signed until 2021, in the sandbox, too.",
            .member("environment", nil)),
        refused(
            "bundle-id-missing", .policy, "bundle-id-missing", "No app is not any app.", .member("bundleId", nil)),
        refused(
            "environment-xcode", .policy, "environment-mismatch", "Signed as Apple signs.",
            .member("environment", "Xcode")),
        refused(
            "age-exceeded", .policy, "signed-too-long-ago", "A second more than a day old.", base: [dayOld],
            .member("signedDate", .integer(date - 1000))),
        refused(
            "age-below-zero", .policy, "signed-in-the-future",
            "Signed a second more than five minutes from now, where an age is asked for.", base: [dayOld],
            .member("signedDate", .integer(date + 86_700_000 + 1000))),
        refused(
            "xcode-by-default", .header, "certificate-count",
            "One certificate, that everyone with Xcode can sign with.",
            base: JWSStep.xcode("Xcode") + [.inVerifierForXcode], .verifier { $0.storeKitTesting = nil }),
        refused(
            "local-testing-by-default", .header, "certificate-count",
            "One certificate, that everyone with Xcode can sign with.",
            base: JWSStep.xcode("LocalTesting") + [.inVerifierForXcode], .verifier { $0.storeKitTesting = nil }),
        refused(
            "production-by-xcode", .policy, "environment-mismatch", "Who has Xcode can write anything.",
            base: JWSStep.xcode("Xcode") + [.inVerifierForXcode], .member("environment", "Production")),
    ]

    private static let both: JWSStep = .verifier { $0.environments = ["production", "sandbox"] }

    private static let parts: [JWSVector] = [
        refused(
            "part-of-another-app", .policy, "part-mismatch", in: .transactionInfo, "Also where any app is accepted.",
            base: [.notification(transaction: []), .verifier { $0.isAnyApp = true }],
            .notification(transaction: [.member("bundleId", "com.example.other")])),
        refused(
            "part-of-another-environment", .policy, "part-mismatch", in: .renewalInfo, "Also where both are accepted.",
            base: [.notification(renewalInfo: []), both],
            .notification(renewalInfo: [.member("environment", "Sandbox")])),
        refused(
            "part-by-a-stranger", .chain, "untrusted-chain", in: .transactionInfo,
            "The notification is genuine, its part is not.",
            base: [.notification(transaction: [])],
            .notification(transaction: [
                stranger
            ])),
        refused(
            "part-with-alg-none", .header, "unsupported-algorithm", in: .renewalInfo, "It is verified as any other.",
            base: [.notification(renewalInfo: [])], .notification(renewalInfo: [.algorithm("none"), .unsigned()])),
        refused(
            "part-of-another-kind", .payload, "missing-member", in: .transactionInfo, "Renewal information.",
            base: [.notification(transaction: [])], .notification(transaction: [.renewalInfo()])),
        refused(
            "parts-of-two-apps", .policy, "bundle-id-mismatch", "One notification about two apps.",
            base: [.notification()],
            .member("summary", ["bundleId": "com.example.other", "environment": "Production"])),
        refused(
            "notification-of-no-app-with-a-signed-part", .policy, "bundle-id-missing",
            "What names no app has nothing to decide.",
            base: [.notification(), .member("data", nil), .member("unclaimInfo", ["unclaimSeatIds": []])],
            .member("unclaimInfo", ["unclaimSeatIds": [], "signedTransactionInfo": "e30.e30.e30"])),
        refused(
            "notification-of-another-app-in-an-unknown-member", .policy, "bundle-id-mismatch",
            "It names no app where Apple documents one.",
            base: [.notification(), .member("data", nil), .member("unclaimInfo", ["unclaimSeatIds": []])],
            .member("unclaimInfo", ["unclaimSeatIds": [], "bundleId": "com.example.other"])),
    ]
}
