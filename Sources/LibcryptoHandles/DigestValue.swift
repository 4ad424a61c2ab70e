/// A digest, stored inline.
public struct DigestValue: Hashable, Sendable {
    typealias Storage = SIMD64<UInt8>

    public let algorithm: DigestAlgorithm
    /// Zero after the first `count` bytes.
    private let storage: Storage

    init(algorithm: DigestAlgorithm, storage: Storage) {
        self.algorithm = algorithm
        self.storage = storage
    }

    /// Creates a digest from received bytes; returns `nil` if their number is not the length of the algorithm's
    /// digests.
    public init?(_ algorithm: DigestAlgorithm, bytes: Span<UInt8>) {
        guard bytes.count == algorithm.byteCount else { return nil }
        var storage = Storage()
        for index in bytes.indices { storage[index] = bytes[index] }
        self.init(algorithm: algorithm, storage: storage)
    }

    public var count: Int { algorithm.byteCount }

    public func withBytes<Result, Failure>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeBytes(of: storage) { (buffer) throws(Failure) in
            let bytes = unsafe Span<UInt8>(_unsafeElements: buffer.bindMemory(to: UInt8.self))
            return try body(bytes.extracting(first: count))
        }
    }

    /// The bytes as lowercase hexadecimal digits.
    public var hexadecimal: String {
        func digit(_ nibble: UInt8) -> UInt8 {
            nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") - 10 + nibble
        }
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0xF))
        }
        return String(decoding: text, as: UTF8.self)
    }

    public var bytes: [UInt8] { (0..<count).map { storage[$0] } }
}
