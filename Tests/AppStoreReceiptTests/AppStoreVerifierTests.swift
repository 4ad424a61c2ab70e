import AppStoreReceipt
import AppStoreReceiptTesting
import SignatureTrust
import SpanASN1
import SpanPKCS7
import StrictText
import TestSupport
import Testing

/// A genuine receipt, and everything in it that a test may change before it is signed.
struct ReceiptDraft {
    var builder = ReceiptBuilder(
        bundleID: "com.example.app", purchases: [.nonConsumable("com.example.app.pro", transactionID: "1")])
    var authority: TestCertificateAuthority
    var container: (inout SignedDataBuilder) throws -> Void = { _ in }
    var bytes: (inout [UInt8]) throws -> Void = { _ in }

    init() throws { authority = try Minted.authority }

    static func received(_ change: (inout ReceiptDraft) throws -> Void = { _ in }) throws -> [UInt8] {
        var draft = try ReceiptDraft()
        try change(&draft)
        var container = try draft.builder.signedData(by: draft.authority)
        try draft.container(&container)
        var bytes = try container.encoded()
        try draft.bytes(&bytes)
        return bytes
    }

    /// The chain of the shared authority, with the same keys, changed before it is issued.
    mutating func reissue(_ change: (inout TestCertificateAuthority.Shape) -> Void) throws {
        var shape = TestCertificateAuthority.Shape()
        change(&shape)
        authority = try TestCertificateAuthority(
            shape, rootKey: authority.root.key, intermediateKey: authority.intermediate.key, leafKey: authority.leaf.key
        )
    }
}

extension AppStoreVerifier {
    /// The code of the error, or `nil` for a receipt that verifies.
    func code(_ received: [UInt8]) -> String? {
        do {
            _ = try verifyReceipt(received)
            return nil
        } catch {
            return error.code.rawValue
        }
    }
}

@Suite struct AppStoreVerifierTests {
    /// Trusts the shared authority for one app's production receipts, at a time when its leaf is valid.
    static func verifier(_ change: (inout VerificationPolicy) -> Void = { _ in }) throws -> AppStoreVerifier {
        var policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production])
        change(&policy)
        return try AppStoreVerifier(policy: policy, trust: Minted.trust)
    }

    typealias Change = @Sendable (inout ReceiptDraft) throws -> Void

    /// Finds some bytes of the message and flips a bit in the middle of them.
    private static func flip(_ part: @escaping @Sendable (SignedData) throws -> Range<Int>?) -> Change {
        { draft in
            draft.bytes = { bytes in
                let copy = bytes
                let message = try SignedData(ContentInfo(copy.span))
                guard let range = try part(message) else { return }
                bytes[(range.lowerBound + range.upperBound) / 2] ^= 0x04
            }
        }
    }

    private static func leaf(_ message: SignedData, _ part: (SpanPKCS7.Certificate) -> Range<Int>) throws -> Range<Int>?
    {
        var certificates = message.certificates
        guard let leaf = try certificates.next() else { return nil }
        return part(leaf)
    }

    private static func attribute(_ type: AttributeType, _ value: [UInt8]) -> ReceiptAttribute {
        .init(type, value: value)
    }

    static let faults: [(code: String, stage: VerificationError.Stage, change: Change)] = [
        ("empty-input", .input, { $0.bytes = { $0 = [] } }),
        ("trailing-data", .container, { $0.bytes = { $0.append(0) } }),
        ("indefinite-length", .container, { $0.bytes = { $0 = (0..<1 << 20).map { $0 % 2 == 0 ? 0x30 : 0x80 } } }),
        ("length-overflow", .container, { $0.bytes = { $0 = [0x30, 0x88] + [UInt8](repeating: 0xFF, count: 8) } }),
        ("signer-count", .container, { $0.container = { $0.signers.append($0.signers[0]) } }),
        (
            "missing-content", .container,
            {
                $0.container = { container in
                    container.signers[0].signature = [1]
                    container.content = nil
                }
            }
        ),
        ("missing-signer-certificate", .container, { $0.container = { $0.certificates?.removeFirst() } }),
        ("content-digest-mismatch", .signature, flip { $0.content?.contentRange }),
        (
            "invalid-signature", .signature,
            flip { message in
                var signers = message.signerInfos
                return try signers.next()?.signature.contentRange
            }
        ),
        (
            "invalid-signature", .signature,
            flip { try leaf($0) { $0.subjectPublicKeyInfo.subjectPublicKey.contentRange } }
        ),
        (
            "weak-key", .signature,
            { draft in
                let key = try SigningKey(generating: .rsa(bits: 1024))
                draft.authority = try TestCertificateAuthority(
                    rootKey: draft.authority.root.key, intermediateKey: draft.authority.intermediate.key, leafKey: key)
            }
        ),
        ("creation-date-missing", .date, { $0.builder.creationDate = nil }),
        (
            "creation-date-missing", .date,
            { draft in
                draft.builder.creationDate = nil
                draft.builder.additionalAttributes = [.date(.creationDate, nil)]
            }
        ),
        (
            "creation-date-repeated", .date,
            { $0.builder.additionalAttributes = [.date(.creationDate, ReceiptBuilder.defaultCreationDate)] }
        ),
        ("creation-date-repeated", .date, { $0.builder.additionalAttributes = [.date(.creationDate, nil)] }),
        (
            "creation-date-unreadable", .date,
            { draft in
                draft.builder.creationDate = nil
                draft.builder.additionalAttributes = [.ia5String(.creationDate, "15 June 2025, 2 PM")]
            }
        ),
        (
            "creation-date-unreadable", .date,
            { draft in
                draft.builder.creationDate = nil
                draft.builder.additionalAttributes = [.utf8String(.creationDate, "2025-06-15T12:00:00Z")]
            }
        ),
        ("invalid-certificate-signature", .chain, flip { try leaf($0) { $0.signatureValue.contentRange } }),
        ("missing-leaf-marker", .chain, { try $0.reissue { $0.leaf.removeExtensions(.receiptSigningMarker) } }),
        (
            "missing-intermediate-marker", .chain,
            { try $0.reissue { $0.intermediate.removeExtensions(.worldwideDeveloperRelationsMarker) } }
        ),
        ("weak-algorithm", .chain, { try $0.reissue { $0.leaf.digest = .md5 } }),
        ("invalid-key-usage", .chain, { try $0.reissue { $0.leaf.replaceExtension(.keyUsage(.keyEncipherment)) } }),
        ("untrusted-chain", .chain, { $0.authority = try Minted.stranger }),
        (
            "certificate-expired", .chain,
            { try $0.reissue { $0.leaf.notAfter = Instant(millisecondsSince1970: 1_700_000_000_000) } }
        ),
        ("certificate-not-yet-valid", .chain, { $0.builder.creationDate = Instant(millisecondsSince1970: 0) }),
        (
            "duplicate-element", .payload,
            { $0.builder.additionalAttributes = [.utf8String(.bundleID, "com.example.app")] }
        ),
        (
            "unexpected-tag", .payload,
            { draft in
                draft.builder.applicationVersion = nil
                draft.builder.additionalAttributes = [.integer(.applicationVersion, 1)]
            }
        ),
        ("bundle-id-mismatch", .policy, { $0.builder.bundleID = "com.example.another" }),
        ("bundle-id-missing", .policy, { $0.builder.bundleID = nil }),
        ("unknown-environment", .policy, { $0.builder.receiptType = "Staging" }),
        ("environment-missing", .policy, { $0.builder.receiptType = nil }),
        ("environment-mismatch", .policy, { $0.builder.receiptType = "ProductionSandbox" }),
        ("environment-mismatch", .policy, { $0.builder.receiptType = "Xcode" }),
    ]

    @Test(arguments: faults.indices)
    func `every fault is refused by its own code, cold and warm`(index: Int) throws {
        let (code, stage, change) = Self.faults[index]
        let received = try ReceiptDraft.received(change)
        let warm = try Self.verifier()
        #expect(try warm.code(ReceiptDraft.received()) == nil)
        for verifier in try [Self.verifier(), warm] {
            let error = #expect(throws: VerificationError.self) { try verifier.verifyReceipt(received) }
            #expect(error?.code.rawValue == code && error?.stage == stage)
            #expect(error?.offset.map { 0...received.count ~= $0 } ?? (stage == .policy))
        }
    }

    /// Form, structure, signature, date, chain, payload, policy.
    @Test func `of two faults the one that is checked first is reported, cold and warm`() throws {
        let changes: [Change] = [
            { $0.bytes = { $0.append(0) } },
            { draft in
                let container = draft.container
                draft.container = {
                    try container(&$0)
                    $0.signers.append($0.signers[0])
                }
            },
            { draft in
                let container = draft.container
                draft.container = {
                    try container(&$0)
                    $0.signers[0].signature = [UInt8](repeating: 1, count: 256)
                }
            },
            { $0.builder.creationDate = nil },
            { draft in
                let root = try SigningKey(generating: .rsa(bits: 2048))
                draft.authority = try TestCertificateAuthority(
                    rootKey: root, intermediateKey: draft.authority.intermediate.key, leafKey: draft.authority.leaf.key)
            },
            { $0.builder.additionalAttributes = [.utf8String(.originalApplicationVersion, "2")] },
            { $0.builder.bundleID = "com.example.another" }, { $0.builder.receiptType = "Staging" },
        ]
        let codes = [
            "trailing-data", "signer-count", "invalid-signature", "creation-date-missing", "untrusted-chain",
            "duplicate-element",
            "bundle-id-mismatch", "unknown-environment",
        ]
        let warm = try Self.verifier()
        #expect(try warm.code(ReceiptDraft.received()) == nil)
        for first in changes.indices {
            for second in changes.indices.dropFirst(first) {
                let received = try ReceiptDraft.received { draft in
                    try changes[first](&draft)
                    if second != first { try changes[second](&draft) }
                }
                for verifier in try [Self.verifier(), warm] {
                    #expect(verifier.code(received) == codes[first], "\(codes[first]) and \(codes[second])")
                }
            }
        }
    }

    @Test func `whatever else is wrong with the payload, its date is judged first, in any order`() throws {
        let date = ReceiptAttribute.date(.creationDate, ReceiptBuilder.defaultCreationDate)
        let other = ReceiptAttribute.utf8String(.bundleID, "com.example.app")
        let rows: [([ReceiptAttribute], String)] = [
            ([date, other, other], "duplicate-element"), ([other, date, other], "duplicate-element"),
            ([other, other, date], "duplicate-element"), ([other, other, date, date], "creation-date-repeated"),
            ([date, other, date, other], "creation-date-repeated"),
            ([date, date, other, other], "creation-date-repeated"),
            ([other, other], "creation-date-missing"),
            ([.ia5String(.creationDate, "?"), other, other], "creation-date-unreadable"),
            ([other, other, .ia5String(.creationDate, "?")], "creation-date-unreadable"),
            ([other, .integer(.inAppPurchase, 1), .date(.creationDate, nil)], "creation-date-missing"),
        ]
        let warm = try Self.verifier()
        #expect(try warm.code(ReceiptDraft.received()) == nil)
        for (attributes, code) in rows {
            let received = try ReceiptDraft.received { draft in
                draft.builder.creationDate = nil
                draft.builder.bundleID = nil
                draft.builder.additionalAttributes = attributes
                draft.builder.attributeOrder = .asGiven
            }
            for verifier in try [Self.verifier(), warm] { #expect(verifier.code(received) == code) }
        }
    }

    @Test func `a verified receipt says what it was verified by`() throws {
        for digest in [SignatureDigest.sha1, .sha256, .sha512] {
            let received = try ReceiptDraft.received { $0.builder.digest = digest }
            let verification = try Self.verifier().verifyReceipt(received).verification
            let authority = try Minted.authority
            #expect(verification.authority == .customRoot)
            #expect(try verification.anchor == Fingerprint(of: authority.root.certificate.span))
            #expect(try verification.signer == Fingerprint(of: authority.leaf.certificate.span))
            #expect(verification.digest.rawValue == digest.rawValue)
            #expect(verification.validationDate == ReceiptBuilder.defaultCreationDate)
            // 2045-12-31T23:59:59Z
            #expect(verification.signerExpirationDate.millisecondsSince1970 == 2_398_377_599_000)
        }
    }

    @Test func `signed attributes are accepted in a receipt, and verified`() throws {
        func code(_ attributes: [SignedDataBuilder.SignedAttribute]) throws -> String? {
            try Self.verifier().code(ReceiptDraft.received { $0.builder.signedAttributes = attributes })
        }
        #expect(try code(SignedDataBuilder.SignedAttribute.required) == nil)
        #expect(try code([.contentType(nil)]) == "invalid-signed-attributes")
        #expect(try code([.contentType(nil), .messageDigest([1])]) == "content-digest-mismatch")
    }

    @Test func `an unreadable payload is told only of a trusted signer`() throws {
        for (authority, code) in [(try Minted.authority, "unexpected-tag"), (try Minted.stranger, "untrusted-chain")] {
            let received = try ReceiptDraft.received {
                $0.authority = authority
                $0.container = { $0.content = [0x31, 0x02, 0x05, 0x00] }
            }
            #expect(try Self.verifier().code(received) == code)
        }
    }

    /// The date in such a payload does not count: the chain is valid at the start of the leaf's validity.
    @Test func `a payload with bytes after it has no date`() throws {
        let received = try ReceiptDraft.received {
            try $0.reissue { $0.leaf.notAfter = day(20) }
            $0.builder.creationDate = day(30)
            let payload = try $0.builder.payload()
            $0.container = { $0.content = payload + [0x05, 0x00] }
        }
        #expect(try Self.verifier().code(received) == "trailing-data")
    }

    /// RFC 5652, 5.4: the attributes are signed as a SET OF, which a receipt's payload is as well.
    @Test func `attributes that were signed are no receipt when they are sent as content`() throws {
        var signed = try ReceiptBuilder(bundleID: "com.example.app").signedData(by: Minted.authority)
        signed.signers[0].signedAttributes = SignedDataBuilder.SignedAttribute.required
        let bytes = try signed.encoded()
        let message = try SignedData(ContentInfo(bytes.span))
        var signers = message.signerInfos
        guard let signer = try signers.next(), let attributes = signer.signedAttributes else { return }
        let content = [0x31] + [UInt8](copying: attributes.element.encoded).dropFirst()
        let signature = [UInt8](copying: signer.signature.content)
        let received = try ReceiptDraft.received {
            $0.container = {
                $0.content = content
                $0.signers[0].signature = signature
            }
        }
        let error = #expect(throws: VerificationError.self) { try Self.verifier().verifyReceipt(received) }
        #expect(error?.stage == .payload)
    }

    @Test func `BER is verified like DER, and errors are placed in what was received`() throws {
        let verifier = try Self.verifier()
        let der = try verifier.verifyReceipt(ReceiptDraft.received())
        for size in [nil, 1, 7, 100] as [Int?] {
            let ber = try verifier.verifyReceipt(
                ReceiptDraft.received { $0.builder.encoding = .ber(segmentSize: size) })
            #expect(ber.receipt == der.receipt && ber.verification == der.verification)
            // The faulty attribute's value must be where the error says, though the content came in pieces.
            let received = try ReceiptDraft.received { draft in
                draft.builder.encoding = .ber(segmentSize: size)
                draft.builder.additionalAttributes = [Self.attribute(.expirationDate, tlv(0x13, Array("marker".utf8)))]
            }
            let error = #expect(throws: VerificationError.self) { try verifier.verifyReceipt(received) }
            #expect(error?.stage == .payload && error?.path == "payload › 21 expiration date")
            #expect(error?.offset.map { received[$0] } == 0x13)
        }
    }

    /// One policy, one trust, one error, one set of counts.
    @Test func `one verifier takes every kind of evidence, as bytes, as text and by the method for the kind`() throws {
        let verifier = try Minted.verifier { $0.appAppleID = "1234567890" }
        let receipt = try ReceiptDraft.received()
        let base64 = Base64.encode(receipt.span)
        let pem = "-----BEGIN PKCS7-----\n\(base64)\n-----END PKCS7-----\n"
        let transaction = try Minted.jws(Minted.transaction)
        let renewal = try Minted.jws(.renewalInfo(productID: "pro", originalTransactionID: "1000"))
        let app = try Minted.jws(.appTransaction(bundleID: Minted.bundleID))
        let request = try Minted.jws(.realtimeRequest(productID: "pro", originalTransactionID: "1000"))
        let notification = try Minted.jws(
            .notification(.didRenew, bundleID: Minted.bundleID, transaction: transaction, renewalInfo: renewal))
        func object(_ member: String, _ evidence: String) -> String { "{\"\(member)\":\"\(evidence)\"}" }
        let texts = [
            [base64, pem, object("receipt-data", base64), " \(base64)\r\n"],
            [transaction, object("signedTransactionInfo", transaction), "\n\(transaction) "],
            [renewal, object("signedRenewalInfo", renewal)], [app, object("signedAppTransactionInfo", app)],
            [notification, object("signedPayload", notification)], [request, object("signedPayload", request)],
        ]
        let evidence: [VerifiedEvidence] = try [
            .receipt(verifier.verifyReceipt(receipt)), .transaction(verifier.verifyTransaction(transaction)),
            .renewalInfo(verifier.verifyRenewalInfo(renewal)), .appTransaction(verifier.verifyAppTransaction(app)),
            .notification(verifier.verifyNotification(notification)),
            .realtimeRequest(verifier.verifyRealtimeRequest(request)),
        ]
        let fromBytes: [VerifiedEvidence] = try [
            .receipt(verifier.verifyReceipt(base64)), .transaction(verifier.verifyTransaction(Array(transaction.utf8))),
            .renewalInfo(verifier.verifyRenewalInfo(Array(renewal.utf8))),
            .appTransaction(verifier.verifyAppTransaction(Array(app.utf8))),
            .notification(verifier.verifyNotification(Array(notification.utf8))),
            .realtimeRequest(verifier.verifyRealtimeRequest(Array(request.utf8))),
        ]
        #expect(fromBytes == evidence)

        var count = UInt64(2 * evidence.count)
        for (texts, expected) in zip(texts, evidence) {
            for text in texts {
                #expect(try verifier.verify(text) == expected)
                #expect(try verifier.verify(Array(text.utf8)) == expected)
                count += 2
            }
            #expect(expected.environment == .production)
        }
        #expect(try verifier.verify(receipt) == evidence[0])
        #expect(verifier.counts.verified == count + 1 && verifier.counts.refused.isEmpty)

        // Apple signed none of them.
        let apple = try AppStoreVerifier(bundleID: Minted.bundleID, environments: [.production])
        for texts in texts {
            let error = #expect(throws: VerificationError.self) { try apple.verify(texts[0]) }
            #expect(error?.code == .untrustedChain && error?.stage == .chain && error?.category == .forgery)
        }
        #expect(apple.counts.refused == [.untrustedChain: UInt64(texts.count)])
    }

    @Test func `the method for a kind refuses every other`() throws {
        let verifier = try Minted.verifier()
        let bytes = try ReceiptDraft.received()
        let receipt = Base64.encode(bytes.span)
        let transaction = try Minted.jws(Minted.transaction)
        func code(_ body: () throws -> Void) -> String? {
            let error = #expect(throws: VerificationError.self) { try body() }
            return error?.code.rawValue
        }
        #expect(code { _ = try verifier.verifyReceipt(transaction) } == "unrecognized-form")
        #expect(code { _ = try verifier.verifyTransaction(receipt) } == "part-count")
        #expect(code { _ = try verifier.verifyRenewalInfo(transaction) } == "missing-member")
    }

    @Test func `a verifier is shared by threads`() async throws {
        let verifier = try Self.verifier()
        let inputs = try Self.faults.filter { $0.stage != .input }.map {
            (try ReceiptDraft.received($0.change), Optional($0.code))
        }
        let all =
            inputs + [
                (try ReceiptDraft.received(), nil), (try ReceiptDraft.received { $0.builder.encoding = .ber() }, nil),
            ]
        await withTaskGroup(of: Bool.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    (0..<all.count).allSatisfy { index in
                        let (received, code) = all[(index * 5 + thread) % all.count]
                        return verifier.code(received) == code
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
