import SignatureTrust

/// The faults of a transaction receipt's `signature`.
package enum SignatureBlobFault: String, Sendable, CaseIterable {
    /// The first byte is not a version that this library knows: 2, 3 or 4.
    case unsupportedVersion = "unsupported-version"
    /// The bytes end before the certificate.
    case truncated = "signature-truncated"
    /// The stated length of the certificate is not that of the rest.
    case certificateLength = "certificate-length-mismatch"
    /// The version is 2, whose key has 1024 bits, and the policy does not allow it.
    case rsa1024NotAllowed = "rsa-1024-not-allowed"
}

/// The decoded `signature` of a transaction receipt.
///
/// `version (1 byte) ‖ signature ‖ length of the certificate (4 bytes, big-endian) ‖ certificate (DER)`
struct SignatureBlob: ~Escapable {
    let version: TransactionReceipt.Version
    let signature: Span<UInt8>
    /// The signer's certificate, with its position in the bytes.
    let certificate: EmbeddedCertificate

    /// Reads all of `bytes`. The version decides the length of the signature.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) throws(VerificationError) {
        guard bytes.count > 0 else { throw VerificationError(.signatureBlob(.truncated, offset: 0)) }
        guard let version = TransactionReceipt.Version(rawValue: Int(bytes[0])) else {
            throw VerificationError(.signatureBlob(.unsupportedVersion, offset: 0))
        }
        let lengthOffset = 1 + version.rules.signatureByteCount
        let start = lengthOffset + 4
        guard bytes.count >= start else { throw VerificationError(.signatureBlob(.truncated, offset: bytes.count)) }
        var length = 0
        for index in lengthOffset..<start { length = length << 8 | Int(bytes[index]) }
        guard length == bytes.count - start else {
            throw VerificationError(.signatureBlob(.certificateLength, offset: lengthOffset))
        }
        self.version = version
        signature = bytes.extracting(1..<lengthOffset)
        certificate = EmbeddedCertificate(der: [UInt8](copying: bytes.extracting(start..<bytes.count)), offset: start)
    }
}
