import CLedgerCrypto
import ServerText
import SpanASN1

/// A private key of the App Store Server API: the file `SubscriptionKey_KEYID.p8` from App Store Connect.
///
/// It is thread-safe. No description of it contains anything of the key.
///
/// Source: Apple, "Creating API keys to authorize API requests".
@safe
public final class AppStoreServerKey: @unchecked Sendable, CustomStringConvertible {
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

    private let key: OpaquePointer

    public var description: String { "a private key" }

    /// Creates a key from the contents of a `.p8` file.
    ///
    /// - Parameter p8: PEM with one block `PRIVATE KEY`, which is unencrypted PKCS#8 with an EC key on P-256.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/unusableKey(_:)``.
    public init(p8: [UInt8]) throws(AppStoreServerError) {
        var der = try Self.contents(of: p8)
        defer { unsafe OPENSSL_cleanse(&der, der.count) }
        let key = unsafe der.withUnsafeBufferPointer { der -> OpaquePointer? in
            var position = der.baseAddress
            guard let info = unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &position, der.count) else { return nil }
            defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
            guard unsafe position == der.baseAddress.map({ unsafe $0 + der.count }) else { return nil }
            return unsafe EVP_PKCS82PKEY(info)
        }
        guard let key = unsafe key else { throw Self.error(.notPKCS8) }
        unsafe self.key = key
        guard unsafe Self.isOnP256(key) else { throw Self.error(.notP256) }
    }

    deinit { unsafe EVP_PKEY_free(key) }

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

    @unsafe
    private static func isOnP256(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 32)
        var count = 0
        guard unsafe EVP_PKEY_get_id(key) == EVP_PKEY_EC,
            unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1
        else { return false }
        return name[..<count].map { UInt8(bitPattern: $0) }.elementsEqual("prime256v1".utf8)
    }

    /// Returns an ES256 signature: r and s, with 32 bytes each (RFC 7518, 3.4).
    func signature(of bytes: [UInt8]) throws(AppStoreServerError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw AppStoreServerError(.signingFailed) }
        defer { unsafe EVP_MD_CTX_free(context) }
        var encoded = [UInt8](repeating: 0, count: 80)
        var count = encoded.count
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, &encoded, &count, bytes, bytes.count) == 1
        else { throw AppStoreServerError(.signingFailed) }
        return try Self.fixedLength(Array(encoded[..<count]))
    }

    /// Changes the form of libcrypto (`ECDSA-Sig-Value`, RFC 3279, 2.2.3) into that of JWS.
    private static func fixedLength(_ encoded: [UInt8]) throws(AppStoreServerError) -> [UInt8] {
        do throws(ASN1DecodingError) {
            return try ASN1Cursor.decode(encoded.span) { (input) throws(ASN1DecodingError) in
                try input.read(.sequence) { (fields) throws(ASN1DecodingError) in
                    var signature: [UInt8] = []
                    for _ in 0..<2 {
                        let integer = try fields.read(.integer)
                        let number = [UInt8](copying: try integer.unsignedIntegerBytes())
                        guard number.count <= 32 else { throw integer.error(.integerOutOfRange) }
                        signature += [UInt8](repeating: 0, count: 32 - number.count) + number
                    }
                    return signature
                }
            }
        } catch {
            throw AppStoreServerError(.signingFailed)
        }
    }
}
