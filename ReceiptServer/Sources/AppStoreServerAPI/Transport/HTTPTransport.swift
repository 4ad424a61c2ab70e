package import AppStoreReceipt
import CLibcurl
import StrictText
import Synchronization

/// Sends HTTP requests with libcurl, and reuses its connections. It is thread-safe. Each request blocks its thread
/// until the answer arrives.
///
/// It follows no redirects, because they can lead anywhere, and ignores proxies in the environment. `http:` is only for
/// this machine.
package final class HTTPTransport: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package struct Request: Sendable {
        package var url: String
        /// Header lines, such as `Accept: application/json`.
        package var headers: [String]
        package var method: Method
        package var body: [UInt8]?

        package init(url: String, headers: [String] = [], method: Method = .get, body: [UInt8]? = nil) {
            self.url = url
            self.headers = headers
            self.method = method
            self.body = body
        }
    }

    package struct Answer: Sendable {
        package var status: Int
        package var body: [UInt8]
        package var retryAfter: String?
        package var date: Instant?

        package init(status: Int, body: [UInt8], retryAfter: String? = nil, date: Instant? = nil) {
            self.status = status
            self.body = body
            self.retryAfter = retryAfter
            self.date = date
        }
    }

    private let timeLimit: Duration
    private let maximumByteCount: Int
    private let isLoopback: Bool
    /// Unused handles, with their connections.
    private let idle = Mutex<[Handle]>([])

    /// - Parameter isLoopback: Whether `http:` is allowed.
    package init(timeLimit: Duration, maximumByteCount: Int, isLoopback: Bool) {
        self.timeLimit = timeLimit
        self.maximumByteCount = maximumByteCount
        self.isLoopback = isLoopback
    }

    /// The maximum number of unused connections to keep.
    private static let maximumIdleCount = 4

    /// Returns the date in a header, or `nil` if it is no date or the year has over four digits (RFC 9110, 5.6.7).
    package static func date(_ text: String) -> Instant? {
        let seconds = Int64(unsafe curl_getdate(text, nil))
        return 0..<253_402_300_800 ~= seconds ? Instant(millisecondsSince1970: seconds * 1000) : nil
    }

    package func send(_ request: Request) throws(TransportFault) -> Answer {
        let handle: Handle
        // Bytes that arrived before the request can't be its answer.
        if let kept = idle.withLock({ $0.popLast() }), !kept.hasUnread { handle = kept } else { handle = try Handle() }
        let answer = try handle.send(
            request, timeLimit: timeLimit, maximumByteCount: maximumByteCount, isLoopback: isLoopback)
        idle.withLock { if $0.count < Self.maximumIdleCount { $0.append(handle) } }
        return answer
    }
}

/// A libcurl handle, which only one thread at a time uses.
@safe
private final class Handle: @unchecked Sendable {
    private let handle: UnsafeMutableRawPointer

    private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    private static let maximumHeaderByteCount = 256 << 10

    init() throws(TransportFault) {
        guard Self.isInitialized, let handle = unsafe curl_easy_init() else { throw .unavailable }
        unsafe self.handle = handle
    }

    deinit { unsafe curl_easy_cleanup(handle) }

    var hasUnread: Bool { unsafe ledger_curl_has_unread(handle) }

    func send(
        _ request: HTTPTransport.Request, timeLimit: Duration, maximumByteCount: Int, isLoopback: Bool
    ) throws(TransportFault) -> HTTPTransport.Answer {
        unsafe curl_easy_reset(handle)
        var headers: UnsafeMutablePointer<curl_slist>?
        for header in request.headers + ["Expect:"] { unsafe headers = curl_slist_append(headers, header) }
        defer { unsafe curl_slist_free_all(headers) }
        let milliseconds = Int(timeLimit / .milliseconds(1))
        var numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_PATH_AS_IS, 1),
            (CURLOPT_TIMEOUT_MS, milliseconds), (CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
        ]
        var texts: [(CURLoption, String)] = [
            (CURLOPT_URL, request.url), (CURLOPT_PROTOCOLS_STR, isLoopback ? "http,https" : "https"),
            (CURLOPT_PROXY, ""), (CURLOPT_USERAGENT, "swift-app-store-receipt"),
        ]
        // On a reused connection that ends without an answer, libcurl would repeat the request.
        if request.method != .get { numbers.append((CURLOPT_FRESH_CONNECT, 1)) }
        // Given a body, libcurl would use POST.
        if request.method == .put || request.method == .delete {
            texts.append((CURLOPT_CUSTOMREQUEST, request.method.rawValue))
        }
        var isSet = numbers.allSatisfy { unsafe ledger_curl_set_number(handle, $0, $1) == CURLE_OK }
        isSet = isSet && texts.allSatisfy { unsafe ledger_curl_set_text(handle, $0, $1) == CURLE_OK }
        isSet = unsafe isSet && ledger_curl_set_headers(handle, headers) == CURLE_OK
        if let body = request.body {
            isSet = unsafe isSet && ledger_curl_set_number(handle, CURLOPT_POST, 1) == CURLE_OK
            isSet = unsafe isSet && ledger_curl_set_body(handle, body, body.count) == CURLE_OK
        }
        guard isSet else { throw .unavailable }
        var answer = unsafe ledger_curl_answer()
        unsafe answer.limit = maximumByteCount
        unsafe answer.header_limit = Self.maximumHeaderByteCount
        let code = unsafe withUnsafeMutablePointer(to: &answer) { answer in
            unsafe ledger_curl_collect_answer(handle, answer)
            return unsafe curl_easy_perform(handle)
        }
        defer { unsafe free(answer.bytes) }
        guard code == CURLE_OK else {
            throw unsafe answer.is_too_large != 0
                ? .tooLarge : TransportFault(code, wasSent: ledger_curl_was_sent(handle))
        }
        guard unsafe answer.headers.are_complete != 0 else { throw .torn }
        return HTTPTransport.Answer(
            status: unsafe ledger_curl_status(handle),
            body: unsafe Array(UnsafeBufferPointer(start: answer.bytes, count: answer.count)),
            retryAfter: header("Retry-After"),
            date: header("Date").flatMap(HTTPTransport.date))
    }

    /// Returns a header of the last answer, or `nil` if it is missing, repeated or not UTF-8.
    private func header(_ name: String) -> String? {
        var found: UnsafeMutablePointer<curl_header>?
        guard unsafe curl_easy_header(handle, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK,
            let found = unsafe found, unsafe found.pointee.amount == 1
        else { return nil }
        return unsafe String(validatingCString: found.pointee.value)
    }
}

extension TransportFault {
    fileprivate init(_ code: CURLcode, wasSent: Bool) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: self = .unknownHost
        case CURLE_COULDNT_CONNECT: self = .noConnection
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_INITFAILED:
            self = .tls
        case CURLE_OPERATION_TIMEDOUT: self = .timeout
        // These codes can also be about the answer: libcurl takes an answer that doesn't begin with HTTP/ for HTTP/0.9,
        // and a line of more than 100 KiB as running out of memory.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_FAILED_INIT, CURLE_OUT_OF_MEMORY:
            self = wasSent ? .torn : .unavailable
        default: self = .torn
        }
    }
}
