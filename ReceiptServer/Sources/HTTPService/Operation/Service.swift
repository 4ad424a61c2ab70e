#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import ServerThreads
import Synchronization

/// A service: its listener, the listener for metrics, other listeners, and the signals that end them.
package struct Service {
    /// A listener beside the service's own, with limits of its own.
    package struct Listener {
        /// The listener's name in the log's `start` line.
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
    /// The address for metrics, or `nil` to serve none.
    package var metricsAddress: ListenAddress?
    /// Other listeners.
    package var others: [Listener] = []
    package var limits: ServiceLimits
    /// The maximum time after SIGTERM for answering the requests that are under way.
    package var stopTime = Duration.seconds(10)
    /// The time after SIGTERM in which `/readyz` answers 503 and everything else continues.
    package var unreadyTime = Duration.zero
    package var log: ServiceLog
    package var state: ServiceState
    package var routes: RouteTable
    /// The members about the routes in the log's `start` line.
    package var configuration: [(StaticString, ServiceLog.Value)] = []
    /// Returns the metrics of the routes.
    package var metrics: @Sendable () -> [MetricFamily] = { [] }
    /// The function that runs on SIGHUP.
    package var reload: (@Sendable () -> Void)?
    /// Starts background threads, which must block signals, and returns a function that ends them when all requests are
    /// answered. If that takes longer than ``stopTime``, the process ends anyway.
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

    /// Throws if an address is taken. Call it before creating anything, in case the server can't start.
    package func checkAddresses(and others: [ListenAddress]) throws(ConfigurationError) {
        // Open all of them together, because two may be the same.
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
        // Threads that start from here on inherit the blocked signals: only this thread receives them.
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

    /// Raises the limit on open files as far as the system allows, and returns the limits that fit it.
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
        // From here on, SIGTERM and SIGINT end the process. SIGHUP stays blocked: it would, too.
        SignalSet([SIGTERM, SIGINT]).unblock()
        // Anything that hangs, such as a database or a full log pipe, is abandoned. Everything that was answered is
        // durable.
        let time = max(stopTime, .milliseconds(500))
        let deadline = Thread {
            System.sleep(for: time)
            System.exit(0)
        }
        if deadline == nil { log.write(.error, "stop-unbounded") }
        // Leave the rest of the time to the function that `start` returned.
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
    /// The limits of a listener that one program queries every few seconds.
    fileprivate static var forMetrics: ServiceLimits {
        var limits = ServiceLimits()
        limits.threadCount = 1
        limits.maximumConnectionCount = 16
        limits.maximumBodyByteCount = 0
        return limits
    }
}

/// Reloads files on a separate thread, because a file that blocks, such as a FIFO or one on a hung mount, must not keep
/// the service from stopping.
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

    /// Returns whether another reload was requested meanwhile.
    private func goesOn() -> Bool {
        state.withLock { state in
            let goesOn = state == .askedAgain
            state = goesOn ? .running : .idle
            return goesOn
        }
    }
}
