import AppStoreReceipt
import AppStoreReceiptTesting
import SignatureTrust
import StrictText
import TestSupport
import Testing

@Suite struct JWSVerifierTests {
    /// Refused by two verifiers: one that sees its first chain, and one that knows the authority's.
    private func codes(_ jws: String) throws -> [String?] {
        let warm = try Minted.verifier()
        _ = try warm.verifyTransaction(Minted.transaction.signed(by: Minted.ellipticAuthority))
        return [try Minted.failure(jws)?.code.rawValue, try Minted.failure(jws, warm)?.code.rawValue]
    }

    private func check(
        _ code: String?, _ stage: VerificationError.Stage, _ jws: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try check(code, jws, sourceLocation: sourceLocation)
        #expect(try Minted.failure(jws)?.stage == stage, sourceLocation: sourceLocation)
    }

    private func check(
        _ code: String?, _ jws: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try codes(jws) == [code, code], sourceLocation: sourceLocation)
    }

    @Test func `a transaction is verified, with its evidence`() throws {
        let authority = try Minted.ellipticAuthority
        let transaction = try Minted.verifier().verifyTransaction(Minted.transaction.signed(by: authority))
        #expect(transaction.transactionID == "1000")
        #expect(transaction.payload.productID == "pro")
        #expect(transaction.payload.price == 1990)
        #expect(transaction.verification.authority == .customRoot)
        #expect(transaction.verification.digest == .sha256)
        #expect(transaction.verification.validationDate == JWSBuilder.defaultDate)
        #expect(try transaction.verification.anchor == Fingerprint(of: authority.root.certificate.span))
        #expect(try transaction.verification.signer == Fingerprint(of: authority.leaf.certificate.span))
    }

    // MARK: The header

    @Test(arguments: ["none", "HS256", "RS256", "ES384", "es256", "", "ES256 "])
    func `alg is ES256 and nothing else`(_ algorithm: String) throws {
        var builder = Minted.transaction
        builder.algorithm = algorithm
        try check("unsupported-algorithm", .header, builder.signed(by: Minted.ellipticAuthority))
    }

    @Test func `alg none without a signature is refused`() throws {
        var builder = Minted.transaction
        builder.algorithm = "none"
        let input = try builder.signingInput(certificates: Minted.ellipticAuthority.certificates)
        try check("unsupported-algorithm", .header, input + ".")
    }

    @Test func `alg HS256 with a public key as the secret is refused before any key is used`() throws {
        var builder = Minted.transaction
        builder.algorithm = "HS256"
        let input = try builder.signingInput(certificates: Minted.ellipticAuthority.certificates)
        // Whatever the signature is: no code that computes an HMAC exists.
        try check(
            "unsupported-algorithm", .header, input + "." + JWSBuilder.base64URL([UInt8](repeating: 7, count: 32)))
    }

    @Test func `a header without alg is refused`() throws {
        var builder = Minted.transaction
        builder.algorithm = nil
        try check("missing-algorithm", .header, builder.signed(by: Minted.ellipticAuthority))
    }

    @Test(arguments: [
        (#"["exp"]"#, "crit", "critical-header"), ("[]", "crit", "critical-header"),
        ("false", "b64", "critical-header"),
        (#""https://evil.test/keys""#, "jku", "foreign-key"), (#"{"kty":"EC"}"#, "jwk", "foreign-key"),
        (#""https://evil.test/chain""#, "x5u", "foreign-key"),
    ])
    func `an extension or another key in the header is refused`(_ value: String, _ name: String, _ code: String) throws
    {
        var builder = Minted.transaction
        builder.additionalHeaderMembers = [.init(name, .raw(value))]
        try check(code, .header, builder.signed(by: Minted.ellipticAuthority))
    }

    @Test func `a kid and unknown members of the header decide nothing`() throws {
        var builder = Minted.transaction
        builder.additionalHeaderMembers = [
            .init("kid", "Apple_Xcode_Key"), .init("typ", "JWT"), .init("new", ["a": [1, true, .null]]),
        ]
        try check(nil, builder.signed(by: Minted.ellipticAuthority))
    }

    @Test(arguments: ["alg", "x5c", "kid", "typ", #"\u0061lg"#])
    func `a member that is there twice is refused`(_ name: String) throws {
        let authority = try Minted.ellipticAuthority
        let chain = authority.certificates.map { "\"\(base64($0))\"" }.joined(separator: ",")
        let value = name == "x5c" ? "[\(chain)]" : "\"ES256\""
        let header = #"{"alg":"ES256","x5c":[\#(chain)],"kid":"a","typ":"JWT","\#(name)":\#(value)}"#
        try check("duplicate-member", .header, signed(header: header))
    }

    @Test(arguments: [
        ("{", "truncated"), (#"{"alg":"ES256"} x"#, "trailing-data"), ("[]", "unexpected-type"),
        (#"{"alg":1}"#, "unexpected-type"), (#"{"alg":"ES256","x5c":"a"}"#, "unexpected-type"),
        (#"{"alg":"ES256"}"#, "missing-certificates"), (#"{"alg":"ES256","x5c":[]}"#, "certificate-count"),
        (#"{"alg":"ES256","x5c":["AA=="]}"#, "certificate-count"),
        (#"{"alg":"ES256","x5c":["AA==","AA==","AA==","AA=="]}"#, "certificate-count"),
        // What is beyond the third is counted, not read.
        (#"{"alg":"ES256","x5c":["AA==","AA==","AA==","!"]}"#, "certificate-count"),
        (#"{"alg":"ES256","x5c":["AA","AA==","AA=="]}"#, "malformed-certificates"),
        (#"{"alg":"ES256","x5c":["A-==","AA==","AA=="]}"#, "malformed-certificates"),
        (#"{"alg":"ES256","x5c":["AA==\n","AA==","AA=="]}"#, "malformed-certificates"),
        (#"{"alg":"ES256","x5c":["","",""]}"#, "malformed-certificate"),
        (#"{"alg":"ES256","x5c":["AA==","AA==","AA=="]}"#, "malformed-certificate"),
    ])
    func `a malformed header is refused`(_ header: String, _ code: String) throws {
        try check(code, signed(header: header))
    }

    @Test(arguments: [0, 1, 2, 4, 9])
    func `a header with another number of certificates is refused with both numbers`(_ count: Int) throws {
        let chain = Array(repeating: #""AA==""#, count: count).joined(separator: ",")
        let error = try #require(try Minted.failure(signed(header: #"{"alg":"ES256","x5c":[\#(chain)]}"#)))
        #expect(error.code == .certificateCount)
        #expect(error.explanation == "the JWS header must have 3 certificates in `x5c`, but has \(count)")
    }

    /// Each chain, the code of its first fault, and the text at which that begins.
    @Test(arguments: [
        (#"["!","AA==","?"]"#, "malformed-certificates", "!"), (#"["!",1]"#, "malformed-certificates", "!"),
        (#"["!","AA==","AA==","AA==","AA=="]"#, "malformed-certificates", "!"),
        (#"["AA==","AA==","AA==","B","C"]"#, "certificate-count", #""B""#),
    ])
    func `of several faults of x5c, the first is reported`(_ chain: String, _ code: String, _ text: String) throws {
        let header = #"{"alg":"ES256","x5c":\#(chain)}"#
        let start = try #require(header.firstRange(of: text)).lowerBound
        let error = try #require(try Minted.failure(signed(header: header)))
        #expect(error.code.rawValue == code && error.offset == start.utf16Offset(in: header))
    }

    @Test func `the certificates of an unverified header are all of x5c, or an error`() throws {
        func certificates(_ chain: [String]) throws -> [[UInt8]] {
            let strings = chain.map { "\"\($0)\"" }.joined(separator: ",")
            let text = Array(try signed(header: "{\"x5c\":[\(strings)]}").utf8)
            return try UnverifiedJWS(text.span).certificates()
        }
        let limit = VerificationLimits().maximumCertificateCount
        #expect(try certificates(["AA==", "AQ=="]) == [[0], [1]])
        #expect(try certificates(Array(repeating: "AA==", count: limit)).count == limit)
        for (chain, code) in [
            ([], "missing-certificates"), (["AA==", "!"], "malformed-certificates"),
            (Array(repeating: "AA==", count: limit + 1), "certificate-count"),
        ] {
            let error = #expect(throws: VerificationError.self) { try certificates(chain) }
            #expect(error?.code.rawValue == code)
        }
    }

    // MARK: The form

    @Test func `three parts are needed, in base64url's one spelling`() throws {
        let jws = try Minted.transaction.signed(by: Minted.ellipticAuthority)
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let cases: [(String, String)] = [
            ("", "empty-input"), (parts[0], "part-count"), (parts[0] + "." + parts[1], "part-count"),
            (jws + ".", "part-count"), (jws + "." + parts[2], "part-count"), (jws + "=", "invalid-base64url"),
            (jws + "==", "invalid-base64url"), ("\u{B}" + jws, "invalid-base64url"),
            (jws + "\u{A0}", "invalid-base64url"),
            (parts[0] + " ." + parts[1] + "." + parts[2], "invalid-base64url"),
            (parts[0] + "=." + parts[1] + "." + parts[2], "invalid-base64url"),
            (parts[0] + "." + parts[1] + "+." + parts[2], "invalid-base64url"),
        ]
        for (text, code) in cases { try check(code, .form, text) }
        // Whitespace around the JWS is no part of it.
        for space in [" ", "\t", "\n", "\r\n"] { try check(nil, space + jws + space) }
        // 64 bytes are 86 characters, the last with four bits that must be 0 (RFC 4648, 3.5).
        let last = try #require(parts[2].last)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let index = try #require(alphabet.firstIndex(of: last))
        let other = String(alphabet[index | 1])
        try check("invalid-base64url", .form, parts[0] + "." + parts[1] + "." + parts[2].dropLast() + other)
    }

    @Test(arguments: [
        ("e30", 3), ("e30.", 4), ("e30.e30", 7), (" e30.e30\n", 8), (".", 1), ("e30.e30.AA.AA", 10), ("...", 2),
    ])
    func `another number of parts is a fault of the end of the text, or of the third dot`(text: String, offset: Int)
        throws
    {
        let error = try #require(try Minted.failure(text))
        #expect(error.code == .partCount && error.offset == offset)
    }

    @Test func `what is larger than allowed is refused unread`() throws {
        let verifier = try Minted.verifier { $0.limits.maximumJWSByteCount = 1000 }
        #expect(try Minted.failure(String(repeating: "e", count: 1001), verifier)?.code == .inputTooLarge)
    }

    // MARK: The signature

    @Test func `the signature covers header and payload as received`() throws {
        let authority = try Minted.ellipticAuthority
        let parts = try Minted.transaction.signed(by: authority).split(separator: ".").map(String.init)
        var other = Minted.transaction
        other.productID = "everything"
        let forged = other.signingInput(certificates: authority.certificates)
        try check("invalid-signature", .signature, forged + "." + parts[2])

        var header = Minted.transaction
        header.additionalHeaderMembers = [.init("typ", "JWT")]
        let changed = header.signingInput(certificates: authority.certificates)
        try check("invalid-signature", .signature, changed + "." + parts[2])
    }

    @Test func `a signature is r and s of 32 bytes, not DER, not zero, not longer`() throws {
        let authority = try Minted.ellipticAuthority
        let input = Minted.transaction.signingInput(certificates: authority.certificates)
        let good = try JWSBuilder.signature(of: Array(input.utf8), key: authority.leaf.key)
        let der = try authority.leaf.key.sign(Array(input.utf8), digest: .sha256)
        let zero = [UInt8](repeating: 0, count: 64)
        // The same numbers in one byte more.
        var longer = good
        longer.insert(0, at: 32)
        for signature in [
            der, zero, [], Array(good.dropLast()), good + [0], Array(good.prefix(32)), good + good,
            Array(good.suffix(32) + good.prefix(32)), [UInt8](repeating: 0xFF, count: 64), longer,
        ] {
            try check("invalid-signature", .signature, input + "." + JWSBuilder.base64URL(signature))
        }
        try check(nil, input + "." + JWSBuilder.base64URL(good))
    }

    @Test func `small numbers in a signature keep their leading zeros`() throws {
        let authority = try Minted.ellipticAuthority
        let input = Minted.transaction.signingInput(certificates: authority.certificates)
        let verifier = try Minted.verifier()
        // One signature in 128 has a number that begins with a zero byte, every second one with the highest bit set.
        for _ in 0..<300 {
            let signature = try JWSBuilder.signature(of: Array(input.utf8), key: authority.leaf.key)
            _ = try verifier.verifyTransaction(input + "." + JWSBuilder.base64URL(signature))
        }
    }

    // MARK: The chain

    @Test func `the chain is leaf, intermediate and the pinned root, in this order`() throws {
        let authority = try Minted.ellipticAuthority
        let other = try Minted.ellipticStranger
        let (leaf, intermediate, root) = (
            authority.leaf.certificate, authority.intermediate.certificate, authority.root.certificate
        )
        let cases: [([[UInt8]], String)] = [
            ([leaf, root, intermediate], "untrusted-chain"), ([leaf, leaf, root], "untrusted-chain"),
            ([leaf, intermediate, intermediate], "untrusted-chain"),
            ([leaf, intermediate, other.root.certificate], "untrusted-chain"),
            ([leaf, other.intermediate.certificate, root], "untrusted-chain"),
            ([intermediate, leaf, root], "unsupported-key"), ([root, intermediate, leaf], "unsupported-key"),
            ([other.leaf.certificate, intermediate, root], "invalid-signature"),
        ]
        for (certificates, code) in cases {
            var builder = Minted.transaction
            builder.certificates = certificates
            try check(code, builder.signed(by: authority))
        }
    }

    @Test func `a chain that a stranger made is refused`() throws {
        try check("untrusted-chain", .chain, Minted.transaction.signed(by: Minted.ellipticStranger))
        // Apple's verifier takes no other root either.
        let apple = try AppStoreVerifier(bundleID: Minted.bundleID, environments: [.production])
        #expect(
            try Minted.failure(Minted.transaction.signed(by: Minted.ellipticAuthority), apple)?.code
                == .untrustedChain)
    }

    @Test func `the markers, the keys and the rights of the certificates are those of Apple's`() throws {
        typealias Shape = TestCertificateAuthority.Shape
        let cases: [(String, (inout Shape) -> Void)] = [
            ("missing-leaf-marker", { $0.leaf.removeExtensions(.receiptSigningMarker) }),
            ("missing-intermediate-marker", { $0.intermediate.removeExtensions(.worldwideDeveloperRelationsMarker) }),
            ("invalid-key-usage", { $0.leaf.replaceExtension(.keyUsage(.keyEncipherment)) }),
            ("invalid-issuer", { $0.intermediate.replaceExtension(.basicConstraints(isAuthority: false)) }),
            ("unsupported-key", { $0.intermediate.keyKind = .p521 }),
            (
                "unsupported-key",
                {
                    $0.intermediate.keyKind = .rsa(bits: 2048)
                    $0.leaf.digest = .sha256
                }
            ),
            ("unsupported-key", { $0.leaf.keyKind = .p384 }),
            ("unsupported-key", { $0.leaf.keyKind = .rsa(bits: 2048) }),
            ("weak-algorithm", { $0.leaf.digest = .sha1 }),
            ("certificate-expired", { $0.leaf.notAfter = JWSBuilder.defaultDate - .seconds(1) }),
            (
                "certificate-not-yet-valid",
                {
                    $0.leaf.notBefore = Instant(
                        millisecondsSince1970: JWSBuilder.defaultDate.millisecondsSince1970 + 1000)
                }
            ),
        ]
        for (code, change) in cases {
            var shape = Shape.ellipticCurve
            change(&shape)
            let authority = try TestCertificateAuthority(shape)
            let verifier = try Minted.verifier(authority)
            let input = Minted.transaction.signingInput(certificates: authority.certificates)
            let key = authority.leaf.key
            // A signature by a key of another kind is no 64 bytes; whatever stands there, the key is refused first.
            let signature =
                (try? JWSBuilder.signature(of: Array(input.utf8), key: key)) ?? [UInt8](repeating: 1, count: 64)
            #expect(try Minted.failure(input + "." + JWSBuilder.base64URL(signature), verifier)?.code.rawValue == code)
        }
    }

    @Test(arguments: [SigningKey.Kind.p256, .p384, .rsa(bits: 2048)], [SigningKey.Kind.p256, .p384])
    func `a P-256 leaf verifies under an intermediate on either curve and any root`(
        root: SigningKey.Kind, intermediate: SigningKey.Kind
    ) throws {
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.root.keyKind = root
        shape.intermediate.keyKind = intermediate
        shape.root.digest = .sha256
        shape.intermediate.digest = .sha256
        shape.leaf.digest = .sha256
        let authority = try TestCertificateAuthority(shape)
        #expect(try Minted.failure(Minted.transaction.signed(by: authority), Minted.verifier(authority)) == nil)
    }

    @Test func `of two anchors of one name and key the evidence names the one that was sent, cold and warm`() throws {
        let authority = try Minted.ellipticAuthority
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.root.serialNumber = [0x77]
        let renewed = try authority.reissued(shape).root
        let anchors = try [authority.trustAnchor, TrustAnchor(der: renewed.certificate)]
        for anchors in [anchors, anchors.reversed()] {
            let verifier = try AppStoreVerifier(
                bundleID: Minted.bundleID, environments: [.production], trust: .roots(anchors))
            for sent in [renewed, authority.root, renewed] {
                var builder = Minted.transaction
                builder.certificates = authority.certificates.dropLast() + [sent.certificate]
                let transaction = try verifier.verifyTransaction(builder.signed(by: authority))
                #expect(try transaction.verification.anchor == Fingerprint(of: sent.certificate.span))
            }
        }
    }

    @Test func `a certificate that is distrusted is refused, warm and cold`() throws {
        let authority = try Minted.ellipticAuthority
        for certificate in [authority.leaf.certificate, authority.intermediate.certificate] {
            let fingerprint = try Fingerprint(of: certificate.span)
            let verifier = try Minted.verifier { $0.distrusted = [fingerprint] }
            let jws = try Minted.transaction.signed(by: authority)
            for _ in 0..<2 { #expect(try Minted.failure(jws, verifier)?.code == .distrustedCertificate) }
        }
    }

    // MARK: The date

    @Test func `the chain is judged at signedDate, unless the caller chooses another date`() throws {
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.leaf.notAfter = Instant(
            millisecondsSince1970: JWSBuilder.defaultDate.millisecondsSince1970 + 86_400_000)
        let authority = try TestCertificateAuthority(shape)
        let jws = try Minted.transaction.signed(by: authority)
        let late = Instant(millisecondsSince1970: JWSBuilder.defaultDate.millisecondsSince1970 + 864_000_000)
        #expect(try Minted.failure(jws, Minted.verifier(authority)) == nil)
        let atDate = try Minted.verifier(authority) { $0.validationDate = .at(late) }
        #expect(try Minted.failure(jws, atDate)?.code == .certificateExpired)
        let now = try Minted.verifier(authority) {
            $0.validationDate = .now
            $0.clock = { late }
        }
        #expect(try Minted.failure(jws, now)?.code == .certificateExpired)
    }

    @Test func `a JWS without a date is refused, unless the caller chooses one`() throws {
        var builder = Minted.transaction
        builder.payload["signedDate"] = nil
        let missing = try builder.signed(by: Minted.ellipticAuthority)
        try check("signed-date-missing", .date, missing)
        let chosen = try Minted.verifier { $0.validationDate = .at(JWSBuilder.defaultDate) }
        #expect(try Minted.failure(missing, chosen) == nil)

        builder.payload["signedDate"] = .null
        try check("signed-date-missing", .date, builder.signed(by: Minted.ellipticAuthority))
        for text in [#""2025-06-15""#, "true", "1e12", "99999999999999999999", "[]"] {
            builder.payload["signedDate"] = .raw(text)
            try check("signed-date-unreadable", .date, builder.signed(by: Minted.ellipticAuthority))
        }
        builder.payload["signedDate"] = 1_749_988_800_000
        builder.payload.append("signedDate", 1_749_988_800_000)
        try check("signed-date-repeated", .date, builder.signed(by: Minted.ellipticAuthority))
    }

    /// A member of another type makes each payload unreadable, so its date is looked for.
    @Test(
        arguments: [
            (#"{"productId":1,"signedDate":null}"#, "signed-date-missing", nil),
            (#"{"productId":1,"signedDate":"a","signedDate":"b"}"#, "signed-date-unreadable", 28),
            (#"{"productId":1,"signedDate":1,"signedDate":1,"signedDate":1}"#, "signed-date-repeated", 30),
            (#"{"productId":1,"signedDate":"a","signedDate":1,"signedDate":1}"#, "signed-date-unreadable", 28),
        ] as [(String, String, Int?)])
    func `of a date at fault in an unreadable payload, the first fault is told, and null is none`(
        payload: String, code: String, offset: Int?
    ) throws {
        let error = try Minted.failure(Minted.jws(payload: payload))
        #expect(error?.code.rawValue == code && error?.offset == offset)
    }

    @Test func `a payload with a value of another type is not taken for one of another kind`() throws {
        var builder = Minted.transaction
        builder.payload["productId"] = 1
        let jws = try builder.signed(by: Minted.ellipticAuthority)
        let error = try #require(try Minted.failure(jws))
        #expect(error.code == .unexpectedType && error.expected == nil)
        #expect(throws: error) { try Minted.verifier().verify(jws) }
    }

    @Test func `signed too long ago, or in the future, is refused where the policy says so`() throws {
        let date = JWSBuilder.defaultDate.millisecondsSince1970
        let jws = try Minted.transaction.signed(by: Minted.ellipticAuthority)
        func code(_ clock: Int64, maximumAge: Int64? = nil, rejectsFutureDates: Bool = false) throws -> String? {
            try Minted.failure(
                jws,
                Minted.verifier {
                    $0.clock = { Instant(millisecondsSince1970: clock) }
                    $0.maximumAge = maximumAge.map { .milliseconds($0) }
                    $0.allowsFutureDates = !rejectsFutureDates
                })?.code.rawValue
        }
        #expect(try code(date + 1000, maximumAge: 1000) == nil)
        #expect(try code(date + 1001, maximumAge: 1000) == "signed-too-long-ago")
        #expect(try code(date - 1, rejectsFutureDates: true) == "signed-in-the-future")
        #expect(try code(date, rejectsFutureDates: true) == nil)
        // Clocks may differ by five minutes.
        #expect(try code(date - 300_000, maximumAge: 1000) == nil)
        #expect(try code(date - 300_001, maximumAge: 1000) == "signed-in-the-future")
        #expect(try code(date - 1, maximumAge: 1000, rejectsFutureDates: true) == "signed-in-the-future")
        #expect(try code(Int64.min, maximumAge: .max) == "signed-in-the-future")
        #expect(try code(Int64.max, maximumAge: 1000) == "signed-too-long-ago")
    }

    @Test(
        arguments: [(nil, false, nil), (1000, false, "signed-date-missing"), (nil, true, "signed-date-missing")]
            as [(Int64?, Bool, String?)])
    func `without a signing date, no limit of the age is met`(maximumAge: Int64?, rejects: Bool, code: String?) throws {
        var builder = Minted.transaction
        builder.payload["signedDate"] = nil
        let jws = try builder.signed(by: Minted.ellipticAuthority)
        let verifier = try Minted.verifier {
            $0.validationDate = .at(JWSBuilder.defaultDate)
            $0.maximumAge = maximumAge.map { .milliseconds($0) }
            $0.allowsFutureDates = !rejects
        }
        #expect(try Minted.failure(jws, verifier)?.code.rawValue == code)
    }

    // MARK: Policy

    @Test func `bundle id and environment must be accepted ones`() throws {
        let cases: [(String, JSONValue?, String)] = [
            ("bundleId", "com.example.other", "bundle-id-mismatch"),
            ("bundleId", "com.example.App", "bundle-id-mismatch"),
            ("environment", "Production2", "unknown-environment"), ("environment", nil, "environment-missing"),
            ("environment", "Xcode", "environment-mismatch"), ("environment", "LocalTesting", "environment-mismatch"),
        ]
        for (name, value, code) in cases {
            var builder = Minted.transaction
            builder.payload[name] = value
            try check(code, .policy, builder.signed(by: Minted.ellipticAuthority))
        }
        let sandbox = try Minted.verifier(environments: [.sandbox])
        #expect(
            try Minted.failure(Minted.transaction.signed(by: Minted.ellipticAuthority), sandbox)?.code
                == .environmentMismatch
        )
    }

    @Test func `the app's Apple id must be the one asked for, which the sandbox may leave out`() throws {
        let authority = try Minted.ellipticAuthority
        let verifier = try Minted.verifier { $0.appAppleID = "1234567890" }
        func code(_ id: JSONValue?, _ environment: AppStoreEnvironment = .production) throws -> String? {
            var builder = JWSBuilder.appTransaction(bundleID: Minted.bundleID, environment: environment)
            builder.payload["appAppleId"] = id
            let jws = try builder.signed(by: authority)
            do throws(VerificationError) {
                _ = try verifier.verifyAppTransaction(jws)
                return nil
            } catch {
                return error.code.rawValue
            }
        }
        #expect(try code(1_234_567_890) == nil)
        #expect(try code(1) == "app-apple-id-mismatch")
        #expect(try code(nil) == "app-apple-id-mismatch")
        #expect(try code(0) == "app-apple-id-mismatch")
        #expect(try code(nil, .sandbox) == nil)
        #expect(try code(0, .sandbox) == nil)
        #expect(try code(1, .sandbox) == "app-apple-id-mismatch")
    }

    @Test func `a real-time request needs the app's Apple id, which it has in place of a bundle id`() throws {
        let builder = JWSBuilder.realtimeRequest(productID: "pro", originalTransactionID: "1000")
        let jws = try builder.signed(by: Minted.ellipticAuthority)
        #expect(throws: VerificationError.self) { try Minted.verifier().verifyRealtimeRequest(jws) }
        let request = try Minted.verifier { $0.appAppleID = "1234567890" }.verifyRealtimeRequest(jws)
        #expect(request.userLocale == "en-US" && request.requestIdentifier?.hasSuffix("2") == true)
        #expect(throws: VerificationError.self) {
            try Minted.verifier { $0.appAppleID = "1" }.verifyRealtimeRequest(jws)
        }
    }

    @Test func `Xcode's and LocalTesting's data is verified only in a verifier made for nothing else`() throws {
        let xcode = try Minted.ellipticStoreKit
        let trust = AppStoreTrust.storeKitTesting([try xcode.trustAnchor])
        #expect(throws: VerificationError.self) {
            try AppStoreVerifier(bundleID: Minted.bundleID, environments: [.xcode])
        }
        #expect(throws: VerificationError.self) {
            try AppStoreVerifier(bundleID: Minted.bundleID, environments: [.xcode, .production], trust: trust)
        }
        let verifier = try AppStoreVerifier(
            bundleID: Minted.bundleID, environments: [.xcode, .localTesting], trust: trust)
        for environment in ["Xcode", "LocalTesting"] {
            var builder = Minted.transaction
            builder.payload["environment"] = .string(environment)
            let jws = try builder.signed(by: xcode)
            let transaction = try verifier.verifyTransaction(jws)
            #expect(transaction.verification.authority == .storeKitTesting)
            try check("certificate-count", .header, jws)
        }
        // It takes nothing else: neither production's data nor another signer's.
        #expect(try Minted.failure(Minted.transaction.signed(by: xcode), verifier)?.code == .environmentMismatch)
        #expect(
            try Minted.failure(Minted.transaction.signed(by: Minted.ellipticAuthority), verifier)?.code
                == .certificateCount)
        var specification = StoreKitTestingSigner.specification
        specification.keyKind = .p256
        let other = try StoreKitTestingSigner(specification)
        var builder = Minted.transaction
        builder.environment = .xcode
        // Nor what the signer did not sign.
        let signed = try builder.signed(by: xcode)
        let signature = try Minted.transaction.signed(by: xcode).split(separator: ".").last ?? ""
        let forged = signed.split(separator: ".").dropLast().joined(separator: ".") + "." + signature
        #expect(try Minted.failure(signed, verifier) == nil)
        #expect(try Minted.failure(forged, verifier)?.code == .invalidSignature)
        #expect(try Minted.failure(builder.signed(by: other), verifier)?.code == .untrustedChain)
    }

    // MARK: Support

    private func base64(_ bytes: [UInt8]) -> String {
        // Base64url and base64 differ in two characters and the padding.
        let text = JWSBuilder.base64URL(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }

    private func signed(header: String) throws -> String {
        let payload = JWSBuilder.base64URL(Minted.transaction.payload.bytes)
        let input = JWSBuilder.base64URL(Array(header.utf8)) + "." + payload
        return input + "."
            + JWSBuilder.base64URL(
                try JWSBuilder.signature(of: Array(input.utf8), key: Minted.ellipticAuthority.leaf.key))
    }
}
