#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import Instants
import LibcryptoHandles

/// The module's calls of the operating system.
enum System {
    static var now: Instant {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Instant(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    static func environment(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }

    /// The maximum size of a file with a key, in bytes. Apple's have less than 300.
    static let maximumByteCount = 64 << 10

    /// Reads a file that nobody but its owner may read or change.
    ///
    /// - Parameter isCredential: Whether its group may read it.
    static func readSecretFile(_ path: String, isCredential: Bool) throws(InAppPurchaseKey.Fault) -> [UInt8] {
        guard !path.utf8.contains(0) else { throw .unreadable(ENOENT) }
        let descriptor = FileAccess.open(path)
        guard descriptor != -1 else { throw .unreadable(FileAccess.errorNumber) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(FileAccess.errorNumber) }
        // S_IFMT and S_IFREG
        guard status.st_mode & 0o170000 == 0o100000 else { throw .noFile }
        guard status.st_mode & (isCredential ? 0o027 : 0o077) == 0 else { throw .accessibleToOthers }
        return try readAll(descriptor)
    }

    /// Reads into a single buffer, so that no copy is left in another.
    private static func readAll(_ descriptor: CInt) throws(InAppPurchaseKey.Fault) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: maximumByteCount + 1)
        var count = 0
        while count < bytes.count {
            let result = unsafe bytes.withUnsafeMutableBytes { buffer in
                let free = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                return unsafe read(descriptor, free.baseAddress, free.count)
            }
            if result == -1, FileAccess.errorNumber == EINTR { continue }
            guard result != -1 else {
                let code = FileAccess.errorNumber
                bytes.erase()
                throw .unreadable(code)
            }
            if result == 0 { break }
            count += result
        }
        guard count < bytes.count else {
            bytes.erase()
            throw .tooLarge
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    static func explanation(of code: CInt) -> String { unsafe String(cString: strerror(code)) }
}
