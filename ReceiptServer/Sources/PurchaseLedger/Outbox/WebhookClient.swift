#if Webhook
import AppStoreReceipt
import CLibcurl

/// Sends events in sequence, reusing one connection while it lasts.
@safe
final class WebhookClient {
    /// The maximum time for one delivery, in seconds.
    static let timeLimit = 5

    private let webhook: Webhook
    private let date: @Sendable () -> Instant
    private var handle: UnsafeMutableRawPointer?
    /// Whether the last request got a complete answer.
    private var isAnswered = true

    /// - Parameter date: Returns the date of a signature.
    init(_ webhook: Webhook, _ date: @escaping @Sendable () -> Instant) {
        self.webhook = webhook
        self.date = date
        _ = Self.isInitialized
        unsafe handle = curl_easy_init()
    }

    deinit { unsafe curl_easy_cleanup(handle) }

    private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Sends one event.
    ///
    /// - Returns: The failure, or `nil` if the receiver answered with a status from 200 to 299.
    func send(_ event: String, id: String) -> String? {
        // Data that arrived before a request can't be its answer.
        if let handle = unsafe handle, unsafe !isAnswered || ledger_curl_has_unread(handle) {
            unsafe curl_easy_cleanup(handle)
            unsafe self.handle = curl_easy_init()
        }
        guard let handle = unsafe handle else { return "libcurl is not available" }
        isAnswered = false
        unsafe curl_easy_reset(handle)
        let body = Array(event.utf8)
        let signature: String
        do throws(LedgerError) {
            signature = try webhook.signature(of: body, atSecond: date().secondsSince1970)
        } catch {
            return "\(error)"
        }
        var headers: UnsafeMutablePointer<curl_slist>?
        for header in ["Content-Type: application/json", "Expect:", "Ledger-Event-Id: \(id)", signature] {
            unsafe headers = curl_slist_append(headers, header)
        }
        defer { unsafe curl_slist_free_all(headers) }
        var received = 0
        var answerHeaders = ledger_curl_headers()
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_POST, 1), (CURLOPT_NOSIGNAL, 1), (CURLOPT_TIMEOUT, Self.timeLimit), (CURLOPT_CONNECTTIMEOUT, 5),
            // A redirect could lead anywhere, even away from HTTPS.
            (CURLOPT_FOLLOWLOCATION, 0),
        ]
        let texts: [(CURLoption, String)] = [
            (CURLOPT_URL, webhook.url), (CURLOPT_PROTOCOLS_STR, webhook.isLoopback ? "http,https" : "https"),
            (CURLOPT_PROXY, ""), (CURLOPT_USERAGENT, "receipt-server"),
        ]
        var isSet = numbers.allSatisfy { unsafe ledger_curl_set_number(handle, $0, $1) == CURLE_OK }
        isSet = isSet && texts.allSatisfy { unsafe ledger_curl_set_text(handle, $0, $1) == CURLE_OK }
        isSet = unsafe isSet && ledger_curl_set_headers(handle, headers) == CURLE_OK
        isSet = unsafe isSet && ledger_curl_set_body(handle, body, body.count) == CURLE_OK
        guard isSet else { return "libcurl lacks an option" }
        let code = unsafe withUnsafeMutablePointer(to: &received) { received in
            unsafe withUnsafeMutablePointer(to: &answerHeaders) { headers in
                unsafe ledger_curl_ignore_answer(handle, received)
                unsafe ledger_curl_watch_headers(handle, headers)
                return unsafe curl_easy_perform(handle)
            }
        }
        guard code == CURLE_OK else { return unsafe String(cString: curl_easy_strerror(code)) }
        guard answerHeaders.are_complete != 0 else { return "the answer ends within its headers" }
        isAnswered = true
        let status = unsafe ledger_curl_status(handle)
        return 200..<300 ~= status ? nil : "status \(status)"
    }
}
#endif
