import CMicrohttpd

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A listener that answers with the routes of a table, on threads of GNU libmicrohttpd.
///
/// Those threads use it until ``stop(within:)`` has returned. Do not release it before.
@safe
package final class HTTPDaemon: @unchecked Sendable {
    let routes: RouteTable
    let limits: ServiceLimits
    let log: ServiceLog
    package let metrics: ServiceMetrics
    let connections = ConnectionTable()
    let queue: WorkQueue
    let memory: MemoryBudget
    let state: ServiceState
    /// The address on which it listens.
    package let address: ListenAddress
    private let listeningSocket: CInt
    /// Only the thread that starts and stops the daemon uses it.
    private var daemon: OpaquePointer?

    /// Starts to listen.
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
        memory = MemoryBudget(limit: limits.memoryByteCount)
        queue = WorkQueue(capacity: limits.queueCapacity, threadCount: limits.threadCount)
        guard queue.hasThreads else {
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
            { unsafe daemonHandler($0, $1, $2, $3, $5, $6, $7) },
            { unsafe daemonCompleted($0, $2, $3) },
            { unsafe daemonConnectionChanged($0, $1, $2, $3) },
            context)
        guard unsafe daemon != nil else {
            queue.stop()
            close(socket.descriptor)
            throw ListenError(address: address, reason: "libmicrohttpd could not start")
        }
    }

    package var connectionCount: Int { connections.count }

    /// The metrics of this daemon and of its routes as text.
    package func metricsText(_ others: [MetricFamily]) -> String {
        metrics.text(
            connectionCount: connections.count, queuedCount: queue.occupiedCount, memoryByteCount: memory.usedByteCount,
            others: others)
    }

    /// Ends the connections of clients that are too late. Call it a few times a second.
    package func closeLateConnections() {
        let late = connections.shutDownLate()
        metrics.countLate(late)
        if log.detail != .none {
            for (phase, count) in late where phase != .idle {
                log.write(.warning, "late", [("phase", .text("\(phase)")), ("connections", .number(count))])
            }
        }
    }

    /// Accepts no more connections, answers what has been and is being sent, and ends.
    ///
    /// Connections that wait in the system are accepted first, and those that are being made get 50 milliseconds. One without a request gets two seconds, or half of the time, for the one that its client may just be sending.
    ///
    /// - Returns: The number of connections that were cut when the time was over.
    package func stop(within time: Duration) -> Int {
        let start = System.monotonicMilliseconds
        let end = start + time.milliseconds
        let idleEnd = start + min(2000, time.milliseconds / 2)
        // Until the socket is closed, no answer says that its connection ends: a client that connects anew would wait for a second.
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
        // Suspended connections go on when their job is done, and libmicrohttpd refuses to stop before.
        queue.stop()
        unsafe MHD_stop_daemon(daemon)
        return cut
    }

    /// Accepts what has connected and waits in the system. The system would cut it when the socket is closed.
    private func adoptWaitingConnections() {
        while unsafe http_adopt(daemon, listeningSocket) != 0 {}
    }
}

// MARK: - Connections

extension HTTPDaemon {
    func connectionStarted(socket: CInt) -> Connection {
        let connection = connections.insert(socket: socket, limit: limits.maximumConnectionCount)
        metrics.countConnection(isExcess: connection.isExcess)
        // One that will be told only that there are too many has no time to waste.
        connection.enter(.headers, for: connection.isExcess ? min(limits.headerTime, .seconds(1)) : limits.headerTime)
        return connection
    }
}

// MARK: - One request

extension HTTPDaemon {
    /// Looks at the headers of a request.
    func begin(_ connection: Connection, _ request: ReceivedHeaders) -> (Exchange, answersAtOnce: Bool) {
        connection.enter(.body, for: limits.bodyTime)
        func refused(_ route: Int?, _ response: Response) -> Exchange {
            Exchange(connection, route: route, Request(method: request.method, path: request.path), refusal: response)
        }
        if connection.isExcess {
            return (refused(nil, .busy("too-many-connections", "too many connections are open; try again later")), true)
        }
        let framing = request.framing
        // A proxy in front may have understood another end of the body than libmicrohttpd.
        guard framing.isClear else {
            let response = Response(
                status: 400, errorCode: "ambiguous-length",
                message: "the headers do not say clearly where the body ends")
            return (refused(nil, response), true)
        }
        let exchange: Exchange
        switch routes.match(request.method, request.path) {
        case .notFound: exchange = refused(nil, .notFound)
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
                exchange = Exchange(connection, route: index, whole)
            } catch {
                exchange = refused(
                    index,
                    Response(
                        status: 400, errorCode: "invalid-request",
                        message: "'\(error.name)' must be there no more than once, with a value in UTF-8"))
            }
        }
        if let length = framing.length, length > limits.maximumBodyByteCount {
            exchange.refuse(.tooLarge(limit: limits.maximumBodyByteCount), memory)
            return (exchange, true)
        }
        return (exchange, false)
    }

    /// Answers a request that is complete, or gives it to the queue.
    ///
    /// - Parameter resume: Continues the connection when the queue has made the answer.
    /// - Returns: The answer; `nil` if the queue makes it.
    func finish(_ exchange: Exchange, suspend: () -> @Sendable () -> Void) -> Response? {
        switch exchange.state {
        case .answered(let response): return response
        case .queued, .sent: return nil
        case .receiving: break
        }
        exchange.connection.enterNoPhase()
        exchange.start = System.monotonicNanoseconds
        if let refusal = exchange.refusal { return refusal }
        guard let index = exchange.route else { return .notFound }
        let route = routes.routes[index]
        if route.execution == .immediate, !exchange.hasLargeBody { return route.handler(exchange.request) }
        guard queue.takePlace() else { return .queueFull }
        exchange.state = .queued
        let resume = suspend()
        queue.run { [queue, memory] in
            exchange.answer(route.handler(exchange.request), memory)
            queue.leavePlace()
            resume()
        }
        return nil
    }

    /// Ends a request whose answer was sent, or whose connection has ended.
    func end(_ exchange: Exchange, isAborted: Bool) {
        exchange.release(memory)
        if isAborted { metrics.countAborted() }
        exchange.connection.enter(.idle, for: limits.idleTime)
    }

    /// Counts an answer that the daemon has.
    func record(_ response: Response, of exchange: Exchange) {
        let end = System.monotonicNanoseconds
        let record = AnswerRecord(
            method: AnswerRecord.known(exchange.request.method), status: response.status, code: response.code,
            bodyByteCount: exchange.bodyByteCount,
            nanoseconds: exchange.start == 0 ? 0 : end - exchange.start)
        metrics.count(record, route: exchange.route)
        log.write(record, route: metrics.path(of: exchange.route))
    }
}
