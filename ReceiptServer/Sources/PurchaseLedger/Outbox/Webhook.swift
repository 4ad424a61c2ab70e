#if Webhook
import CLibcurl
import LibcryptoHandles
import StrictText

/// The receiver of events in the backend.
public struct Webhook: Sendable {
    /// The URL.
    public let url: String
    /// The scheme, host and port of the URL, such as `https://example.com:8443`. The rest of a URL can contain a
    /// password or a token.
    public let origin: String
    let secret: [UInt8]
    let isLoopback: Bool

    /// Creates a webhook.
    ///
    /// - Parameters:
    ///   - url: An `https:` URL. An `http:` URL must name this machine: `localhost`, `127.0.0.1` or `[::1]`.
    ///   - secret: The key of the signatures, which the receiver also has, of at least 16 bytes.
    /// - Throws: `invalid-location` if the URL isn't allowed, and `invalid-text` if the secret is too short.
    public init(url: String, secret: [UInt8]) throws(LedgerError) {
        guard secret.count >= 16 else {
            throw LedgerError(.invalidText, "the webhook's secret must have at least 16 bytes")
        }
        // Use the same parser as for connecting.
        guard !url.utf8.contains(0), let (scheme, host, port) = Self.parts(of: url) else {
            throw LedgerError(.invalidLocation, "the webhook is no URL")
        }
        isLoopback = ["localhost", "127.0.0.1", "[::1]"].contains { $0.hasSameBytes(as: host) }
        guard scheme.hasSameBytes(as: "https") || (scheme.hasSameBytes(as: "http") && isLoopback) else {
            throw LedgerError(.invalidLocation, "the webhook must be an https: URL, or an http: URL of this machine")
        }
        self.url = url
        origin = "\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "")
        self.secret = secret
    }

    private static func parts(of url: String) -> (scheme: String, host: String, port: String?)? {
        guard let handle = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(handle) }
        guard unsafe curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK else { return nil }
        func part(_ part: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text = unsafe text else { return nil }
            defer { unsafe curl_free(text) }
            return unsafe String(cString: text)
        }
        guard let scheme = part(CURLUPART_SCHEME), let host = part(CURLUPART_HOST) else { return nil }
        return (scheme, host, part(CURLUPART_PORT))
    }

    /// Returns the header that authenticates the sender and the time of an event to the receiver: the HMAC-SHA256 of
    /// `TIME.BODY`, and the time in seconds since 1970.
    func signature(of body: [UInt8], atSecond time: Int64) throws(LedgerError) -> String {
        let signed = Array("\(time).".utf8) + body
        let code = try LedgerError.onHost { () throws(LibcryptoError) in
            try DigestAlgorithm.sha256.authenticationCode(of: signed.span, key: secret.span).hexadecimal
        }
        return "Ledger-Signature: t=\(time),v1=\(code)"
    }
}

extension EventDelivery {
    /// Creates a delivery to a webhook. To start it, call `run(onError:)`.
    ///
    /// - Parameters:
    ///   - ledger: The ledger.
    ///   - webhook: The receiver, or `nil` for none. Events then wait in the outbox.
    ///   - maximumAttempts: The number of failures after which an event becomes a dead letter. The default, 80, takes
    ///     three days.
    public convenience init(_ ledger: PurchaseLedger, to webhook: Webhook?, maximumAttempts: Int = 80) {
        self.init(ledger, to: webhook, maximumAttempts: maximumAttempts, lease: PurchaseLedger.eventLease)
    }

    /// - Parameter lease: The time after which another server delivers the events of a server that crashed.
    convenience init(_ ledger: PurchaseLedger, to webhook: Webhook?, maximumAttempts: Int, lease: Duration) {
        guard let webhook else {
            self.init(ledger, maximumAttempts: maximumAttempts, lease: lease, nil)
            return
        }
        let date = ledger.policy.surroundings.date
        self.init(ledger, maximumAttempts: maximumAttempts, lease: lease) {
            // A connection to the webhook is kept as long as the receiver allows.
            let client = WebhookClient(webhook, date)
            return { client.send($0.event, id: $0.id) }
        }
    }
}
#endif
