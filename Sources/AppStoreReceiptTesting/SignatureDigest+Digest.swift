import LibcryptoHandles
public import SignatureTrust

extension SignatureDigest {
    /// Returns the digest of bytes.
    ///
    /// - Throws: `algorithm-unavailable` if the host does not compute it.
    public func digest(of bytes: [UInt8]) throws(MintingError) -> [UInt8] {
        guard let algorithm else { return MD5.digest(of: bytes) }
        return try MintingError.calling { () throws(LibcryptoError) in try algorithm.digest(of: bytes.span).bytes }
    }
}
