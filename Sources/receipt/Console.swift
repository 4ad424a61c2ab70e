import SpanASN1
import Synchronization

/// The output of a command: results go to standard output, and errors of the command itself to standard error.
struct Console {
    var style: Style
    private let destination: Destination
    private(set) var output: [UInt8] = []
    private(set) var errorOutput: [UInt8] = []
    /// Whether anything went to standard output.
    private(set) var hasOutput = false
    /// The reason the output could not be written. Further output is discarded.
    private var failure: SystemError?
    /// Whether output can still be written.
    var isOpen: Bool { failure == nil }

    private enum Destination { case descriptors, memory }

    /// The number of bytes that were written to standard output, or to the file instead.
    let writtenByteCount = SharedCount()
    /// Whether the reader of standard output decides how long a write takes.
    private let waitsForReader: Bool
    /// The file that gets the output instead of standard output.
    private var file: (name: String, descriptor: CInt)?

    /// Where output is written; `nil` if it is stored.
    private var descriptor: CInt? { file?.descriptor ?? (destination == .descriptors ? System.standardOutput : nil) }

    /// Whether somebody reads the output on a terminal.
    var isTerminal: Bool { destination == .descriptors && System.isTerminal(System.standardOutput) }

    /// Returns a console with the streams of the process.
    static func standard() -> Console { Console(style: .ofStandardOutput(), destination: .descriptors) }

    /// Creates a console that stores everything in ``output`` and ``errorOutput``.
    static func memory(style: Style = Style()) -> Console { Console(style: style, destination: .memory) }

    private init(style: Style, destination: Destination) {
        self.style = style
        self.destination = destination
        waitsForReader = destination == .descriptors && System.waitsForReader(System.standardOutput)
    }

    mutating func print(_ line: String = "") {
        output.append(contentsOf: line.utf8)
        endLine()
    }

    /// Prints a line of UTF-8.
    mutating func print(utf8 line: [UInt8]) {
        output.append(contentsOf: line)
        endLine()
    }

    /// Sends the output to a file from now on. Errors still go to standard error.
    ///
    /// - Parameter name: The name of the file, for the error if it cannot be written.
    mutating func redirectOutput(to descriptor: CInt, name: String) {
        flush()
        file = (name, descriptor)
    }

    /// Writes bytes unchanged.
    ///
    /// - Returns: The number of bytes that were written: fewer than all if the output cannot be written any more.
    @discardableResult
    mutating func write(_ bytes: Span<UInt8>) -> Int {
        guard descriptor != nil else {
            output.append(contentsOf: [UInt8](copying: bytes))
            return bytes.count
        }
        flush()
        let before = writtenByteCount.value
        writeToDescriptor(bytes)
        return writtenByteCount.value - before
    }

    private mutating func endLine() {
        hasOutput = true
        output.append(UInt8(ascii: "\n"))
        if output.count >= 1 << 16 { flush() }
    }

    /// Reports an error, after everything that was printed before.
    mutating func report(_ message: String) {
        flush()
        errorOutput.append(contentsOf: "receipt: \(message)\n".utf8)
        guard destination == .descriptors else { return }
        // An error of standard error cannot be reported.
        try? System.write(errorOutput.span, to: System.standardError)
        errorOutput.removeAll()
    }

    mutating func flush() {
        guard descriptor != nil, !output.isEmpty else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &output)
        writeToDescriptor(bytes.span)
        bytes.removeAll(keepingCapacity: true)
        swap(&bytes, &output)
    }

    private mutating func writeToDescriptor(_ bytes: Span<UInt8>) {
        guard failure == nil, let descriptor else { return }
        do throws(SystemError) {
            try System.write(bytes, to: descriptor, writtenByteCount, inParts: waitsForReader && file == nil)
        } catch {
            failure = error
        }
    }

    /// Writes the remaining output and returns the exit status.
    mutating func finish(_ status: ExitStatus) -> ExitStatus {
        flush()
        guard let failure else { return status }
        // The reader closed the pipe, as `head` does.
        guard failure != .closedPipe else { return .closedPipe }
        report("cannot write to \(file?.name.printable ?? "standard output"): \(failure)")
        return .unusable
    }
}

/// A count that threads share.
final class SharedCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ count: Int) { self.count.add(count, ordering: .relaxed) }
}
