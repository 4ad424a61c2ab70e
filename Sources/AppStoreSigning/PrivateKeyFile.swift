import LibcryptoHandles
import SpanASN1
import SpanPKCS7
import StrictText

/// The contents of a `.p8` file with a key on P-256.
///
/// ```asn1
/// PrivateKeyInfo ::= SEQUENCE {
///   version INTEGER, privateKeyAlgorithm AlgorithmIdentifier, privateKey OCTET STRING, … }   -- RFC 5958, 2
/// ECPrivateKey ::= SEQUENCE {
///   version INTEGER { ecPrivkeyVer1(1) }, privateKey OCTET STRING,
///   parameters [0] ECParameters OPTIONAL, publicKey [1] BIT STRING OPTIONAL }                -- RFC 5915, 3
/// ```
struct PrivateKeyFile {
    /// The private number. Its user must overwrite it.
    var number: [UInt8] = []
    /// Where it is in the decoded block.
    private(set) var numberOffset = 0
    /// The public key of the file, if it has one.
    private(set) var point: [UInt8]?
    /// The kind, if it is another one.
    private var otherKind: InAppPurchaseKey.Kind?

    init(_ p8: Span<UInt8>) throws(SigningError) {
        var der = try Self.contents(of: p8)
        try self.init(erasing: &der)
    }

    /// - Parameter der: The decoded block, which is overwritten.
    init(erasing der: inout [UInt8]) throws(SigningError) {
        defer { der.erase() }
        do throws(ASN1DecodingError) {
            try ASN1Cursor.decode(der.span) { (input) throws(ASN1DecodingError) in
                try input.read(.sequence) { (fields) throws(ASN1DecodingError) in try read(&fields) }
            }
        } catch {
            number.erase()
            throw SigningError(.unusableKey(.notPKCS8), offset: error.offset)
        }
        if let otherKind { throw SigningError(.unusableKey(.otherKind(otherKind))) }
    }

    private static func contents(of p8: Span<UInt8>) throws(SigningError) -> [UInt8] {
        let body = try body(of: p8)
        // Without line breaks: with many, the decoder would return a copy, and free its buffer with the key in it.
        var text: [UInt8] = []
        text.reserveCapacity(body.count)
        defer { text.erase() }
        for index in body where !isLineBreak(p8[index]) { text.append(p8[index]) }
        do throws(Base64Error) {
            // The decoder does not overwrite what it has decoded before a fault.
            if let fault = fault(in: text) { throw Base64Error(.invalidCharacter, offset: fault) }
            return try Base64.decode(text.span, as: .pem)
        } catch {
            var left = error.offset
            let offset = body.first { index in
                guard !isLineBreak(p8[index]) else { return false }
                left -= 1
                return left < 0
            }
            throw SigningError(.unusableKey(.notPEM), offset: offset ?? body.upperBound)
        }
    }

    /// Returns where base64 is wrong: a character outside its alphabet, a missing one, or spare bits that are not zero
    /// (RFC 4648, 3.5).
    private static func fault(in text: [UInt8]) -> Int? {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let digits = text.dropLast(padding)
        if let index = digits.firstIndex(where: { !alphabet.contains($0) }) { return index }
        guard padding <= 2, text.count % 4 == 0, let last = digits.last, let value = alphabet.firstIndex(of: last)
        else {
            return digits.endIndex
        }
        return value & (padding == 2 ? 0xF : padding == 1 ? 3 : 0) == 0 ? nil : digits.endIndex - 1
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool { byte == .lineFeed || byte == .carriageReturn }

    /// Returns where the base64 of the only block is.
    private static func body(of p8: Span<UInt8>) throws(SigningError) -> Range<Int> {
        guard let start = PEMBlock.firstStart(in: p8, from: 0) else {
            throw SigningError(.unusableKey(.notPEM), offset: 0)
        }
        let block: PEMBlock
        do throws(PEMError) {
            block = try PEMBlock(in: p8, from: start)
        } catch {
            throw SigningError(.unusableKey(.notPEM), offset: error.offset)
        }
        let label = p8.extracting(block.label)
        guard !label.hasSameBytes(as: "PRIVATE KEY") else {
            if let second = PEMBlock.firstStart(in: p8, from: block.end) {
                throw SigningError(.unusableKey(.notPEM), offset: second)
            }
            return block.body
        }
        let fault: InAppPurchaseKey.Fault
        if label.hasSameBytes(as: "ENCRYPTED PRIVATE KEY") {
            fault = .encrypted
        } else {
            fault = .otherKind(otherLabels.first { label.hasSameBytes(as: $0.rawValue) } ?? .otherLabel)
        }
        throw SigningError(.unusableKey(fault), offset: start)
    }

    /// The labels of other keys' files. An unknown label is not repeated: it could be a line of the key.
    private static let otherLabels: [InAppPurchaseKey.Kind] = [
        .sec1, .pkcs1, .dsaFile, .openSSH, .publicKey, .parameters, .certificate, .certificateRequest,
    ]

    private mutating func read(_ fields: inout ASN1Cursor) throws(ASN1DecodingError) {
        let version = try fields.read(.integer)
        guard 0...1 ~= (try version.integer() as Int) else { throw version.error(.unexpectedValue) }
        let algorithm = try AlgorithmIdentifier(&fields)
        let contents = try fields.read(.octetString)
        // Attributes, and in version 1 a public key (RFC 5958, 2).
        while !fields.isAtEnd { _ = try fields.read() }
        otherKind = try Self.otherKind(algorithm)
        guard otherKind == nil else { return }
        try contents.decode { (inner) throws(ASN1DecodingError) in
            try inner.read(.sequence) { (fields) throws(ASN1DecodingError) in try readKey(&fields) }
        }
    }

    private mutating func readKey(_ fields: inout ASN1Cursor) throws(ASN1DecodingError) {
        let version = try fields.read(.integer)
        guard try version.integer() == 1 else { throw version.error(.unexpectedValue) }
        let octets = try fields.read(.octetString)
        if let curve = try fields.readExplicitIfPresent(0) {
            guard try curve.isObjectIdentifier(Self.p256) else { throw curve.error(.unexpectedValue) }
        }
        if let publicKey = try fields.readExplicitIfPresent(1) {
            point = [UInt8](copying: try publicKey.bitString().bytes)
            // Uncompressed (SEC 1, 2.3.3), as libcrypto writes it, too.
            guard point?.count == 65 else { throw publicKey.error(.unexpectedValue) }
        }
        numberOffset = octets.offset
        number = [UInt8](copying: try octets.octetString())
    }

    // MARK: Kinds of keys

    private static let p256 = oid("1.2.840.10045.3.1.7")

    /// The kind of a key that is not an EC key on P-256; `nil` for one that is.
    private static func otherKind(
        _ algorithm: borrowing AlgorithmIdentifier
    ) throws(ASN1DecodingError) -> InAppPurchaseKey.Kind? {
        guard algorithm.matches(.ecPublicKey) else {
            return algorithms.first { algorithm.matches($0.0) }?.1 ?? .otherAlgorithm
        }
        guard let curve = algorithm.parameters, curve.tag == .objectIdentifier else { return .explicitCurve }
        guard try !curve.isObjectIdentifier(p256) else { return nil }
        return curves.first { curve.matches($0.0) }?.1 ?? .otherCurve
    }

    private static let algorithms: [(ASN1ObjectIdentifier, InAppPurchaseKey.Kind)] = [
        (.rsaEncryption, .rsa), (.rsaPSS, .rsaPSS), (oid("1.2.840.10040.4.1"), .dsa),
        (oid("1.2.840.113549.1.3.1"), .dh), (oid("1.3.101.110"), .x25519), (oid("1.3.101.111"), .x448),
        (oid("1.3.101.112"), .ed25519), (oid("1.3.101.113"), .ed448),
    ]

    private static let curves: [(ASN1ObjectIdentifier, InAppPurchaseKey.Kind)] = [
        (oid("1.3.132.0.34"), .p384), (oid("1.3.132.0.35"), .p521), (oid("1.3.132.0.10"), .secp256k1),
        (oid("1.3.132.0.33"), .p224), (oid("1.2.840.10045.3.1.1"), .p192),
    ]

    private static func oid(_ dotted: String) -> ASN1ObjectIdentifier {
        // The texts above are valid; `data` is the algorithm of no key.
        ASN1ObjectIdentifier(dotted) ?? .data
    }
}
