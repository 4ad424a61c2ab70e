import CLibcryptoShims

/// The digest of bytes that arrive in pieces.
public struct DigestStream: ~Copyable {
    private let algorithm: DigestAlgorithm
    private let context: Owned<DigestContextObject>

    public init(_ algorithm: DigestAlgorithm) throws(LibcryptoError) {
        self.algorithm = algorithm
        context = try Self.context(algorithm)
    }

    private static func context(_ algorithm: DigestAlgorithm) throws(LibcryptoError) -> Owned<DigestContextObject> {
        let method = try unsafe algorithm.method
        let context = unsafe try Owned<DigestContextObject>(EVP_MD_CTX_new())
        guard unsafe EVP_DigestInit_ex2(context.pointer, method, nil) == 1 else {
            throw LibcryptoError(.operationFailed)
        }
        return context
    }

    public mutating func update(_ bytes: Span<UInt8>) throws(LibcryptoError) {
        let result = unsafe bytes.withUnsafeBufferPointer {
            unsafe EVP_DigestUpdate(context.pointer, $0.baseAddress, $0.count)
        }
        guard result == 1 else { throw LibcryptoError(.operationFailed) }
    }

    /// The digest of the bytes so far. More may follow.
    public func value() throws(LibcryptoError) -> DigestValue {
        let copy = unsafe try Owned<DigestContextObject>(EVP_MD_CTX_new())
        var storage = DigestValue.Storage()
        let isDone = unsafe withUnsafeMutableBytes(of: &storage) { output in
            unsafe EVP_MD_CTX_copy_ex(copy.pointer, context.pointer) == 1
                && EVP_DigestFinal_ex(copy.pointer, output.bindMemory(to: UInt8.self).baseAddress, nil) == 1
        }
        guard isDone else { throw LibcryptoError(.operationFailed) }
        return DigestValue(algorithm: algorithm, storage: storage)
    }
}
