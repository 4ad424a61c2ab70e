#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
package import Instants
import StrictText

/// Calls of the operating system that concern the process.
package enum System {
    package static var processorCount: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }

    /// The time by a clock that is never set.
    static var monotonicNanoseconds: UInt64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static var monotonicMilliseconds: UInt64 { monotonicNanoseconds / 1_000_000 }

    package static var now: Instant {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Instant(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    package static var isRoot: Bool { geteuid() == 0 }

    package static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// The names of the variables of the environment.
    package static var environmentNames: [String] {
        var names: [String] = []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let text = unsafe String(cString: entry)
            names.append(String(text.prefix { $0 != "=" }))
            unsafe next += 1
        }
        return names
    }

    /// Returns whether all arguments, and all variables of the environment with a prefix, are UTF-8. `String` replaces
    /// other bytes, and the result can be the name of another file.
    package static func hasUTF8Input(variablesWith prefix: String) -> Bool {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
            if unsafe String(validatingCString: argument) == nil { return false }
        }
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            if unsafe strncmp(entry, prefix, prefix.utf8.count) == 0, unsafe String(validatingCString: entry) == nil {
                return false
            }
            unsafe next += 1
        }
        return true
    }

    package static func explanation(of code: CInt) -> String { unsafe String(cString: strerror(code)) }

    /// Raises the number of files that the process may open.
    ///
    /// - Returns: `nil`, or the number that the system allows if that is less.
    package static func allowOpenFiles(_ count: Int) -> Int? {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        if limit.rlim_cur >= rlim_t(count) { return nil }
        if limit.rlim_max < rlim_t(count) { return Int(limit.rlim_max) }
        limit.rlim_cur = rlim_t(count)
        return unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? nil : Int(limit.rlim_max)
    }

    /// The memory of the process that is in use, in bytes; `nil` on systems without `/proc`.
    static var residentByteCount: Int? {
        guard let text = try? readFile("/proc/self/statm", maximumByteCount: 256) else { return nil }
        let fields = text.split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Reads a file. A larger one than the limit is an error: its last line would be another one than in the file.
    package static func readFile(_ path: String, maximumByteCount: Int) throws(SystemError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        defer { close(descriptor) }
        return try read(descriptor, maximumByteCount: maximumByteCount)
    }

    /// Reads a file that nobody but its owner may read or change.
    ///
    /// Credentials that systemd hands over are read as they are: it lets nobody else in, and its access list looks like
    /// rights of a group.
    ///
    /// - Returns: `nil` if others can read or change it.
    package static func readSecretFile(_ path: String, maximumByteCount: Int) throws(SystemError) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        defer { close(descriptor) }
        let credentials = environment("CREDENTIALS_DIRECTORY")
        let isCredential = credentials.map { !$0.isEmpty && path.utf8.starts(with: ($0 + "/").utf8) } ?? false
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError(code: errno) }
        guard isCredential || status.st_mode & 0o077 == 0 else { return nil }
        return try read(descriptor, maximumByteCount: maximumByteCount)
    }

    private static func read(_ descriptor: CInt, maximumByteCount: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe systemRead(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError(code: errno) }
            if count == 0 { break }
            guard count <= maximumByteCount - bytes.count else { throw SystemError.tooLarge }
            bytes += chunk.prefix(count)
        }
        bytes.removeByteOrderMark()
        return bytes
    }

    /// A path for a file of this process in the folder for such files.
    package static func temporaryPath(_ name: String) -> String {
        (environment("TMPDIR") ?? "/tmp") + "/\(name)-\(getpid())-\(monotonicNanoseconds)"
    }

    /// The path of a file without links and relative parts; as it is if there is no such file.
    package static func resolved(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// The name of whoever started the process: of the terminal's login or, without one, of the user.
    package static var loginName: String {
        var name = [CChar](repeating: 0, count: 256)
        let isKnown = unsafe name.withUnsafeMutableBufferPointer { unsafe getlogin_r($0.baseAddress!, $0.count) == 0 }
        if isKnown,
            let text = unsafe name.withUnsafeBufferPointer({ unsafe String(validatingCString: $0.baseAddress!) }),
            !text.isEmpty
        {
            return text
        }
        guard let user = unsafe getpwuid(getuid()), let name = unsafe user.pointee.pw_name else { return "\(getuid())" }
        return unsafe String(cString: name)
    }

    /// Ends the process by a signal, as if nobody had waited for it.
    package static func end(by signal: CInt) -> Never {
        _ = kill(getpid(), signal)
        systemExit(128 + signal)
    }

    package static func remove(_ path: String) { _ = unsafe unlink(path) }

    /// Waits at least so long, whatever signals come.
    package static func sleep(for time: Duration) {
        let end = monotonicMilliseconds + time.milliseconds
        while case let now = monotonicMilliseconds, now < end { usleep(UInt32(clamping: min(end - now, 1000) * 1000)) }
    }

    package static let standardOutput: CInt = 1
    package static let standardError: CInt = 2

    /// Writes all bytes.
    ///
    /// - Returns: Whether they are written: a disk can be full, and a reader gone.
    @discardableResult
    package static func write(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe systemWrite(descriptor, $0.baseAddress.map { unsafe $0 + written }, $0.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }

    /// - Returns: Whether it is written.
    @discardableResult
    package static func print(_ text: String, to descriptor: CInt = standardOutput) -> Bool {
        write(Array((text + "\n").utf8), to: descriptor)
    }

    package static func exit(_ status: CInt) -> Never { systemExit(status) }
}

/// A file that is read piece by piece.
package final class OpenFile {
    private let descriptor: CInt
    /// The size of the file when it was opened.
    package let byteCount: Int64
    /// Whether it can be read anywhere and again, as a pipe cannot.
    package let isRegular: Bool

    package init(_ path: String) throws(SystemError) {
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        var status = stat()
        let isKnown = unsafe fstat(descriptor, &status) == 0
        byteCount = isKnown ? Int64(status.st_size) : 0
        isRegular = isKnown && status.st_mode & S_IFMT == S_IFREG
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads at most `count` bytes at a place; none at the end of the file.
    package func read(_ count: Int, at offset: Int64) throws(SystemError) -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: count)
        while true {
            let read = unsafe chunk.withUnsafeMutableBytes {
                unsafe pread(descriptor, $0.baseAddress, $0.count, off_t(offset))
            }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw SystemError(code: errno) }
            chunk.removeLast(count - read)
            return chunk
        }
    }
}

/// An error of the operating system, by its number.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package let code: CInt

    /// A file, or a line of it, has more bytes than it may.
    package static let tooLarge = SystemError(code: EFBIG)

    package var description: String { System.explanation(of: code) }
}

@unsafe
private func systemRead(_ descriptor: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    unsafe read(descriptor, buffer, count)
}

@unsafe
private func systemWrite(_ descriptor: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, buffer, count)
}

// Threads of the daemon may still run: what exit handlers release is theirs, too.
private func systemExit(_ status: CInt) -> Never { _exit(status) }
