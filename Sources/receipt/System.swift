import StrictText

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The command's calls of the operating system. No other file of the command calls C.
enum System {
    static let standardInput: CInt = 0
    static let standardOutput: CInt = 1
    static let standardError: CInt = 2

    /// The arguments without the program's name; `nil` if one is not UTF-8. `CommandLine.arguments` replaces the
    /// invalid bytes, and the result can be the name of another file.
    static var arguments: [String]? {
        var arguments: [String] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let pointer = unsafe CommandLine.unsafeArgv[index],
                let argument = unsafe String(validatingCString: pointer)
            else { return nil }
            arguments.append(argument)
        }
        return arguments
    }

    /// Reads a file, or standard input.
    ///
    /// - Parameter maximumByteCount: The maximum number of bytes to read. A device such as `/dev/zero` has no end.
    static func read(_ path: String, maximumByteCount: Int) throws(SystemError) -> [UInt8] {
        let descriptor = try open(path)
        defer { close(descriptor) }
        return try read(descriptor, maximumByteCount: maximumByteCount)
    }

    static func read(_ descriptor: CInt, maximumByteCount: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < maximumByteCount {
            // Doubles the buffer: linear time, and no more memory than twice the bytes that were read.
            let chunk = min(max(bytes.count, 1 << 16), maximumByteCount - bytes.count)
            if try read(descriptor, atMost: chunk, appendingTo: &bytes) == 0 { break }
        }
        return bytes
    }

    /// Reads the available bytes, and waits for the first.
    ///
    /// - Returns: The number of appended bytes; 0 at the end.
    static func read(
        _ descriptor: CInt, atMost count: Int, appendingTo bytes: inout [UInt8]
    ) throws(SystemError) -> Int {
        var result = 0
        bytes.append(addingCapacity: count) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                let free = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[initializedCount...])
                repeat {
                    result = unsafe systemRead(descriptor, free.baseAddress, free.count)
                } while result < 0 && errno == EINTR
                initializedCount += max(result, 0)
            }
        }
        guard result >= 0 else { throw SystemError(code: errno) }
        return result
    }

    /// Returns whether a read does not wait: there are bytes, or the end.
    static func isReadable(_ descriptor: CInt) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&request, 1, 0) > 0
    }

    /// Returns the index of the first line feed from `start` on; `bytes.count` if there is none.
    static func indexOfLineFeed(in bytes: Span<UInt8>, from start: Int) -> Int {
        let rest = bytes.extracting(start...)
        return unsafe rest.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let found = unsafe memchr(base, CInt(UInt8.lineFeed), buffer.count)
            else { return bytes.count }
            return unsafe start + (UnsafeRawPointer(found) - base)
        }
    }

    /// Opens a file for reading.
    static func open(_ path: String) throws(SystemError) -> CInt {
        let descriptor = unsafe systemOpen(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        return descriptor
    }

    /// Opens a file for reading and appending, and makes it if there is none.
    static func openForAppending(_ path: String) throws(SystemError) -> CInt {
        let descriptor = unsafe systemOpen(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        return descriptor
    }

    /// Locks a file until it is closed, or the process ends.
    ///
    /// - Throws: ``SystemError/locked`` if another process has locked it for two seconds. One that is ending, or has
    ///   just forked, can hold it for a moment.
    static func lock(_ descriptor: CInt) throws(SystemError) {
        for _ in 0..<40 where flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK else { throw SystemError(code: errno) }
            usleep(50_000)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw SystemError(code: errno) }
    }

    /// Truncates a file to a number of bytes.
    static func truncate(_ descriptor: CInt, to byteCount: Int) throws(SystemError) {
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else { throw SystemError(code: errno) }
    }

    static func close(_ descriptor: CInt) { _ = systemClose(descriptor) }

    /// Returns the size of a file in bytes; `nil` for anything else, such as a pipe.
    static func byteCount(of descriptor: CInt) -> Int? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Returns whether writes wait for a reader, as those to pipes, sockets and terminals do.
    static func waitsForReader(_ descriptor: CInt) -> Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return true }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        return !isFile && (status.st_mode & S_IFMT != S_IFCHR || isTerminal(descriptor))
    }

    /// - Parameters:
    ///   - counter: A counter of the written bytes.
    ///   - inParts: Whether to write parts of 4096 bytes, which a pipe takes completely or not at all (POSIX,
    ///     `PIPE_BUF`), so that the counter shows whether its reader reads.
    static func write(
        _ bytes: Span<UInt8>, to descriptor: CInt, _ counter: SharedCount? = nil, inParts: Bool = false
    ) throws(SystemError) {
        let partByteCount = inParts ? 4096 : Int.max
        var written = 0
        while written < bytes.count {
            let rest = bytes.extracting(written..<written + min(partByteCount, bytes.count - written))
            let result = unsafe rest.withUnsafeBytes { unsafe systemWrite(descriptor, $0.baseAddress, $0.count) }
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { throw SystemError(code: errno) }
            written += result
            counter?.add(result)
        }
    }

    /// Writes a file, and replaces an existing one.
    static func write(_ bytes: Span<UInt8>, toFile path: String) throws(SystemError) {
        try write(bytes, to: path, flags: O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode: 0o666)
    }

    /// Writes a file that must not exist.
    ///
    /// - Parameter isPrivate: Whether only the user may read it.
    static func write(_ bytes: Span<UInt8>, toNewFile path: String, isPrivate: Bool) throws(SystemError) {
        try write(
            bytes, to: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode: isPrivate ? 0o600 : 0o666)
    }

    /// Writes a file that must not exist, or a device or a pipe, which cannot be overwritten.
    static func write(_ bytes: Span<UInt8>, toNewFileOrDevice path: String) throws(SystemError) {
        do throws(SystemError) {
            try write(bytes, toNewFile: path, isPrivate: false)
        } catch {
            guard error.code == EEXIST else { throw error }
            let descriptor = unsafe systemOpen(path, O_WRONLY | O_CLOEXEC, 0)
            guard descriptor >= 0 else { throw SystemError(code: errno) }
            defer { close(descriptor) }
            guard byteCount(of: descriptor) == nil else { throw error }
            try write(bytes, to: descriptor)
        }
    }

    private static func write(
        _ bytes: Span<UInt8>, to path: String, flags: CInt, mode: mode_t
    ) throws(SystemError) {
        let descriptor = unsafe systemOpen(path, flags, mode)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        defer { close(descriptor) }
        try write(bytes, to: descriptor)
    }

    /// Makes a directory unless it exists.
    static func makeDirectory(_ path: String) throws(SystemError) {
        guard unsafe mkdir(path, 0o777) == 0 || errno == EEXIST else { throw SystemError(code: errno) }
    }

    static func isTerminal(_ descriptor: CInt) -> Bool { isatty(descriptor) == 1 }

    /// Returns the width of a terminal in characters.
    static func columnCount(of descriptor: CInt) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// The signals with which people and supervisors end a process.
    static let interruptingSignals = [SIGINT, SIGTERM]
    /// The signal with which a write to a closed pipe ends a process. While it is ignored, the write fails.
    static let pipeSignal = SIGPIPE

    static func setIgnored(_ isIgnored: Bool, signal number: CInt) {
        _ = signal(number, isIgnored ? SIG_IGN : SIG_DFL)
    }

    /// - Parameter atOnce: Whether to skip the exit handlers: other threads may still need what these release.
    static func exit(_ status: CInt, atOnce: Bool) -> Never {
        if atOnce { _exit(status) }
        #if canImport(Glibc)
        Glibc.exit(status)
        #elseif canImport(Musl)
        Musl.exit(status)
        #else
        Darwin.exit(status)
        #endif
    }
}

/// An error of the operating system, by its number.
struct SystemError: Error, Hashable, CustomStringConvertible {
    let code: CInt

    /// The error of a write to a closed pipe.
    static let closedPipe = SystemError(code: EPIPE)
    /// The error of a file that another process has locked.
    static let locked = SystemError(code: EWOULDBLOCK)

    var description: String { unsafe String(cString: strerror(code)) }
}

// libc's functions, under other names than those of the methods above.

@unsafe
private func systemOpen(_ path: String, _ flags: CInt, _ mode: mode_t) -> CInt { unsafe open(path, flags, mode) }

private func systemClose(_ descriptor: CInt) -> CInt { close(descriptor) }

@unsafe
private func systemRead(_ descriptor: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    unsafe read(descriptor, buffer, count)
}

@unsafe
private func systemWrite(_ descriptor: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, buffer, count)
}
