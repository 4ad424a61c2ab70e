import Synchronization

/// Where a command writes to, and how: results to standard output, what went wrong with the command itself to standard error.
struct Console {
    let style: Style
    private let destination: Destination
    private(set) var output: [UInt8] = []
    private(set) var errorOutput: [UInt8] = []
    /// Why the output could not be written; what comes after is dropped.
    private var failure: SystemError?
    /// Whether what is written still goes somewhere.
    var isOpen: Bool { failure == nil }

    private enum Destination { case descriptors, memory }

    /// Counts what was written to standard output.
    let writeCounter = WriteCounter()

    /// The process's own streams.
    static func standard() -> Console { Console(style: .ofStandardOutput(), destination: .descriptors) }

    /// A console that keeps everything in ``output`` and ``errorOutput``.
    static func memory(style: Style = Style()) -> Console { Console(style: style, destination: .memory) }

    private init(style: Style, destination: Destination) {
        self.style = style
        self.destination = destination
    }

    mutating func print(_ line: String = "") {
        output.append(contentsOf: line.utf8)
        endLine()
    }

    /// Prints a line that is UTF-8 already.
    mutating func print(utf8 line: [UInt8]) {
        output.append(contentsOf: line)
        endLine()
    }

    /// Writes bytes as they are.
    mutating func write(_ bytes: ArraySlice<UInt8>) {
        output.append(contentsOf: bytes)
        flush()
    }

    private mutating func endLine() {
        output.append(UInt8(ascii: "\n"))
        if output.count >= 1 << 16 { flush() }
    }

    /// Tells people what went wrong, after all that was printed before.
    mutating func report(_ message: String) {
        flush()
        errorOutput.append(contentsOf: "receipt: \(message)\n".utf8)
        guard destination == .descriptors else { return }
        // Nobody is left to be told when this fails.
        try? System.write(errorOutput.span, to: System.standardError)
        errorOutput.removeAll()
    }

    mutating func flush() {
        guard destination == .descriptors else { return }
        if failure == nil {
            do throws(SystemError) {
                try System.write(output.span, to: System.standardOutput, writeCounter)
            } catch {
                failure = error
            }
        }
        output.removeAll(keepingCapacity: true)
    }

    /// Writes what is left and gives the status to exit with.
    mutating func finish(_ status: ExitStatus) -> ExitStatus {
        flush()
        guard let failure else { return status }
        // Whoever read has had enough: as when `head` ends.
        guard failure != .closedPipe else { return .closedPipe }
        report("cannot write to standard output: \(failure)")
        return .unusable
    }
}

/// Counts bytes that a reader has taken, or that are on their way to it.
final class WriteCounter: Sendable {
    private let count = Atomic<Int>(0)

    var byteCount: Int { count.load(ordering: .relaxed) }

    func add(_ byteCount: Int) { count.add(byteCount, ordering: .relaxed) }
}

/// What the process says by its exit status; the worst of several counts.
enum ExitStatus: Int32, Comparable {
    /// Every input passed.
    case passed = 0
    /// At least one input was refused.
    case refused = 1
    /// Wrong usage, a file that cannot be read or written, or a host that cannot do the work.
    case unusable = 2
    /// SIGINT or SIGTERM has ended it; a shell says 130 of a process that SIGINT has killed.
    case interrupted = 130
    /// Standard output is a pipe that nobody reads any more; a shell says 141 of a process that SIGPIPE has killed.
    case closedPipe = 141

    /// Whether work may still be under way on other threads: it was given up, or its output could not be written.
    var leavesThreads: Bool { self >= .unusable }

    static func < (lhs: ExitStatus, rhs: ExitStatus) -> Bool { lhs.rawValue < rhs.rawValue }

    mutating func formMaximum(_ other: ExitStatus) { self = max(self, other) }
}
