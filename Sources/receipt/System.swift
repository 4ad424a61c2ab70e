#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What the command asks of the operating system. No other file of it calls C.
enum System {
    static let standardInput: CInt = 0
    static let standardOutput: CInt = 1
    static let standardError: CInt = 2

    /// Reads a file, or what standard input has.
    ///
    /// - Parameter maximumByteCount: where to stop reading; a device such as `/dev/zero` has no end.
    static func read(_ path: String, maximumByteCount: Int) throws(SystemError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        defer { close(descriptor) }
        return try read(descriptor, maximumByteCount: maximumByteCount)
    }

    static func read(_ descriptor: CInt, maximumByteCount: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < maximumByteCount {
            // As much again as there is: linear in all, and nothing is set aside for what may not come.
            let chunk = min(max(bytes.count, 1 << 16), maximumByteCount - bytes.count)
            var result = 0
            bytes.append(addingCapacity: chunk) { output in
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
            if result == 0 { break }
        }
        return bytes
    }

    static func write(_ bytes: Span<UInt8>, to descriptor: CInt) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = bytes.extracting(written...)
            let result = unsafe rest.withUnsafeBytes { unsafe systemWrite(descriptor, $0.baseAddress, $0.count) }
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { throw SystemError(code: errno) }
            written += result
        }
    }

    /// Writes a file, over one that is there.
    static func write(_ bytes: Span<UInt8>, toFile path: String) throws(SystemError) {
        try write(bytes, to: path, flags: O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode: 0o666)
    }

    /// Writes a file that must not be there.
    ///
    /// - Parameter isPrivate: whether nobody else may read it.
    static func write(_ bytes: Span<UInt8>, toNewFile path: String, isPrivate: Bool) throws(SystemError) {
        try write(
            bytes, to: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode: isPrivate ? 0o600 : 0o666)
    }

    private static func write(
        _ bytes: Span<UInt8>, to path: String, flags: CInt, mode: mode_t
    ) throws(SystemError) {
        let descriptor = unsafe open(path, flags, mode)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        defer { close(descriptor) }
        try write(bytes, to: descriptor)
    }

    /// Makes a directory unless it is there.
    static func makeDirectory(_ path: String) throws(SystemError) {
        guard unsafe mkdir(path, 0o777) == 0 || errno == EEXIST else { throw SystemError(code: errno) }
    }

    static func isTerminal(_ descriptor: CInt) -> Bool { isatty(descriptor) == 1 }

    /// The width of a terminal in characters.
    static func columnCount(of descriptor: CInt) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    static func exit(_ status: CInt) -> Never {
        #if canImport(Glibc)
        Glibc.exit(status)
        #elseif canImport(Musl)
        Musl.exit(status)
        #else
        Darwin.exit(status)
        #endif
    }
}

/// Why the operating system refused, by its error number.
struct SystemError: Error, Hashable, CustomStringConvertible {
    let code: CInt

    var description: String { unsafe String(cString: strerror(code)) }
}

// Under names that the functions above do not have.

@unsafe
private func systemRead(_ descriptor: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    unsafe read(descriptor, buffer, count)
}

@unsafe
private func systemWrite(_ descriptor: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, buffer, count)
}
