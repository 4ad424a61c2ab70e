#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

struct FileError: Error {
    let path: String
    let code: CInt
}

/// A folder that is removed with its contents when its last reference is released.
final class TemporaryFolder: Sendable {
    private let directory: String

    init() throws {
        let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var name = Array("\(parent)/growth-table-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&name) != nil else { throw FileError(path: parent, code: errno) }
        directory = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        guard let folder = unsafe opendir(directory) else { return }
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe String(cString: UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self))
            }
            if !name.hasPrefix(".") { unsafe _ = unlink(path(name)) }
        }
        unsafe _ = closedir(folder)
        unsafe _ = rmdir(directory)
    }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// Writes a file and returns its path.
    func write(_ bytes: [UInt8], _ name: String) throws -> String {
        let path = path(name)
        guard let file = unsafe fopen(path, "w") else { throw FileError(path: path, code: errno) }
        let written = unsafe bytes.withUnsafeBytes { unsafe fwrite($0.baseAddress, 1, $0.count, file) }
        guard unsafe fclose(file) == 0, written == bytes.count else { throw FileError(path: path, code: errno) }
        return path
    }
}

/// A file that is removed when its last reference is released.
final class TemporaryFile {
    private let folder: TemporaryFolder
    let path: String

    nonisolated(unsafe) private static var count = 0

    init(_ folder: TemporaryFolder, _ bytes: [UInt8]) throws {
        unsafe Self.count += 1
        self.folder = folder
        path = try folder.write(bytes, unsafe "input-\(Self.count)")
    }

    deinit { unsafe _ = unlink(path) }
}
