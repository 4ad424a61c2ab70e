import LibcryptoHandles
@_spi(Surfaces) import SpanPKCS7
import StrictText

/// An In-App Purchase key from App Store Connect: the file `SubscriptionKey_KEYID.p8`.
///
/// It signs offers and requests (``AppStoreSigner``), and the tokens of the App Store Server API. It is thread-safe.
/// Its memory is overwritten when its last reference is released. No error or description contains any part of the key.
///
/// Source: Apple, "Generating keys for in-app purchases".
public final class InAppPurchaseKey: Sendable, CustomStringConvertible {
    private let key: PrivateKey

    public var description: String { "an In-App Purchase key" }

    /// Creates a key from the contents of a `.p8` file, which stay with the caller.
    ///
    /// - Parameter p8: PEM with one block `PRIVATE KEY`, which is unencrypted PKCS#8 with an EC key on P-256.
    /// - Throws: ``SigningError/Reason-swift.enum/unusableKey(_:)``.
    public convenience init(p8: [UInt8]) throws(SigningError) { try self.init(p8.span) }

    /// Creates a key from the contents of a `.p8` file, and overwrites them, also if it fails.
    ///
    /// - Parameter p8: As for ``init(p8:)``. Copies that share the memory of the array keep the key.
    /// - Throws: ``SigningError/Reason-swift.enum/unusableKey(_:)``.
    public convenience init(erasing p8: inout [UInt8]) throws(SigningError) {
        defer { p8.erase() }
        try self.init(p8.span)
    }

    private init(_ p8: Span<UInt8>) throws(SigningError) {
        var file = try PrivateKeyFile(p8)
        do throws(LibcryptoError) {
            key = try PrivateKey(erasingP256: &file.number)
        } catch {
            throw error.kind == .malformedKey
                ? SigningError(.unusableKey(.notPKCS8), offset: file.numberOffset) : SigningError(.signingFailed)
        }
        // A file whose two halves differ is damaged: Apple would refuse what it signs.
        guard let point = file.point else { return }
        let own: [UInt8]
        do { own = try key.publicKey.subjectPublicKeyInfo() } catch { throw SigningError(.signingFailed) }
        guard own.suffix(point.count).elementsEqual(point) else {
            throw SigningError(.unusableKey(.notPKCS8), offset: file.numberOffset)
        }
    }

    /// Returns an ECDSA signature of the SHA-256 of bytes, as DER (RFC 3279, 2.2.3).
    func derSignature(of bytes: Span<UInt8>) throws(SigningError) -> [UInt8] {
        do throws(LibcryptoError) {
            return try key.sign(DigestAlgorithm.sha256.digest(of: bytes), scheme: .ecdsa)
        } catch {
            throw SigningError(.signingFailed)
        }
    }

    /// Returns an ES256 signature: r and s, with 32 bytes each (RFC 7518, 3.4).
    func es256Signature(of bytes: Span<UInt8>) throws(SigningError) -> [UInt8] {
        let encoded = try derSignature(of: bytes)
        do {
            return try ECDSASignatureValue.fixedLength(encoded.span)
        } catch {
            throw SigningError(.signingFailed)
        }
    }
}
