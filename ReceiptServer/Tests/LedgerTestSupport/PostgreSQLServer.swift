import Foundation
import Synchronization

/// A PostgreSQL server with its data and its socket in a temporary folder. It ends with this process, even if that
/// crashes.
package final class PostgreSQLServer: Sendable {
    package static let shared = Result { try PostgreSQLServer() }

    /// The folder of the server's commands; `nil` if PostgreSQL is not installed, or `RECEIPT_SQLITE_ONLY` has a value.
    package static let binaries: String? = {
        if let text = ProcessInfo.processInfo.environment["RECEIPT_SQLITE_ONLY"], !text.isEmpty { return nil }
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return versions.sorted().reversed().map { "/usr/lib/postgresql/\($0)/bin" }.first {
            FileManager.default.isExecutableFile(atPath: $0 + "/postgres")
        }
    }()

    private let folder: String
    private let databases = Atomic(0)
    /// Stops the server when it reads a line. When its input ends, it also removes the folder.
    private let keeper = Guarded<ChildProcess?>(nil)

    package init() throws {
        guard let binaries = Self.binaries else {
            throw ChildProcess.Failure(description: "PostgreSQL is not installed")
        }
        // A socket's path has at most 107 bytes.
        folder = "/tmp/ledger-pg-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // PostgreSQL refuses to run as root.
        if getuid() == 0 { try ChildProcess.run(["chown", "postgres", folder]) }
        try ChildProcess.run(
            Self.user + [
                binaries + "/initdb", "-D", folder + "/data", "-U", "ledger", "--auth=trust", "--no-sync", "-E", "UTF8",
                "--locale=C",
            ])
        try start()
    }

    /// The command prefix that drops root privileges.
    private static var user: [String] {
        getuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] : []
    }

    private var control: [String] { Self.user + [(Self.binaries ?? "") + "/pg_ctl", "-D", folder + "/data"] }

    package func start() throws {
        // All suites make their schemas at the same time.
        let limits = "-c max_connections=150 -c max_locks_per_transaction=512"
        // No test cuts the power, and what a killed server has written, the system has.
        let options = "-k \(folder) -c listen_addresses= \(limits) -c log_min_messages=fatal -c fsync=off"
        try ChildProcess.run(control + ["start", "-w", "-s", "-l", folder + "/log", "-o", options])
        let stop = control.joined(separator: " ") + " stop -s -m"
        let script =
            "keep=; read -r keep; if [ -n \"$keep\" ]; then \(stop) fast; else \(stop) immediate; rm -rf \(folder); fi"
        try keeper.withLock { $0 = try ChildProcess(["/bin/sh", "-c", script]) }
    }

    /// Stops the server and its connections. ``start()`` restarts it with the same databases.
    package func stop() {
        keeper.withLock { keeper in
            keeper?.write("keep\n")
            keeper?.wait()
            keeper = nil
        }
    }

    /// Creates a schema, and returns its URI.
    package func makeDatabase() throws -> String {
        let name = "ledger\(databases.wrappingAdd(1, ordering: .relaxed).newValue)"
        let server = "postgresql:///postgres?host=\(folder)&user=ledger"
        _ = try Self.query(server, "CREATE SCHEMA \(name)")
        return server + "&options=-csearch_path%3D\(name)"
    }

    /// Runs statements, and returns their rows as text.
    package static func query(_ uri: String, _ statements: String) throws -> String {
        try ChildProcess.run([(binaries ?? "") + "/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statements, uri])
    }
}
