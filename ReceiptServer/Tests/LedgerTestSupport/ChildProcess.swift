import CChildProcess
import Foundation
import Synchronization

/// A child process with a pipe to its input and one from its output.
///
/// Foundation's `Process` passes the starting thread's signal mask to the child, and waits until grandchildren have
/// closed a socket that they inherit.
package final class ChildProcess: Sendable {
    package let id: Int32
    private let input: Int32
    private let output: Int32
    private let status = Guarded<Int32?>(nil)

    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    package init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        var texts = (arguments.map { strdup($0) } + [nil], variables.map { strdup($0) } + [nil])
        defer {
            texts.0.forEach { free($0) }
            texts.1.forEach { free($0) }
        }
        var (input, output): (Int32, Int32) = (-1, -1)
        id = ledger_spawn(&texts.0, &texts.1, &input, &output)
        (self.input, self.output) = (input, output)
        guard id > 0 else { throw Failure(description: "\(arguments[0]) cannot be started") }
    }

    deinit {
        closeInput()
        close(output)
        // While an ended child isn't reaped, Swift Testing waits forever for the process of an exit test.
        if id > 0, status.withLock({ $0 == nil }) { Thread.detachNewThread { [id] in Self.wait(for: id) } }
    }

    package func write(_ text: String) { _ = Foundation.write(input, text, text.utf8.count) }

    private let isInputClosed = Atomic(false)

    package func closeInput() { if !isInputClosed.exchange(true, ordering: .relaxed) { close(input) } }

    /// Returns the next line of the output, or `nil` at its end.
    package func readLine() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1 {
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    package func readAll() -> String {
        var lines: [String] = []
        while let line = readLine() { lines.append(line) }
        return lines.joined(separator: "\n")
    }

    package func signal(_ signal: Int32) { kill(id, signal) }

    /// Waits for the end, and returns the status from `waitpid`.
    @discardableResult
    package func wait() -> Int32 {
        status.withLock { status in
            if let status { return status }
            let found = Self.wait(for: id)
            status = found
            return found
        }
    }

    @discardableResult
    private static func wait(for id: Int32) -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// Runs a program to its end, and returns its output.
    @discardableResult
    package static func run(_ arguments: [String]) throws -> String {
        let process = try ChildProcess(arguments)
        process.closeInput()
        let output = process.readAll()
        guard process.wait() == 0 else { throw Failure(description: "\(arguments): \(output)") }
        return output
    }
}
