import LibcryptoHandles
@_spi(Surfaces) import SpanPKCS7
import StrictText

/// A private key of the App Store Server API: the file `SubscriptionKey_KEYID.p8` from App Store Connect.
///
/// It is thread-safe. No description of it contains anything of the key.
///
/// Source: Apple, "Creating API keys to authorize API requests".
public final class AppStoreServerKey: Sendable, CustomStringConvertible {
    /// The reasons a file is no such key.
    public enum Fault: String, Sendable, CaseIterable {
        /// The text is not exactly one PEM block (RFC 7468).
        case notPEM = "not-pem"
        /// The key is encrypted. Apple's are not.
        case encrypted
        /// The PEM block has another label than `PRIVATE KEY`.
        case otherLabel = "other-label"
        /// The PEM block is not a private key in PKCS#8 (RFC 5958).
        case notPKCS8 = "not-pkcs8"
        /// The key is not an EC key on P-256.
        case notP256 = "not-p256"
    }

    private let key: PrivateKey

    public var description: String { "a private key" }

    /// Creates a key from the contents of a `.p8` file.
    ///
    /// - Parameter p8: PEM with one block `PRIVATE KEY`, which is unencrypted PKCS#8 with an EC key on P-256.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/unusableKey(_:)``.
    public init(p8: [UInt8]) throws(AppStoreServerError) {
        var der = try Self.contents(of: p8)
        do throws(LibcryptoError) {
            key = try PrivateKey(erasingPKCS8: &der)
        } catch {
            throw Self.error(.notPKCS8)
        }
        guard key.publicKey.kind == .ec(.p256) else { throw Self.error(.notP256) }
    }

    private static func error(_ fault: Fault) -> AppStoreServerError { AppStoreServerError(.unusableKey(fault)) }

    private static func contents(of p8: [UInt8]) throws(AppStoreServerError) -> [UInt8] {
        let body = try body(of: p8)
        do throws(Base64Error) {
            return try Base64.decode(p8.span.extracting(body), as: .pem)
        } catch {
            throw Self.error(.notPEM)
        }
    }

    /// Returns where the base64 of the only block of a PEM text is.
    private static func body(of p8: [UInt8]) throws(AppStoreServerError) -> Range<Int> {
        guard let start = PEMBlock.firstStart(in: p8.span, from: 0) else { throw error(.notPEM) }
        let block: PEMBlock
        do throws(PEMError) { block = try PEMBlock(in: p8.span, from: start) } catch { throw Self.error(.notPEM) }
        guard PEMBlock.firstStart(in: p8.span, from: block.end) == nil else { throw error(.notPEM) }
        let label = p8[block.label]
        guard label.elementsEqual("PRIVATE KEY".utf8) else {
            throw error(label.elementsEqual("ENCRYPTED PRIVATE KEY".utf8) ? .encrypted : .otherLabel)
        }
        return block.body
    }

    /// Returns an ES256 signature: r and s, with 32 bytes each (RFC 7518, 3.4).
    func signature(of bytes: [UInt8]) throws(AppStoreServerError) -> [UInt8] {
        do {
            let encoded = try key.sign(DigestAlgorithm.sha256.digest(of: bytes.span), scheme: .ecdsa)
            return try ECDSASignatureValue.fixedLength(encoded.span)
        } catch {
            throw AppStoreServerError(.signingFailed)
        }
    }
}
