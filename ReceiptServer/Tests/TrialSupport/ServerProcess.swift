package import Foundation

/// A running server, on a free port of loopback.
package final class ServerProcess {
    private let process = Process()
    private let errorFile: URL
    package private(set) var port: UInt16 = 0
    package private(set) var metricsPort: UInt16 = 0

    package struct Failure: Error, CustomStringConvertible { package let description: String }

    /// The executable beside this one, or what the tests built.
    package static var executable: URL {
        let own = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "receipt-server")
        if FileManager.default.isExecutableFile(atPath: own.path(percentEncoded: false)) { return own }
        return URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../.build/debug/receipt-server")
    }

    /// - Parameter openFileCount: The number of open files that the system allows it; `nil` for that of this process.
    package init(
        _ options: [String] = [], environment: [String: String] = [:], openFileCount: Int? = nil,
        executable: URL = ServerProcess.executable
    ) throws {
        errorFile = FileManager.default.temporaryDirectory.appending(path: "receipt-server-\(UUID().uuidString).log")
        _ = FileManager.default.createFile(atPath: errorFile.path(percentEncoded: false), contents: nil)
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments =
            ["-c", (openFileCount.map { "ulimit -n \($0); " } ?? "") + "exec \"$@\"", "-"]
            + [executable.path(percentEncoded: false), "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]
            + options
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardError = try FileHandle(forWritingTo: errorFile)
        try process.run()
        try TrialSupport.wait {
            guard process.isRunning else { throw Failure(description: "not started: \(log)") }
            for line in events("start") {
                port = Self.port(line["listen"])
                metricsPort = Self.port(line["metrics"])
            }
            return port != 0
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: errorFile)
    }

    private static func port(_ address: Any?) -> UInt16 {
        (address as? String).flatMap { $0.split(separator: ":").last }.flatMap { UInt16($0) } ?? 0
    }

    package var processIdentifier: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    /// What it wrote to standard error.
    package var log: String { (try? String(contentsOf: errorFile, encoding: .utf8)) ?? "" }

    /// The lines of the log about an event.
    package func events(_ name: String) -> [[String: Any]] {
        log.split(separator: "\n").compactMap { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
        }.filter { $0["event"] as? String == name }
    }

    package func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for the end and returns the exit status.
    package func wait() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    package func terminate() -> Int32 {
        send(SIGTERM)
        return wait()
    }

    // MARK: What /proc says

    private func proc(_ name: String) -> String {
        (try? String(contentsOfFile: "/proc/\(processIdentifier)/\(name)", encoding: .utf8)) ?? ""
    }

    /// The memory in use, in KiB.
    package var residentKiB: Int {
        let line = proc("status").split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line.flatMap { $0.split(separator: " ").dropLast().last }.flatMap { Int($0) } ?? 0
    }

    /// The processor time, in seconds.
    package var processorSeconds: Double {
        let fields = (proc("stat").split(separator: ")").last ?? "").split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    package var openFileCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processIdentifier)/fd").count) ?? 0
    }
}
