import LibcryptoHandles
import SpanASN1
import SpanPKCS7

/// Checks that libcrypto on this host verifies the signatures of receipts.
package enum HostSelfTest {
    /// - Throws: `algorithm-unavailable` if the policy accepts SHA-1 and the host does not, as on RHEL 9. Without this
    ///   check, every receipt from before 2023 would look forged there.
    package static func run(_ policy: AlgorithmPolicy) throws(SignatureTrustError) {
        // Apple Root CA signed itself with SHA-1.
        let anchor = TrustAnchor.appleRootCA
        let root = try anchor.view()
        // Under every policy: the Swift runtime creates its metadata of keys with the first key, and crashes if memory
        // has run out by then.
        let key = try root.publicKey()
        let signature = try SignatureTrustError.reading { () throws(ASN1DecodingError) in
            [UInt8](copying: try root.signatureValue.bitString().bytes)
        }
        // Without SHA-1, the signature is checked with a wrong digest, in order to load libcrypto's algorithms now: it
        // never loads those for which it had no memory at first use.
        let algorithm = policy.allowsSHA1 ? DigestAlgorithm.sha1 : .sha256
        let isValid = try SignatureTrustError.calling { () throws(LibcryptoError) in
            let digest = try algorithm.digest(of: root.tbsCertificate.encoded)
            return try key.verify(signature: signature.span, digest: digest, scheme: .pkcs1)
        }
        guard isValid || !policy.allowsSHA1 else { throw SignatureTrustError(.algorithmUnavailable) }
    }
}
