import AppStoreReceipt
public import AppStoreReceiptTesting
import LibcryptoHandles
import SpanASN1
import StrictText

/// Signs a mutated JWS, so that the code after the signature is fuzzed, too, and keeps inputs small.
public enum JWSSigner {
    /// The certificates for which a digit stands in `x5c`: leaf, intermediate and root; a leaf and an intermediate
    /// without their markers; an expired leaf; Xcode's. All leaves have the same key.
    public static let certificates: [[UInt8]] = {
        var bare = shape
        bare.leaf.extensions.removeLast()
        bare.intermediate.extensions.removeLast()
        var expired = shape
        expired.leaf.notAfter = Instant(millisecondsSince1970: 1_500_000_000_000)
        return FuzzAuthority.made {
            let unmarked = try authority.reissued(bare)
            return try authority.certificates + [
                unmarked.leaf.certificate, unmarked.intermediate.certificate,
                authority.reissued(expired).leaf.certificate, xcode.identity.certificate,
            ]
        }
    }()

    public static let authority = FuzzAuthority.made { try TestCertificateAuthority(shape) }

    public static let xcode = FuzzAuthority.made { try StoreKitTestingSigner(key: authority.leaf.key) }

    private static var shape: TestCertificateAuthority.Shape {
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        // It costs a quarter of P-384.
        shape.root.keyKind = .p256
        shape.intermediate.keyKind = .p256
        return shape
    }

    /// The parts between dots.
    public static func parts(_ text: [UInt8]) -> [[UInt8]] {
        text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
    }

    /// Replaces the digits in `x5c`, and signs the input and the parts in its payload. Returns `nil` if there is
    /// nothing to sign.
    public static func sign(_ text: [UInt8], depth: Int = 0) -> [UInt8]? {
        if depth == 0, text.first == UInt8(ascii: "{") { return signedMembers(text) }
        let parts = parts(text)
        guard parts.count == 3, let header = decode(parts[0]), let payload = decode(parts[1]) else { return nil }
        let input =
            encode(expanded(header)) + [UInt8(ascii: ".")] + encode(depth < 2 ? signedInside(payload, depth) : payload)
        // A complete signature is kept, even if it is invalid.
        guard parts[2].count < 86 else { return input + [UInt8(ascii: ".")] + parts[2] }
        let signature = FuzzAuthority.made { try JWSBuilder.signature(of: input, key: authority.leaf.key) }
        return input + [UInt8(ascii: ".")] + encode(signature)
    }

    private static func expanded(_ header: [UInt8]) -> [UInt8] {
        guard let chain = SimpleJSON(header)?["x5c"] else { return header }
        return replacing(chain.elements, in: header) { string in
            guard string.count == 1, let digit = Character(Unicode.Scalar(string[0])).wholeNumberValue,
                certificates.indices.contains(digit)
            else { return nil }
            let certificate = certificates[digit]
            return Array(Base64.encode(certificate.span).utf8)
        }
    }

    /// Signs the JWS in an object of a batch.
    private static func signedMembers(_ object: [UInt8]) -> [UInt8]? {
        guard let root = SimpleJSON(object) else { return nil }
        return replacing(root.members.map(\.value), in: object) { string in
            string.first == UInt8(ascii: "e") ? sign(string, depth: 1) : nil
        }
    }

    private static func signedInside(_ payload: [UInt8], _ depth: Int) -> [UInt8] {
        guard let root = SimpleJSON(payload) else { return payload }
        let nested = root.members.flatMap(\.value.members).map(\.value)
        return replacing(nested, in: payload) { string in
            string.first == UInt8(ascii: "e") ? sign(string, depth: depth + 1) : nil
        }
    }

    /// Replaces strings by others, which need no escapes.
    private static func replacing(
        _ values: [SimpleJSON], in text: [UInt8], _ replacement: ([UInt8]) -> [UInt8]?
    ) -> [UInt8] {
        var text = text
        for value in values.reversed() {
            guard let string = value.string, let new = replacement(string) else { continue }
            text.replaceSubrange(value.range, with: [UInt8(ascii: "\"")] + new + [UInt8(ascii: "\"")])
        }
        return text
    }

    public static func decode(_ part: [UInt8]) -> [UInt8]? { try? Base64.decode(part.span, as: .transported) }

    public static func encode(_ bytes: [UInt8]) -> [UInt8] { Array(Base64.encode(bytes.span, urlSafe: true).utf8) }
}

extension JWSSigner {
    /// Whether the leaf's key made the signature: r and s, 32 bytes each.
    public static func isSigned(_ input: [UInt8], _ signature: [UInt8]) -> Bool {
        guard signature.count == 64 else { return false }
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        let value = ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.writeInteger(magnitude: r.span)
                writer.writeInteger(magnitude: s.span)
            }
        }
        return FuzzAuthority.made {
            try key.verify(
                signature: value.span, digest: DigestAlgorithm.sha256.digest(of: input.span), scheme: .ecdsa)
        }
    }

    private static let key = FuzzAuthority.made {
        let info = try authority.leaf.key.subjectPublicKeyInfo()
        return try PublicKey(subjectPublicKeyInfo: info.span)
    }
}
