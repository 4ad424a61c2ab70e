import LibcryptoHandles
public import SpanASN1
import SpanPKCS7

/// A certificate that you choose to trust.
public struct TrustAnchor: Hashable, Sendable {
    /// The certificate (DER).
    public let der: [UInt8]

    /// Creates a trust anchor from a certificate.
    ///
    /// - Parameter der: The certificate (DER).
    /// - Throws: An error of the syntax if `der` is not exactly one certificate.
    public init(der: [UInt8]) throws(ASN1DecodingError) {
        // DANGEROUS to remove: the result is not needed, but the refusal is. Whatever is stored is trusted, and is read
        // again where an error can only be reported as the verifier's.
        _ = try Certificate(der.span)
        self.der = der
    }

    /// Creates a trust anchor from a certificate in this source.
    init(knownCertificate hexadecimal: String) { der = Hexadecimal.bytes(Array(hexadecimal.utf8)) ?? [] }

    /// Whether the certificate is a root, so that a chain can end in it. It is also `true` for a certificate that
    /// libcrypto cannot read: the verifier reports that error.
    package var isRoot: Bool {
        do throws(SignatureTrustError) {
            return try view().libcryptoHandle().isRoot()
        } catch {
            return true
        }
    }

    /// Whether a policy accepts the key.
    package func isAccepted(by algorithms: AlgorithmPolicy) -> Bool {
        do throws(SignatureTrustError) {
            try algorithms.checkKey(of: view())
            return true
        } catch {
            return false
        }
    }

    @_lifetime(borrow self)
    func view() throws(SignatureTrustError) -> Certificate {
        do throws(ASN1DecodingError) {
            return try Certificate(der.span)
        } catch {
            throw SignatureTrustError(malformed: error)
        }
    }
}

extension TrustAnchor: CustomStringConvertible {
    /// The certificate's subject and SHA-256 fingerprint, such as `CN=Example Root CA,O=Example (SHA-256 63343abf…)`.
    /// Anyone can choose the subject.
    public var description: String {
        // A description cannot throw. It omits fields that cannot be read or digested.
        let name = (try? Certificate(der.span).subject.distinguishedName()) ?? ""
        let fingerprint = (try? Fingerprint(of: der.span)).map { "(SHA-256 \($0))" }
        return [name, fingerprint ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    }
}
