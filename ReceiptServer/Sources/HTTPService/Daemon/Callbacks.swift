import CMicrohttpd
import StrictText

// The functions that libmicrohttpd calls, and their data about a request. Its pointers are valid only during a call.

/// The first line and the headers of a request.
@safe
struct ReceivedHeaders {
    private let connection: OpaquePointer
    let method: String
    let path: String
    /// Whether the version directly follows the path and query. A NUL in them would cut them off.
    private let hasWholeTarget: Bool
    private let isHTTP10: Bool

    init(
        _ connection: OpaquePointer, _ known: Connection, method: UnsafePointer<CChar>, path: UnsafePointer<CChar>,
        version: UnsafePointer<CChar>
    ) {
        unsafe self.connection = connection
        hasWholeTarget = known.endOfTarget == UInt(bitPattern: version)
        isHTTP10 = unsafe String(cString: version).hasSameBytes(as: "HTTP/1.0")
        unsafe self.method = String(cString: method)
        // Bytes that aren't UTF-8 match no route. Don't repair them into text that does.
        unsafe self.path = String(validatingCString: path) ?? ""
    }

    /// Whether the request has exactly one target and at most one host.
    var hasClearTarget: Bool { unsafe hasWholeTarget && http_framing(connection).host_count <= 1 }

    /// Whether the end of the body is stated in only one way, and the length that a header states.
    ///
    /// HTTP/1.0 has no chunked encoding (RFC 9112, 6.1).
    var framing: (isClear: Bool, length: Int?) {
        let framing = unsafe http_framing(connection)
        let length = unsafe framing.content_length.map { unsafe Int(String(cString: $0)) ?? .max }
        let isClear = unsafe framing.count <= 1 && framing.is_ambiguous == 0 && !(isHTTP10 && framing.is_chunked != 0)
        return (isClear, length)
    }

    /// Returns a header or query item, or `nil` if the request doesn't have it.
    ///
    /// - Throws: ``FieldFault`` if it occurs twice or isn't valid text.
    func field(_ place: Request.Field.Place, _ name: String) throws(FieldFault) -> Request.Field? {
        let found: http_value
        switch place {
        case .header: unsafe found = unsafe http_header(connection, name)
        case .query: unsafe found = unsafe http_query_item(connection, name)
        }
        if unsafe found.count == 0 { return nil }
        guard unsafe found.count == 1, let text = unsafe found.value.flatMap({ unsafe String(validatingCString: $0) }),
            let value = place == .query ? PercentEncoding.decode(text.utf8) : text
        else { throw FieldFault(name: name) }
        return Request.Field(place, name, value)
    }
}

/// A header or query item that is ambiguous or unreadable.
struct FieldFault: Error {
    /// The name as the route spells it.
    let name: String
}

/// A suspended connection that can be resumed.
@safe
private struct SuspendedConnection: @unchecked Sendable {
    private let connection: OpaquePointer

    init(_ connection: OpaquePointer) {
        unsafe self.connection = connection
        unsafe MHD_suspend_connection(connection)
    }

    func resume() { unsafe MHD_resume_connection(connection) }
}

func daemonHandler(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadCount: UnsafeMutablePointer<Int>?,
    _ exchangeContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context = unsafe context, let connection = unsafe connection, let path = unsafe path,
        let method = unsafe method, let version = unsafe version, let uploadCount = unsafe uploadCount,
        let exchangeContext = unsafe exchangeContext
    else { return http_no }
    let daemon = unsafe Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
    guard let known = unsafe exchangeContext.pointee else {
        guard let state = unsafe http_connection_context(connection) else { return http_no }
        let own = unsafe Unmanaged<Connection>.fromOpaque(state).takeUnretainedValue()
        let headers = unsafe ReceivedHeaders(connection, own, method: method, path: path, version: version)
        let (exchange, answersAtOnce) = daemon.begin(own, headers)
        unsafe exchangeContext.pointee = Unmanaged.passRetained(exchange).toOpaque()
        guard answersAtOnce, let refusal = exchange.refusal else { return http_yes }
        // The rest of the request is not read.
        return unsafe daemon.send(refusal, to: connection, exchange, ends: true)
    }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    if unsafe uploadCount.pointee > 0 {
        let bytes = unsafe UnsafeRawBufferPointer(start: upload, count: uploadCount.pointee)
        unsafe exchange.receive(bytes, daemon.limits)
        unsafe uploadCount.pointee = 0
        return http_yes
    }
    let response = daemon.finish(exchange) {
        let suspended = unsafe SuspendedConnection(connection)
        return { suspended.resume() }
    }
    guard let response else { return http_yes }
    return unsafe daemon.send(response, to: connection, exchange, ends: false)
}

extension HTTPDaemon {
    /// - Parameter ends: Whether to close the connection after the answer.
    @unsafe
    fileprivate func send(
        _ response: Response, to connection: OpaquePointer, _ exchange: Exchange, ends: Bool
    ) -> MHD_Result {
        let made = unsafe response.body.withUnsafeBytes { bytes in
            unsafe http_response(bytes.baseAddress, bytes.count)
        }
        guard let made = unsafe made else { return http_no }
        defer { unsafe MHD_destroy_response(made) }
        unsafe MHD_add_response_header(made, "Content-Type", response.contentType)
        for (name, value) in response.headers + routes.headers { unsafe MHD_add_response_header(made, name, value) }
        if ends || state.isStopping { unsafe MHD_add_response_header(made, "Connection", "close") }
        exchange.state = .sent
        exchange.connection.enter(.answer, for: limits.answerTime)
        record(response, of: exchange)
        return unsafe MHD_queue_response(connection, UInt32(response.status), made)
    }
}

/// libmicrohttpd calls this with the path and the query before it takes them apart.
func daemonTargetReceived(
    _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    if let target = unsafe target, let connection = unsafe connection,
        let state = unsafe http_connection_context(connection)
    {
        let known = unsafe Unmanaged<Connection>.fromOpaque(state).takeUnretainedValue()
        known.endOfTarget = unsafe UInt(bitPattern: target + strlen(target) + 1)
    }
    return nil
}

func daemonCompleted(
    _ context: UnsafeMutableRawPointer?, _ exchangeContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let context = unsafe context, let exchangeContext = unsafe exchangeContext,
        let known = unsafe exchangeContext.pointee
    else { return }
    unsafe exchangeContext.pointee = nil
    let daemon = unsafe Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
    daemon.end(
        unsafe Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue(),
        isAborted: http_is_complete(reason) == 0)
}

func daemonConnectionChanged(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
    guard let context = unsafe context, let connection = unsafe connection, let state = unsafe state else { return }
    let daemon = unsafe Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
    if http_has_started(change) != 0 {
        let known = daemon.connectionStarted(socket: unsafe http_socket(connection))
        unsafe state.pointee = Unmanaged.passRetained(known).toOpaque()
    } else if let known = unsafe state.pointee {
        unsafe state.pointee = nil
        // libmicrohttpd closes the socket after this call.
        daemon.connections.remove(unsafe Unmanaged<Connection>.fromOpaque(known).takeRetainedValue())
    }
}
