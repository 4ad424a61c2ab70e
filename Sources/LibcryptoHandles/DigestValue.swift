/// A digest, stored inline.
package struct DigestValue: Hashable, Sendable {
    typealias Storage = SIMD64<UInt8>

    package let algorithm: DigestAlgorithm
    /// Zero after the first `count` bytes.
    private let storage: Storage

    init(algorithm: DigestAlgorithm, storage: Storage) {
        self.algorithm = algorithm
        self.storage = storage
    }

    /// Creates a digest from received bytes; returns `nil` if their number is not the length of the algorithm's digests.
    package init?(_ algorithm: DigestAlgorithm, bytes: Span<UInt8>) {
        guard bytes.count == algorithm.byteCount else { return nil }
        var storage = Storage()
        for index in bytes.indices { storage[index] = bytes[index] }
        self.init(algorithm: algorithm, storage: storage)
    }

    package var count: Int { algorithm.byteCount }

    package func withBytes<Result, Failure>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeBytes(of: storage) { (buffer) throws(Failure) in
            let bytes = unsafe Span<UInt8>(_unsafeElements: buffer.bindMemory(to: UInt8.self))
            return try body(bytes.extracting(first: count))
        }
    }

    package var bytes: [UInt8] { (0..<count).map { storage[$0] } }
}
