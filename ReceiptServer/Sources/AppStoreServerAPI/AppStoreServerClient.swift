public import AppStoreReceipt
public import AppStoreSigning
import StrictText

/// A client of the App Store Server API for one app in one environment.
///
/// ```swift
/// let key = try InAppPurchaseKey(file: "/etc/example/SubscriptionKey_2X9R4HXF34.p8")
/// let signer = try AppStoreSigner(
///     keyID: "2X9R4HXF34", issuerID: "57246542-96fe-1a63-e053-0824d011072a", bundleID: "com.example.app", key: key)
/// let client = try AppStoreServerClient(signer, environment: .production, verifier: verifier)
/// let answer = try client.transactionInfo(of: "2000000123456789")
/// ```
///
/// Signed items are verified with the verifier and its policy. Unsigned values are in types whose names begin with
/// `Unsigned`, and they grant nothing.
///
/// Each call makes one request. The client never retries or makes requests on its own, follows no redirects, and uses
/// only HTTPS. It is thread-safe. A call blocks its thread until the answer arrives, usually for 0.1 seconds. In
/// asynchronous code, the calls with `await` block a thread of the client instead.
///
/// Source: Apple, "App Store Server API".
public final class AppStoreServerClient: Sendable {
    /// The environment whose server receives the requests.
    public let environment: AppStoreEnvironment
    package let signer: AppStoreSigner
    let verifier: SignedItemVerifier
    /// The verifier for evidence from other sources, with the same rules as for answers.
    package var evidenceVerifier: AppStoreVerifier { verifier.verifier }
    private let options: Options
    private let baseURL: String
    private let transport: HTTPTransport

    /// Limits, and the dependencies that tests replace.
    public struct Options: Sendable {
        /// The maximum time from the request to the end of the answer.
        public var timeLimit = Duration.seconds(30)
        /// The maximum size of an answer, in bytes.
        public var maximumByteCount = 8 << 20
        /// Returns the current time, used to date tokens.
        public var clock: @Sendable () -> Instant = { .now }
        /// The server on this machine to use instead of Apple's, such as `http://127.0.0.1:8088`, or `nil` for Apple's.
        public var loopbackURL: String?
        /// Sends requests instead of libcurl, or `nil` to use libcurl.
        package var transport: (@Sendable (HTTPTransport.Request) throws(TransportFault) -> HTTPTransport.Answer)?

        /// Creates the default options.
        public init() {}
    }

    /// Creates a client. It makes no request.
    ///
    /// - Parameters:
    ///   - signer: The signer of the tokens, for one app.
    ///   - environment: Production or the sandbox. The same key works for both.
    ///   - verifier: The verifier of signed items in answers. It must accept the app and the environment.
    ///   - options: Limits, and the dependencies that tests replace.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/invalidArgument(_:)``.
    public init(
        _ signer: AppStoreSigner, environment: AppStoreEnvironment, verifier: AppStoreVerifier,
        options: Options = Options()
    ) throws(AppStoreServerError) {
        let host: String
        switch environment {
        case .production: host = "https://api.storekit.apple.com"
        case .sandbox: host = "https://api.storekit-sandbox.apple.com"
        default: throw AppStoreServerError(.invalidArgument(.environment))
        }
        let acceptsApp = verifier.policy.bundleIDs?.contains { $0.hasSameBytes(as: signer.bundleID) } ?? true
        guard acceptsApp, verifier.policy.environments?.contains(environment) ?? true else {
            throw AppStoreServerError(.invalidArgument(.verifier))
        }
        guard .milliseconds(1)...Duration.seconds(3600) ~= options.timeLimit else {
            throw AppStoreServerError(.invalidArgument(.timeLimit))
        }
        guard 1...(1 << 30) ~= options.maximumByteCount else {
            throw AppStoreServerError(.invalidArgument(.maximumByteCount))
        }
        if let url = options.loopbackURL, !Self.isLoopback(url) {
            throw AppStoreServerError(.invalidArgument(.baseURL))
        }
        self.environment = environment
        self.signer = signer
        self.verifier = SignedItemVerifier(
            verifier: verifier, bundleID: signer.bundleID, environment: environment)
        self.options = options
        baseURL = options.loopbackURL ?? host
        transport = HTTPTransport(
            timeLimit: options.timeLimit, maximumByteCount: options.maximumByteCount,
            isLoopback: options.loopbackURL != nil)
    }

    /// Returns whether a text consists of only a scheme, a name of this machine, and a port.
    private static func isLoopback(_ url: String) -> Bool {
        let starts = ["http://", "https://"].flatMap { scheme in
            ["127.0.0.1", "localhost", "[::1]"].map { scheme + $0 + ":" }
        }
        return starts.contains { start in
            guard url.utf8.starts(with: start.utf8) else { return false }
            let port = url.utf8.dropFirst(start.utf8.count)
            return 1...5 ~= port.count && port.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        }
    }

    // MARK: Requests

    /// A request without its token.
    struct Inquiry {
        var path: [String]
        var query: [(name: String, value: String)] = []
        var method = HTTPTransport.Method.get
        var body: Body?
    }

    /// The body of a request.
    struct Body {
        var bytes: [UInt8]
        var type: String?

        init(json: [UInt8]) {
            bytes = json
            type = "application/json"
        }

        /// - Parameter type: The media type, or `nil` for an empty body.
        init(bytes: [UInt8], type: String? = nil) {
            self.bytes = bytes
            self.type = type
        }
    }

    /// Sends a request, and reads the body of a successful answer.
    func ask<Answer>(
        _ inquiry: Inquiry, _ read: ([UInt8]) throws(JSONError) -> Answer
    ) throws(AppStoreServerError) -> Answer {
        let answer = try success(of: inquiry)
        do throws(JSONError) {
            return try read(answer.body)
        } catch {
            throw AppStoreServerError(.unreadable(offset: error.offset), serverDate: answer.date)
        }
    }

    /// Sends a request whose successful answer has no body. If it has one, ignores it.
    func send(
        _ method: HTTPTransport.Method, _ path: [String], query: [(name: String, value: String)] = [],
        _ body: Body? = nil
    ) throws(AppStoreServerError) {
        _ = try success(of: Inquiry(path: path, query: query, method: method, body: body))
    }

    private func success(of inquiry: Inquiry) throws(AppStoreServerError) -> HTTPTransport.Answer {
        let answer = try send(inquiry)
        guard 200..<300 ~= answer.status else { throw Self.error(answer, at: options.clock()) }
        return answer
    }

    /// Returns the error that an answer represents.
    package static func error(_ answer: HTTPTransport.Answer, at now: Instant) -> AppStoreServerError {
        AppStoreServerError(
            .answer(status: answer.status, code: ErrorBody(answer.body).code),
            retryAfter: answer.retryAfter.flatMap { RetryAfter.wait($0, at: now) }, serverDate: answer.date)
    }

    private func send(_ inquiry: Inquiry) throws(AppStoreServerError) -> HTTPTransport.Answer {
        // Apple: "Generate a new token for each request", or for a few of them.
        var headers = ["Authorization: Bearer " + (try signer.token(at: options.clock()))]
        headers.append("Accept: application/json")
        if let type = inquiry.body?.type { headers.append("Content-Type: \(type)") }
        do throws(TransportFault) {
            let request = HTTPTransport.Request(
                url: baseURL + inquiry.target, headers: headers, method: inquiry.method, body: inquiry.body?.bytes)
            if let send = options.transport { return try send(request) }
            return try transport.send(request)
        } catch {
            throw AppStoreServerError(.transport(error))
        }
    }

    /// Checks that an id is a single path segment.
    static func checkID(_ id: String) throws(AppStoreServerError) {
        let isID = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isID, 1...128 ~= id.utf8.count, id.utf8.contains(where: { $0 != UInt8(ascii: ".") }) else {
            throw AppStoreServerError(.invalidArgument(.id))
        }
    }
}

extension AppStoreServerClient.Inquiry {
    /// The path and query.
    fileprivate var target: String {
        let path = "/" + path.joined(separator: "/")
        guard !query.isEmpty else { return path }
        return path + "?" + query.map { $0.name + "=" + Self.escaped($0.value) }.joined(separator: "&")
    }

    /// Escapes all but unreserved characters (RFC 3986, 2.3).
    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
