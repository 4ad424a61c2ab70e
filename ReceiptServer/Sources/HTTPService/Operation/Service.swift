#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import ServerThreads
import Synchronization

/// A listener, the listener of its metrics, others, and the signals that end all.
package struct Service {
    /// A listener beside the service's own, with limits of its own.
    package struct Listener {
        /// Its name in the log's line `start`.
        package let name: StaticString
        package let address: ListenAddress
        package let routes: RouteTable
        package let limits: ServiceLimits

        package init(_ name: StaticString, _ address: ListenAddress, _ routes: RouteTable, _ limits: ServiceLimits) {
            self.name = name
            self.address = address
            self.routes = routes
            self.limits = limits
        }
    }

    package var address: ListenAddress
    /// Where the metrics are; `nil` for nowhere.
    package var metricsAddress: ListenAddress?
    /// Other listeners.
    package var others: [Listener] = []
    package var limits: ServiceLimits
    /// The time in which requests under way are answered after SIGTERM.
    package var stopTime = Duration.seconds(10)
    /// The time after SIGTERM in which `/readyz` says 503 and everything else goes on.
    package var unreadyTime = Duration.zero
    package var log: ServiceLog
    package var state: ServiceState
    package var routes: RouteTable
    /// What the log says about the routes when the service starts.
    package var configuration: [(StaticString, ServiceLog.Value)] = []
    /// What the routes count.
    package var metrics: @Sendable () -> [MetricFamily] = { [] }
    /// What SIGHUP does.
    package var reload: (@Sendable () -> Void)?
    /// Starts background threads, which must block signals. Returns what ends it
    /// when all requests are answered; if that takes longer than ``stopTime``, the process ends nevertheless.
    package var start: () throws(ConfigurationError) -> @Sendable () -> Void = { {} }

    package init(
        _ address: ListenAddress, _ routes: RouteTable, _ limits: ServiceLimits, _ log: ServiceLog,
        _ state: ServiceState
    ) {
        self.address = address
        self.routes = routes
        self.limits = limits
        self.log = log
        self.state = state
    }

    /// The options of every service.
    package static let options: [OptionTable.Option] =
        [
            .init("--listen", "HOST:PORT", "Where to listen; 127.0.0.1:8080 by default. Port 0 is any free one."),
            .init(
                "--metrics", "HOST:PORT",
                "Where to listen for GET /metrics, in the format of Prometheus. Without it, there are no metrics."),
        ] + ServiceLimits.options + [
            .init(
                "--stop-time", "SECONDS",
                "The maximum time from SIGTERM until the end, in which requests under way are answered; 10 by default."),
            .init(
                "--unready-time", "SECONDS",
                "The time from SIGTERM in which /readyz says 503 and everything else goes on, before the service stops; 0 by default."
            ),
            .init(
                "--log", "none|problems|all",
                "What to write to standard error besides start and stop: nothing, answers that are no success ('problems', the default), or all answers."
            ),
        ]

    /// Creates a service from the values of ``options``.
    package init(
        _ values: OptionTable.Values, _ routes: RouteTable, _ log: ServiceLog, _ state: ServiceState
    ) throws(ConfigurationError) {
        self.init(
            try values.address("--listen") ?? ListenAddress(host: "127.0.0.1", port: 8080), routes,
            try ServiceLimits(values), log, state)
        metricsAddress = try values.address("--metrics")
        if let time = try values.seconds("--stop-time", 0...3600) { stopTime = time }
        if let time = try values.seconds("--unready-time", 0...3600) { unreadyTime = time }
    }

    /// Throws if an address is taken, before a server that cannot start has made anything.
    package func checkAddresses(and others: [ListenAddress]) throws(ConfigurationError) {
        // All at once: two may be the same.
        var sockets: [ListeningSocket] = []
        defer { for socket in sockets { close(socket.descriptor) } }
        do throws(ListenError) {
            for address in [address] + [metricsAddress].compactMap(\.self) + others {
                sockets.append(try ListeningSocket(address, backlog: 1))
            }
        } catch {
            throw ConfigurationError(error.description)
        }
    }

    /// Runs until SIGTERM or SIGINT. A second signal ends the process at once.
    package func run() throws(ConfigurationError) {
        let limits = try allowOpenFiles()
        // Threads that start now inherit this: only this thread takes these signals.
        let signals = SignalSet([SIGTERM, SIGINT, SIGHUP])
        signals.block()
        _ = signal(SIGPIPE, SIG_IGN)
        let daemon: HTTPDaemon
        let metricsDaemon: HTTPDaemon?
        let otherDaemons: [HTTPDaemon]
        do throws(ListenError) {
            daemon = try HTTPDaemon(address, routes, limits, log, state)
            metricsDaemon = try metricsAddress.map { address throws(ListenError) in
                try HTTPDaemon(address, metricsRoutes(of: daemon), .forMetrics, log, state)
            }
            otherDaemons = try others.map { other throws(ListenError) in
                try HTTPDaemon(other.address, other.routes, other.limits, log, state)
            }
        } catch {
            throw ConfigurationError(error.description)
        }
        let finish = try start()
        if System.isRoot {
            log.write(
                .warning, "root",
                [("message", .text("the service needs no privileges: run it as another user than root"))])
        }
        var members: [(StaticString, ServiceLog.Value)] = [("listen", .text(daemon.address.description))]
        if let metricsDaemon { members.append(("metrics", .text(metricsDaemon.address.description))) }
        for (other, daemon) in zip(others, otherDaemons) {
            members.append((other.name, .text(daemon.address.description)))
        }
        let besides = [metricsDaemon].compactMap(\.self) + otherDaemons
        log.write(.info, "start", members + configuration)
        let reloading = Reloading(reload ?? {})
        while true {
            let signal = signals.wait(.milliseconds(250))
            daemon.closeLateConnections()
            for daemon in besides { daemon.closeLateConnections() }
            if signal == SIGHUP { reloading.begin(log) }
            if signal == SIGTERM || signal == SIGINT { break }
        }
        stop(daemon, besides, signals)
        finish()
    }

    /// Raises the number of open files as far as the system allows, and returns the limits that fit.
    private func allowOpenFiles() throws(ConfigurationError) -> ServiceLimits {
        let ofOthers = others.map(\.limits.openFileCount).reduce(0, +)
        let count = limits.openFileCount + ofOthers
        guard let allowed = System.allowOpenFiles(count) else { return limits }
        guard limits.allowsFewerConnections else {
            throw ConfigurationError(
                "\(limits.maximumConnectionCount) connections need \(count) open files, and this system allows \(allowed); see --connections and 'ulimit -n'"
            )
        }
        var limits = limits
        limits.fit(openFileCount: allowed - ofOthers)
        _ = System.allowOpenFiles(allowed)
        log.write(
            .warning, "few-open-files",
            [("open_files", .number(allowed)), ("connections", .number(limits.maximumConnectionCount))])
        return limits
    }

    private func stop(_ daemon: HTTPDaemon, _ besides: [HTTPDaemon], _ signals: SignalSet) {
        state.becomeUnready()
        log.write(.info, "stopping", [("connections", .number(daemon.connectionCount))])
        let end = System.monotonicMilliseconds + unreadyTime.milliseconds
        var isImpatient = false
        while System.monotonicMilliseconds < end, !isImpatient {
            let signal = signals.wait(.milliseconds(100))
            isImpatient = signal == SIGTERM || signal == SIGINT
            daemon.closeLateConnections()
        }
        // From here on, a second signal to stop has its usual effect. SIGHUP stays blocked: it would end the process.
        SignalSet([SIGTERM, SIGINT]).unblock()
        // What hangs then, in a database or in a full pipe of the log for example, is left. Whatever was answered is
        // durable.
        let time = max(stopTime, .milliseconds(500))
        let deadline = Thread {
            System.sleep(for: time)
            System.exit(0)
        }
        if deadline == nil { log.write(.error, "stop-unbounded") }
        // The rest of the time is for `start`'s end.
        let cut = daemon.stop(within: stopTime - min(stopTime / 4, .seconds(1)))
        for daemon in besides { _ = daemon.stop(within: .zero) }
        log.write(cut == 0 ? .info : .warning, "stop", [("connections_cut", .number(cut))])
    }

    private func metricsRoutes(of daemon: HTTPDaemon) -> RouteTable {
        let metrics = metrics
        return RouteTable([
            Route(.only("GET"), "/metrics") { _ in
                var response = Response(body: Array(daemon.metricsText(metrics()).utf8))
                response.contentType = "text/plain; version=0.0.4; charset=utf-8"
                return response
            }
        ])
    }
}

extension ServiceLimits {
    /// For a listener that one program asks every few seconds.
    fileprivate static var forMetrics: ServiceLimits {
        var limits = ServiceLimits()
        limits.threadCount = 1
        limits.maximumConnectionCount = 16
        limits.maximumBodyByteCount = 0
        return limits
    }
}

/// Reads files again on a thread of its own: a file that blocks, as a FIFO or a hung mount does, must not keep the
/// service from its end.
private final class Reloading: Sendable {
    private enum State { case idle, running, askedAgain }

    private let body: @Sendable () -> Void
    private let state = Mutex(State.idle)

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func begin(_ log: ServiceLog) {
        let isFirst = state.withLock { state in
            defer { state = state == .idle ? .running : .askedAgain }
            return state == .idle
        }
        guard isFirst else { return }
        let thread = Thread {
            repeat { self.body() } while self.goesOn()
        }
        if thread == nil {
            state.withLock { $0 = .idle }
            log.write(.error, "not-reloaded", [("message", .text("the system has no thread to give"))])
        }
    }

    /// Whether somebody asked meanwhile.
    private func goesOn() -> Bool {
        state.withLock { state in
            let goesOn = state == .askedAgain
            state = goesOn ? .running : .idle
            return goesOn
        }
    }
}
