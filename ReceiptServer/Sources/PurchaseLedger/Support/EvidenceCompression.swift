import CZlib

/// The compression of kept evidence.
enum EvidenceCompression {
    /// The maximum size of evidence to keep.
    static let maximumByteCount = 8 << 20

    /// Returns the compressed bytes, or `nil` if there is not enough memory.
    static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        var count = compressBound(uLong(bytes.count))
        var output = [UInt8](repeating: 0, count: Int(count))
        let result = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe CZlib.compress(output.baseAddress, &count, bytes.baseAddress, uLong(bytes.count))
            }
        }
        guard result == Z_OK else { return nil }
        output.removeLast(output.count - Int(count))
        return output
    }

    /// - Parameter byteCount: The size before compression, as stored in the tables.
    /// - Returns: `nil` if the bytes aren't the result of ``compress(_:)``.
    static func decompress(_ bytes: [UInt8], byteCount: Int64) -> [UInt8]? {
        guard 0...Int64(maximumByteCount) ~= byteCount else { return nil }
        // zlib requires a buffer with an address.
        var count = uLong(byteCount + 1)
        var output = [UInt8](repeating: 0, count: Int(count))
        let result = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe uncompress(output.baseAddress, &count, bytes.baseAddress, uLong(bytes.count))
            }
        }
        guard result == Z_OK, count == uLong(byteCount) else { return nil }
        output.removeLast(output.count - Int(count))
        return output
    }
}
