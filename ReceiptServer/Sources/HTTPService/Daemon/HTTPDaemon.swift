import CMicrohttpd
import ServerThreads
import StrictText

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The resources of one lane, shared by its requests only.
struct LaneResources {
    let queue: WorkQueue
    let memory: MemoryBudget

    init(_ limits: ServiceLimits, _ lane: Lane, laneCount: Int) {
        queue = WorkQueue(
            capacity: limits.queueCapacity, threadCount: limits.threadCount(of: lane),
            largeThreadCount: limits.largeThreadCount(of: lane), maximumWait: limits.queueTime)
        memory = MemoryBudget(limit: limits.memoryByteCount(laneCount: laneCount))
    }
}

/// A listener that answers with the routes of a table, on threads of GNU libmicrohttpd.
///
/// Those threads use it until ``stop(within:)`` has returned: don't release it before.
@safe
package final class HTTPDaemon: @unchecked Sendable {
    let routes: RouteTable
    let limits: ServiceLimits
    let log: ServiceLog
    package let metrics: ServiceMetrics
    let connections = ConnectionTable()
    private let lanes: [Lane: LaneResources]
    /// The lane of each route, by the route's index.
    private let lanesOfRoutes: [LaneResources]
    let state: ServiceState
    /// The address on which it listens.
    package let address: ListenAddress
    private let listeningSocket: CInt
    /// Only the thread that starts and stops the daemon uses it.
    private var daemon: OpaquePointer?

    /// Starts listening.
    package init(
        _ address: ListenAddress, _ routes: RouteTable, _ limits: ServiceLimits, _ log: ServiceLog,
        _ state: ServiceState
    ) throws(ListenError) {
        let socket = try ListeningSocket(address, backlog: limits.busyConnectionCount)
        self.routes = routes
        self.limits = limits
        self.log = log
        self.state = state
        self.address = socket.address
        listeningSocket = socket.descriptor
        metrics = ServiceMetrics(routes)
        // Any route can receive a large body, which the processor lane answers.
        let used = Set(routes.routes.map(\.lane) + [.processor])
        let lanes = Dictionary(
            uniqueKeysWithValues: used.map { ($0, LaneResources(limits, $0, laneCount: used.count)) })
        self.lanes = lanes
        lanesOfRoutes = routes.routes.compactMap { lanes[$0.lane] }
        guard lanes.values.allSatisfy(\.queue.hasThreads) else {
            for lane in lanes.values { _ = lane.queue.stop(by: 0) }
            close(socket.descriptor)
            throw ListenError(address: address, reason: "the system has no thread to give")
        }
        var options = http_options()
        options.listening_socket = socket.descriptor
        options.thread_count = UInt32(clamping: limits.threadCount)
        options.maximum_connection_count = UInt32(clamping: limits.maximumConnectionCount + limits.busyConnectionCount)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe daemon = http_start(
            &options,
            { unsafe daemonHandler($0, $1, $2, $3, $4, $5, $6, $7) },
            { unsafe daemonCompleted($0, $2, $3) },
            { unsafe daemonTargetReceived($1, $2) },
            { unsafe daemonConnectionChanged($0, $1, $2, $3) },
            context)
        guard unsafe daemon != nil else {
            for lane in lanes.values { _ = lane.queue.stop(by: 0) }
            close(socket.descriptor)
            throw ListenError(address: address, reason: "libmicrohttpd could not start")
        }
    }

    package var connectionCount: Int { connections.count }

    /// Returns the metrics of this daemon and its routes as text.
    package func metricsText(_ others: [MetricFamily]) -> String {
        metrics.text(
            connectionCount: connections.count,
            lanes: lanes.mapValues { ($0.queue.occupiedCount, $0.memory.usedByteCount) }, others: others)
    }

    /// The number of requests that have a slot.
    var queuedCount: Int { lanes.values.reduce(0) { $0 + $1.queue.occupiedCount } }

    /// Closes the connections of clients that are too late, and answers requests that have waited too long. Call it a
    /// few times a second.
    package func closeLateConnections() {
        for lane in lanes.values { lane.queue.dropLate() }
        let late = connections.shutDownLate()
        metrics.countLate(late)
        if log.detail != .none {
            for (phase, count) in late where phase != .idle {
                log.write(.warning, "late", [("phase", .text("\(phase)")), ("connections", .number(count))])
            }
        }
    }

    /// Stops accepting connections, answers the requests that are under way, and ends.
    ///
    /// Connections in the system's backlog are accepted first, and those being made get 50 milliseconds. A connection
    /// without a request gets two seconds, or half of `time` if that is less, in case its client is sending one.
    ///
    /// - Returns: The number of connections that were cut when the time was over.
    package func stop(within time: Duration) -> Int {
        let start = System.monotonicMilliseconds
        let end = start + time.milliseconds
        let idleEnd = start + min(2000, time.milliseconds / 2)
        // While the socket still listens, answers must not say that the connection closes: a client that reconnected
        // would wait for a second.
        http_refuse_new(listeningSocket)
        usleep(UInt32(min(time.milliseconds, 50)) * 1000)
        state.stop()
        if unsafe MHD_quiesce_daemon(daemon) >= 0 { adoptWaitingConnections() }
        close(listeningSocket)
        while connections.count > 0, System.monotonicMilliseconds < end {
            closeLateConnections()
            if System.monotonicMilliseconds >= idleEnd { _ = connections.shutDownLate(alsoWhere: \.isIdle) }
            usleep(20_000)
        }
        let cut = connections.count
        // Stop every queue, even if one hangs.
        let hasEnded = lanes.values.map { $0.queue.stop(by: end) }
        guard hasEnded.allSatisfy(\.self) else {
            // A connection whose job hangs stays suspended, and libmicrohttpd can't stop until it is resumed. The hung
            // job still uses the daemon, so it is never released.
            _ = connections.shutDownLate { _ in true }
            _ = unsafe Unmanaged.passRetained(self)
            return cut
        }
        unsafe MHD_stop_daemon(daemon)
        return cut
    }

    /// Accepts the connections in the system's backlog, which the system would cut when the socket is closed.
    private func adoptWaitingConnections() {
        while unsafe http_adopt(daemon, listeningSocket) != 0 {}
    }
}

// MARK: - Connections

extension HTTPDaemon {
    func connectionStarted(socket: CInt) -> Connection {
        let connection = connections.insert(socket: socket, limit: limits.maximumConnectionCount)
        metrics.countConnection(isExcess: connection.isExcess)
        // An excess connection is only refused, so it gets little time.
        connection.enter(.headers, for: connection.isExcess ? min(limits.headerTime, .seconds(1)) : limits.headerTime)
        return connection
    }
}

// MARK: - One request

extension HTTPDaemon {
    /// Examines the headers of a request.
    func begin(_ connection: Connection, _ request: ReceivedHeaders) -> (Exchange, answersAtOnce: Bool) {
        connection.enter(.body, for: limits.bodyTime)
        func refused(_ route: Int?, _ response: Response) -> Exchange {
            Exchange(
                connection, route: route, Request(method: request.method, path: request.path),
                route.map { lanesOfRoutes[$0].memory } ?? MemoryBudget(limit: 0), refusal: response)
        }
        if connection.isExcess {
            return (refused(nil, Response(HTTPFault.tooManyConnections)), true)
        }
        let framing = request.framing
        // A proxy in front may have found a different end of the body than libmicrohttpd.
        guard request.hasClearTarget else {
            return (refused(nil, Response(HTTPFault.ambiguousRequest)), true)
        }
        guard framing.isClear else {
            return (refused(nil, Response(HTTPFault.ambiguousLength)), true)
        }
        let exchange: Exchange
        switch routes.match(request.method, request.path) {
        case .notFound: exchange = refused(nil, Response(HTTPFault.notFound))
        case .methodNotAllowed(let allowed): exchange = refused(nil, .methodNotAllowed(allowed))
        case .route(let index, let parameters):
            let route = routes.routes[index]
            var whole = Request(method: request.method, path: request.path)
            whole.parameters = parameters
            do throws(FieldFault) {
                for name in route.headers {
                    if let field = try request.field(.header, name) { whole.fields.append(field) }
                }
                for name in route.queryItems {
                    if let field = try request.field(.query, name) { whole.fields.append(field) }
                }
                exchange = Exchange(
                    connection, route: index, whole, lanesOfRoutes[index].memory, refusal: route.refusal(whole))
            } catch {
                let fault = RequestFault.invalid(
                    "'\(error.name)' must be there no more than once, with a value in UTF-8")
                exchange = refused(index, fault.response)
            }
        }
        if let length = framing.length, length > limits.maximumBodyByteCount {
            exchange.refuse(.tooLarge(limit: limits.maximumBodyByteCount))
            return (exchange, true)
        }
        return (exchange, false)
    }

    /// Answers a complete request, or passes it to the queue.
    ///
    /// - Parameter suspend: Suspends the connection, and returns the function that resumes it.
    /// - Returns: The answer, or `nil` if it is made later.
    func finish(_ exchange: Exchange, suspend: () -> @Sendable () -> Void) -> Response? {
        switch exchange.state {
        case .answered(let response): return response
        case .queued, .sent: return nil
        case .receiving: break
        }
        exchange.connection.enterNoPhase()
        exchange.start = System.monotonicNanoseconds
        if let refusal = exchange.refusal { return refusal }
        guard let index = exchange.route else { return Response(HTTPFault.notFound) }
        exchange.request.body.removeByteOrderMark()
        let route = routes.routes[index]
        if route.execution == .immediate, !exchange.hasLargeBody { return route.answer(exchange.request) }
        let queue = lanesOfRoutes[index].queue
        // Parsing a large request takes time. Large requests have few slots, whoever their owner is.
        let parsed = exchange.hasLargeBody ? nil : route.parse(exchange.request)
        let share = WorkQueue.Share(owner: parsed?.owner.map { UTF8Bytes($0) }, isLarge: exchange.hasLargeBody)
        guard queue.takePlace(share) else { return Response(HTTPFault.queueFull) }
        exchange.state = .queued
        let resume = suspend()
        queue.run(share) { [queue] turn in
            let refusal = exchange.refusal(at: turn)
            guard refusal == nil, case .later(let answer)? = parsed?.answer else {
                exchange.answer(refusal ?? parsed?.response() ?? route.answer(exchange.request))
                queue.leavePlace(share)
                resume()
                return .answered
            }
            queue.beginAnswer()
            answer { response in
                exchange.answer(response)
                queue.leavePlaceAndThread(share)
                resume()
                queue.endAnswer()
            }
            return .answersLater
        }
        return nil
    }

    /// Ends a request after its answer was sent or its connection has closed.
    func end(_ exchange: Exchange, isAborted: Bool) {
        exchange.release()
        if exchange.bodyByteCount >= ServiceLimits.hugeBodyByteCount { http_return_freed() }
        if isAborted { metrics.countAborted() }
        exchange.connection.enter(.idle, for: limits.idleTime)
    }

    /// Counts an answer that was passed to libmicrohttpd.
    func record(_ response: Response, of exchange: Exchange) {
        let end = System.monotonicNanoseconds
        let record = AnswerRecord(
            method: AnswerRecord.known(exchange.request.method), status: response.status, code: response.code,
            bodyByteCount: exchange.bodyByteCount,
            nanoseconds: exchange.start == 0 ? 0 : end - exchange.start, requestID: exchange.request.id,
            logged: response.logged)
        metrics.count(record, route: exchange.route)
        log.write(record, route: metrics.path(of: exchange.route))
    }
}
