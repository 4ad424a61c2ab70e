import AppStoreReceipt
import AppStoreReceiptTesting

// JWS, with a verifier whose limit of 1 MiB is lifted.

extension Attack {
    private static func verifyingJWS(_ name: String, _ input: @escaping @Sendable (Int) throws -> [UInt8]) -> Attack {
        Attack(name: "JWS: " + name) { n in
            var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
            policy.limits.maximumJWSByteCount = .max
            let verifier = try AppStoreVerifier(policy: policy, trust: .roots([signers.get().trustAnchor]))
            let text = try input(n)
            return (text.count, { outcome { () throws(VerificationError) in try verifier.verify(text) } })
        }
    }

    private static let signers = Result { () throws(MintingError) in try TestCertificateAuthority(.ellipticCurve) }

    private static func signed(_ change: (inout JWSBuilder) throws -> Void) throws -> [UInt8] {
        var builder = JWSBuilder.transaction(bundleID: "a", productID: "pro", transactionID: "1")
        try change(&builder)
        return Array(try builder.signed(by: signers.get()).utf8)
    }

    /// Of about `n` bytes.
    private static func text(_ unit: String, _ n: Int) -> String {
        String(repeating: unit, count: max(1, n / unit.utf8.count))
    }

    static var jws: [Attack] {
        [
            verifyingJWS("nothing but dots") { n in
                [UInt8(ascii: "e")] + [UInt8](repeating: UInt8(ascii: "."), count: n)
            },
            verifyingJWS("no dot") { n in [UInt8](repeating: UInt8(ascii: "e"), count: n) },
            verifyingJWS("whitespace around it") { n in
                [UInt8](repeating: UInt8(ascii: " "), count: n / 2) + (try signed { _ in })
                    + [UInt8](repeating: UInt8(ascii: "\n"), count: n / 2)
            },
            verifyingJWS("a header of nested arrays") { n in
                try signed { $0.additionalHeaderMembers = [.init("x", .raw(text("[", n * 3 / 4)))] }
            },
            verifyingJWS("a header of many members") { n in
                try signed { $0.additionalHeaderMembers = [.init("x", .raw(text("0,\"x\":", n * 9 / 16) + "0"))] }
            },
            verifyingJWS("certificates by the thousand") { n in
                try signed { $0.certificates = Array(repeating: [0x30, 0x00], count: max(4, n * 3 / 4 / 7)) }
            },
            verifyingJWS("a certificate of n bytes") { n in
                try signed { builder in
                    let chain = try signers.get().certificates
                    builder.certificates = [[UInt8](repeating: 0x30, count: n / 2), chain[1], chain[2]]
                }
            },
            verifyingJWS("a payload of nested objects, signed") { n in
                try signed { $0.payload = .raw(text("{\"x\":", n * 3 / 4)) }
            },
            verifyingJWS("a payload of many members, signed") { n in
                try signed { builder in
                    builder.payload = .raw("{" + text("\"x\":0,", n * 3 / 4) + builder.payload.text.dropFirst())
                }
            },
            verifyingJWS("a name of escapes, signed") { n in
                try signed { $0.payload.append(text("\u{1}", n / 8), .null) }
            },
            verifyingJWS("one string, signed") { n in
                try signed { $0.payload.append("x", .string(text("x", n * 3 / 4))) }
            },
            verifyingJWS("an array of offers, signed") { n in
                try signed {
                    $0.payload["advancedCommerceInfo"] = .raw("{\"items\":[" + text("{},", n * 3 / 4) + "{}]}")
                }
            },
            verifyingJWS("a notification in a notification …, signed") { n in
                var inner = ""
                var depth = 0
                while inner.utf8.count < n * 3 / 4, depth < 40 {
                    depth += 1
                    inner = try JWSBuilder.notification(.test, bundleID: "a", transaction: inner)
                        .signed(by: signers.get())
                }
                return Array(inner.utf8)
            },
        ]
    }
}

extension JSONValue {
    fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }
}
