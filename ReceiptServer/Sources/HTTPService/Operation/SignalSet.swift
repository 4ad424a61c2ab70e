#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Signals that one thread waits for.
package struct SignalSet {
    private var set = sigset_t()

    package init(_ signals: [CInt]) {
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
    }

    /// The signals that ask a process to end, except those it was started to ignore, as by `nohup`.
    ///
    /// Without `/proc`, which some containers lack, it includes ignored signals. One of them stops an import cleanly,
    /// and it can be resumed. A signal left out would end it uncleanly.
    package static var ending: SignalSet {
        var ignored: UInt64 = 0
        if let status = try? System.readFile("/proc/self/status", maximumByteCount: 64 << 10) {
            for line in status.split(separator: UInt8(ascii: "\n")) where line.starts(with: "SigIgn:\t".utf8) {
                ignored = UInt64(String(decoding: line.dropFirst(8), as: UTF8.self), radix: 16) ?? 0
            }
        }
        return SignalSet([SIGTERM, SIGINT, SIGHUP].filter { ignored >> UInt64($0 - 1) & 1 == 0 })
    }

    package func block() { change(SIG_BLOCK) }
    package func unblock() { change(SIG_UNBLOCK) }

    private func change(_ how: CInt) {
        var set = set
        _ = unsafe pthread_sigmask(how, &set, nil)
    }

    /// Waits for a signal, and returns `nil` if none arrives in time.
    package func wait(_ time: Duration) -> CInt? {
        var set = set
        let milliseconds = Int(time.milliseconds)
        var limit = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
        let signal = unsafe sigtimedwait(&set, nil, &limit)
        return signal > 0 ? signal : nil
    }
}
