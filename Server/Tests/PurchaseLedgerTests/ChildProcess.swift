import CChildProcess
import Foundation
import Synchronization

/// A program of its own, with a pipe to its input and one from its output.
///
/// Foundation's `Process` gives a child the blocked signals of the thread that starts it, and a socket that it waits for until the child's own children have closed it, too.
final class ChildProcess: Sendable {
    let id: pid_t
    private let input: Int32
    private let output: Int32
    private let status = Mutex<Int32?>(nil)

    struct Failure: Error, CustomStringConvertible { let description: String }

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        var texts = unsafe (arguments.map { unsafe strdup($0) } + [nil], variables.map { unsafe strdup($0) } + [nil])
        defer {
            unsafe texts.0.forEach { unsafe free($0) }
            unsafe texts.1.forEach { unsafe free($0) }
        }
        var (input, output): (Int32, Int32) = (-1, -1)
        id = unsafe ledger_spawn(&texts.0, &texts.1, &input, &output)
        (self.input, self.output) = (input, output)
        guard id > 0 else { throw Failure(description: "\(arguments[0]) cannot be started") }
    }

    deinit {
        closeInput()
        close(output)
    }

    func write(_ text: String) { _ = unsafe Foundation.write(input, text, text.utf8.count) }

    private let isInputClosed = Atomic(false)

    func closeInput() { if !isInputClosed.exchange(true, ordering: .relaxed) { close(input) } }

    /// Returns what the child writes, up to the next end of a line; `nil` at the end of its output.
    func readLine() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while unsafe read(output, &byte, 1) == 1 {
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    func readAll() -> String {
        var lines: [String] = []
        while let line = readLine() { lines.append(line) }
        return lines.joined(separator: "\n")
    }

    func signal(_ signal: Int32) { kill(id, signal) }

    /// Waits for the end, and returns the status as `waitpid` gives it.
    @discardableResult
    func wait() -> Int32 {
        status.withLock { status in
            if let status { return status }
            var found: Int32 = 0
            while unsafe waitpid(id, &found, 0) < 0, errno == EINTR {}
            status = found
            return found
        }
    }

    /// Runs a program to its end, and returns its output.
    @discardableResult
    static func run(_ arguments: [String]) throws -> String {
        let process = try ChildProcess(arguments)
        process.closeInput()
        let output = process.readAll()
        guard process.wait() == 0 else { throw Failure(description: "\(arguments): \(output)") }
        return output
    }
}
