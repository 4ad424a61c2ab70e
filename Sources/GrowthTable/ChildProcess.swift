#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

enum ChildProcess {
    /// The processor time of a process in nanoseconds, and its exit status. Its output is discarded.
    ///
    /// - Parameter input: the standard input, which each read gets byte by byte; empty by default.
    /// - Returns: a time above every limit, if the process could not be started or was killed.
    static func run(_ program: String, _ arguments: [String], input: [UInt8] = []) -> (time: Int, outcome: String) {
        // A read from a sequenced-packet socket returns the bytes of one write.
        var sockets: [CInt] = [-1, -1]
        let kind = CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &sockets) == 0 else { return (.max, "not started") }
        let process = spawn(program, arguments, standardInput: sockets[1])
        close(sockets[1])
        for byte in input {
            var byte = byte
            guard unsafe send(sockets[0], &byte, 1, CInt(MSG_NOSIGNAL)) == 1 else { break }
        }
        close(sockets[0])
        guard let process else { return (.max, "not started") }
        var status: CInt = 0
        var usage = rusage()
        repeat {} while unsafe wait4(process, &status, 0, &usage) < 0 && errno == EINTR
        guard status & 0x7F == 0 else { return (.max, "signal \(status & 0x7F)") }
        return (usage.processorTime, "exit \(status >> 8 & 0xFF)")
    }

    private static func spawn(_ program: String, _ arguments: [String], standardInput: CInt) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, standardInput, 0)
        for descriptor: CInt in 1...2 {
            unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        }
        var words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var process = pid_t()
        return unsafe posix_spawn(&process, program, &actions, nil, &words, environ) == 0 ? process : nil
    }
}
