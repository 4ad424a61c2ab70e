#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
package import Instants
import StrictText

/// Operating system calls that concern the process.
package enum System {
    package static var processorCount: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }

    /// The time of the monotonic clock, in nanoseconds.
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

    /// The names of the environment variables.
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

    /// Returns whether all arguments, and all environment variables with the prefix, are UTF-8. `String` replaces other
    /// bytes, and the result could name a different file.
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

    /// Raises the limit on open files to `count`.
    ///
    /// - Returns: The limit that the system allows if that is less than `count`, or `nil`.
    package static func allowOpenFiles(_ count: Int) -> Int? {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        if limit.rlim_cur >= rlim_t(count) { return nil }
        if limit.rlim_max < rlim_t(count) { return Int(limit.rlim_max) }
        limit.rlim_cur = rlim_t(count)
        return unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? nil : Int(limit.rlim_max)
    }

    /// The resident memory of the process in bytes, or `nil` on systems without `/proc`.
    static var residentByteCount: Int? {
        guard let text = try? readFile("/proc/self/statm", maximumByteCount: 256) else { return nil }
        let fields = text.split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Reads a file. Throws if the file exceeds the limit, because its last line would be cut.
    package static func readFile(_ path: String, maximumByteCount: Int) throws(SystemError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        defer { close(descriptor) }
        return try read(descriptor, maximumByteCount: maximumByteCount)
    }

    /// Reads a file that only its owner can read or change.
    ///
    /// Credentials that systemd provides are exempt from the check: systemd restricts access to them, and its access
    /// list looks like group permissions.
    ///
    /// - Returns: `nil` if other users can read or change the file.
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

    /// Returns a path for a temporary file of this process.
    package static func temporaryPath(_ name: String) -> String {
        (environment("TMPDIR") ?? "/tmp") + "/\(name)-\(getpid())-\(monotonicNanoseconds)"
    }

    /// Returns the path without symbolic links and relative parts, or the path itself if there is no such file.
    package static func resolved(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// The login name of the terminal's user or, without a terminal, the user of the process.
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

    /// Ends the process with a signal, as if the signal hadn't been handled.
    package static func end(by signal: CInt) -> Never {
        _ = kill(getpid(), signal)
        systemExit(128 + signal)
    }

    package static func remove(_ path: String) { _ = unsafe unlink(path) }

    /// Waits at least this long, even if signals arrive.
    package static func sleep(for time: Duration) {
        let end = monotonicMilliseconds + time.milliseconds
        while case let now = monotonicMilliseconds, now < end { usleep(UInt32(clamping: min(end - now, 1000) * 1000)) }
    }

    package static let standardOutput: CInt = 1
    package static let standardError: CInt = 2

    /// Writes all bytes.
    ///
    /// - Returns: Whether all bytes were written: a disk can be full, and a pipe can have no reader.
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

    /// - Returns: Whether the text was written.
    @discardableResult
    package static func print(_ text: String, to descriptor: CInt = standardOutput) -> Bool {
        write(Array((text + "\n").utf8), to: descriptor)
    }

    package static func exit(_ status: CInt) -> Never { systemExit(status) }
}

/// A file that is read in pieces.
package final class OpenFile {
    private let descriptor: CInt
    /// The size of the file when it was opened.
    package let byteCount: Int64
    /// Whether the file can be read at any offset and repeatedly, unlike a pipe.
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

    /// Reads at most `count` bytes at an offset. Returns no bytes at the end of the file.
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

/// An operating system error.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package let code: CInt

    /// A file, or a line of it, exceeds the size limit.
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

// Worker threads may still be running: exit handlers would release what they use.
private func systemExit(_ status: CInt) -> Never { _exit(status) }
