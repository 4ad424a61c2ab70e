#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The identity of the file at a path. After a file is deleted or replaced, its path leads to no file or to a different
/// one, even while the file is open.
struct FileIdentity: Equatable {
    private let device: UInt64
    private let inode: UInt64

    /// Returns `nil` if there is no file at the path.
    init?(path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Returns the path without symbolic links. SQLite keeps its log beside that path. The file need not exist: a link
    /// can lead to a deleted file.
    static func resolved(_ path: String) -> String {
        var path = path
        // The kernel's own limit on links.
        for _ in 0..<40 {
            if let resolved = unsafe realpath(path, nil) {
                defer { unsafe free(resolved) }
                return unsafe String(cString: resolved)
            }
            var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
                unsafe buffer.baseAddress.map { unsafe readlink(path, $0, buffer.count) } ?? 0
            }
            guard 1..<bytes.count ~= count else { return path }
            let target = String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let slash = UInt8(ascii: "/")
            if target.utf8.first == slash {
                path = target
            } else {
                let folder = path.utf8.lastIndex(of: slash).map { path[...$0] } ?? ""
                path = folder + target
            }
        }
        return path
    }

    init?(descriptor: CInt) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// Returns the size of a file in bytes, or 0 if there is none.
    static func byteCount(_ path: String) -> Int {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}
