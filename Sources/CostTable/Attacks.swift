import AppStoreReceipt
import AppStoreReceiptTesting
import SignatureTrust
import SpanASN1
import SpanPKCS7
import StrictText

/// An input of about n bytes that is designed to be expensive, with the operation on it.
struct Attack: Sendable {
    let name: String
    /// Prepares the input and returns the operation to measure, which returns an error code or its result.
    let prepare: @Sendable (_ n: Int) throws -> (byteCount: Int, run: () -> String)

    static func decoding(_ name: String, _ input: @escaping @Sendable (Int) throws -> [UInt8]) -> Attack {
        Attack(name: name) { n in
            let bytes = try input(n)
            return (bytes.count, { outcome { () throws(VerificationError) in try UnverifiedReceipt(decoding: bytes) } })
        }
    }

    static func verifying(_ name: String, _ input: @escaping @Sendable (Int) throws -> [UInt8]) -> Attack {
        Attack(name: name) { n in
            let verifier = try Self.verifier()
            let bytes = try input(n)
            return (bytes.count, { outcome { () throws(VerificationError) in try verifier.verifyReceipt(bytes) } })
        }
    }

    static let authority = Result { () throws(MintingError) in try TestCertificateAuthority() }

    static func verifier() throws -> AppStoreVerifier {
        try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production]),
            trust: .roots([authority.get().trustAnchor]))
    }

    static func outcome<Value>(_ body: () throws(VerificationError) -> Value) -> String {
        do throws(VerificationError) {
            _ = try body()
            return "accepted"
        } catch {
            return error.code
        }
    }
}

extension Attack {
    static let all: [Attack] =
        [
            decoding("30 80 30 80 …") { n in Array(repeating: [0x30, 0x80], count: n / 2).flatMap(\.self) },
            Attack(name: "definite nesting, walked") { n in
                let bytes = Filling.nestedSequences(n)
                return (
                    bytes.count,
                    {
                        var walker = ASN1Walker(bytes.span, limits: ASN1Limits(maximumDepth: .max))
                        var count = 0
                        while let element = try? walker.next() { count = max(count, element.depth + 1) }
                        return "\(count) levels"
                    }
                )
            },
            decoding("definite nesting") { n in Filling.nestedSequences(n) },
            decoding("empty elements for a payload") { n in
                try container(payload(Array(repeating: [0x30, 0x00], count: n / 2).flatMap(\.self)))
            },
            decoding("a million tiny attributes") { n in
                try container(payload(repeated(attribute(99, []), n)))
            },
            decoding("tiny purchases") { n in try container(payload(repeated(attribute(17, [0x31, 0x00]), n))) },
            Attack(name: "lengths of 126 octets, walked") { n in
                let element: [UInt8] = [0x04, 0xFE] + [UInt8](repeating: 0, count: 126)
                let bytes = repeated(element, n)
                return (
                    bytes.count,
                    {
                        var walker = ASN1Walker(bytes.span, rules: .ber)
                        var count = 0
                        while (try? walker.next()) != nil { count += 1 }
                        return "\(count / 1000)k elements"
                    }
                )
            },
            decoding("a huge INTEGER for a type") { n in
                let type = element(.integer, [0x7F] + [UInt8](repeating: 0xFF, count: n))
                return try container(payload(element(.sequence, type + [0x02, 0x01, 0x01, 0x04, 0x00])))
            },
            decoding("a huge OID for the content type") { n in
                try container(payload([])) { builder in
                    builder.contentType = ASN1ObjectIdentifier(validating: hugeArc(n)) ?? .data
                }
            },
            Attack(name: "a huge OID in words") { n in
                let bytes = element(.objectIdentifier, hugeArc(n))
                return (bytes.count, { describe(bytes) })
            },
            Attack(name: "an OID of many arcs in words") { n in
                let bytes = element(.objectIdentifier, [UInt8](repeating: 0x2A, count: n))
                return (bytes.count, { describe(bytes) })
            },
            verifying("certificates by the thousand") { n in
                let certificate = try authority.get().root.certificate
                return try container(payload([])) { builder in
                    builder.certificates = Array(repeating: certificate, count: max(1, n / certificate.count))
                }
            },
            Attack(name: "certificates by the thousand, no limit") { n in
                var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
                policy.limits.maximumCertificateCount = .max
                let verifier = try AppStoreVerifier(policy: policy, trust: .roots([authority.get().trustAnchor]))
                let certificate = try authority.get().root.certificate
                let bytes = try container(try ReceiptBuilder(bundleID: "a").payload()) { builder in
                    builder.certificates? += Array(repeating: certificate, count: max(1, n / certificate.count))
                }
                return (bytes.count, { outcome { () throws(VerificationError) in try verifier.verifyReceipt(bytes) } })
            },
            verifying("signers by the thousand") { n in
                let leaf = try authority.get().leaf
                return try container(payload([])) { builder in
                    var signer = SignedDataBuilder.Signer(leaf)
                    signer.signature = [UInt8](repeating: 1, count: 256)
                    builder.signers = Array(repeating: signer, count: max(1, n / 400))
                }
            },
            verifying("a certificate with many extensions") { n in
                var shape = TestCertificateAuthority.Shape()
                let id = ASN1ObjectIdentifier(content: [0x2A, 0x03])
                shape.leaf.extensions += Array(repeating: .init(id, .bytes([])), count: n / 10)
                let authority = try authority.get().reissued(shape)
                return try ReceiptBuilder(bundleID: "a").signed(by: authority)
            },
            verifying("many signed attributes") { n in
                var builder = ReceiptBuilder(bundleID: "a")
                let other = SignedDataBuilder.SignedAttribute.other(
                    ASN1ObjectIdentifier(content: [0x2A, 0x03]), values: [])
                builder.signedAttributes =
                    [.contentType(nil), .messageDigest(nil)] + Array(repeating: other, count: n / 8)
                return try builder.signed(by: authority.get())
            },
            decoding("BER in segments of one byte") { n in
                try container(payload(attribute(99, [UInt8](repeating: 0, count: n / 3)))) {
                    $0.encoding = .ber(segmentSize: 1)
                }
            },
            decoding("BER in empty segments") { n in berWithEmptySegments(n) },
            decoding("base64, a line for each character") { n in
                let text = Array(Base64.encode([UInt8](repeating: 0x30, count: n * 3 / 8).span).utf8)
                return text.flatMap { [$0, UInt8(ascii: "\n")] }
            },
            decoding("base64 with a space after each") { n in
                let text = Array(Base64.encode([UInt8](repeating: 0x30, count: n * 3 / 8).span).utf8)
                return text.flatMap { [$0, UInt8(ascii: " ")] }
            },
            decoding("whitespace before base64") { n in
                [UInt8](repeating: UInt8(ascii: " "), count: n) + Array("MAA=".utf8)
            },
            decoding("JSON of nested arrays") { n in
                Array("{\"x\":".utf8) + [UInt8](repeating: UInt8(ascii: "["), count: n)
            },
            decoding("JSON of many members") { n in
                Array("{".utf8) + repeated(Array("\"x\":[],".utf8), n) + Array("\"receipt-data\":\"MAA=\"}".utf8)
            },
            Attack(name: "JSON, much after a small receipt, in a request") { n in
                let body = Array("{\"receipt-data\":\"MAA=\",\"x\":\"\(String(repeating: "A", count: n))\"}".utf8)
                let responder = try VerifyReceiptResponder(answeringForEveryAppIn: [.production])
                return (body.count, { "status \(responder.answer(to: body).status.rawValue)" })
            },
            decoding("JSON, each character escaped") { n in
                Array("{\"receipt-data\":\"".utf8) + repeated(Array("\\u004D".utf8), n) + Array("\"}".utf8)
            },
            decoding("PEM of many lines") { n in
                Array("-----BEGIN PKCS7-----\n".utf8) + repeated(Array("MAAA\n".utf8), n)
                    + Array("-----END PKCS7-----\n".utf8)
            },
            verifying("one attribute, signed") { n in
                var builder = ReceiptBuilder(bundleID: "a")
                builder.additionalAttributes = [
                    .init(AttributeType(rawValue: 99), value: [UInt8](repeating: 7, count: n))
                ]
                return try builder.signed(by: authority.get())
            },
            verifying("many purchases, signed") { n in
                let purchase = ReceiptBuilder.Purchase.consumable("com.example.coins", transactionID: "1000000")
                let builder = ReceiptBuilder(bundleID: "a", purchases: Array(repeating: purchase, count: n / 300))
                return try builder.signed(by: authority.get())
            },
            Attack(name: "many purchases, as JSON") { n in
                let purchase = ReceiptBuilder.Purchase.consumable("com.example.coins", transactionID: "1000000")
                let builder = ReceiptBuilder(bundleID: "a", purchases: Array(repeating: purchase, count: n / 300))
                let bytes = try builder.signed(by: authority.get())
                let receipt = try UnverifiedReceipt(decoding: bytes)
                return (bytes.count, { receipt.json.isEmpty ? "nothing" : "written" })
            },
            Attack(name: "a flood of junk certificates") { n in try flood(n) },
        ] + jws + batches + transactionReceipts

    /// Receipts of unknown authorities, n bytes in all. Then a receipt that was verified before is verified again.
    private static func flood(_ n: Int) throws -> (byteCount: Int, run: () -> String) {
        let verifier = try verifier()
        let good = try ReceiptBuilder(bundleID: "a").signed(by: authority.get())
        _ = try verifier.verifyReceipt(good)
        // The same keys with other names, so that every chain is new. There are two hundred of them, which repeat.
        let stranger = try TestCertificateAuthority()
        var junk: [[UInt8]] = []
        var count = 0
        while count < n, junk.count < 200 {
            var shape = TestCertificateAuthority.Shape()
            shape.leaf.serialNumber = [0x01, UInt8(junk.count)]
            junk.append(try ReceiptBuilder(bundleID: "a").signed(by: stranger.reissued(shape)))
            count += junk.last?.count ?? 1
        }
        let size = junk[0].count
        let rounds = max(1, n / size)
        return (
            rounds * size,
            {
                for round in 0..<rounds { _ = try? verifier.verifyReceipt(junk[round % junk.count]) }
                return outcome { () throws(VerificationError) in try verifier.verifyReceipt(good) }
            }
        )
    }
}

// MARK: Material

func element(_ tag: ASN1Tag, _ content: [UInt8]) -> [UInt8] {
    ASN1Writer.encode { $0.write(tag, content: content.span) }
}

private func attribute(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
    element(.sequence, [0x02, 0x01, type, 0x02, 0x01, 0x01] + element(.octetString, value))
}

private func payload(_ attributes: [UInt8]) -> [UInt8] { element(.set, attributes) }

private func repeated(_ bytes: [UInt8], _ n: Int) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(n + bytes.count)
    for _ in 0..<max(1, n / bytes.count) { result += bytes }
    return result
}

private func hugeArc(_ n: Int) -> [UInt8] { [0x2A] + [UInt8](repeating: 0xFF, count: n) + [0x7F] }

private func describe(_ bytes: [UInt8]) -> String {
    do {
        let count = try ASN1Cursor.decode(bytes.span) { (cursor) throws(ASN1DecodingError) in
            try cursor.read(.objectIdentifier).objectIdentifier().description.utf8.count
        }
        return "\(count / 1000)k characters"
    } catch {
        return "\(error)"
    }
}

private func container(
    _ payload: [UInt8], _ change: (inout SignedDataBuilder) throws -> Void = { _ in }
) throws -> [UInt8] {
    let authority = try Attack.authority.get()
    var builder = SignedDataBuilder(
        content: payload, certificates: authority.certificates, signers: [.init(authority.leaf)])
    try change(&builder)
    return try builder.encoded()
}

private func berWithEmptySegments(_ n: Int) -> [UInt8] {
    let type: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07]
    return [0x30, 0x80] + type + [0x02, 0xA0, 0x80, 0x30, 0x80, 0x02, 0x01, 0x01, 0x31, 0x00, 0x30, 0x80] + type
        + [0x01, 0xA0, 0x80, 0x24, 0x80] + repeated([0x04, 0x00], n) + [UInt8](repeating: 0, count: 6) + [0x31, 0x00]
        + [UInt8](repeating: 0, count: 6)
}
