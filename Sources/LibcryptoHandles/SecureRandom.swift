import CLibcryptoShims

/// libcrypto's random generator.
package enum SecureRandom {
    package static func bytes(count: Int) throws(LibcryptoError) -> [UInt8] {
        guard let length = Int32(exactly: count), length >= 0 else { throw LibcryptoError(.operationFailed) }
        var bytes = [UInt8](repeating: 0, count: count)
        guard unsafe RAND_bytes(&bytes, length) == 1 else { throw LibcryptoError(.operationFailed) }
        return bytes
    }
}
