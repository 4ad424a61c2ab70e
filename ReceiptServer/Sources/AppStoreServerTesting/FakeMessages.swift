import AppStoreReceiptTesting
import StrictText

/// A request to the fake App Store.
public struct FakeRequest: Sendable {
    /// The method, such as `GET`.
    public var method: String
    /// The path without the query.
    public var path: String
    /// The query items, decoded. A name can be repeated.
    public var query: [(name: String, value: String)]
    /// The value of the `Authorization` header, or `nil` if there is none.
    public var authorization: String?
    /// The body.
    public var body: [UInt8]

    /// Creates a request.
    public init(
        _ method: String, _ path: String, query: [(name: String, value: String)] = [], authorization: String? = nil,
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.authorization = authorization
        self.body = body
    }

    func values(_ name: String) -> [String] { query.filter { $0.name.hasSameBytes(as: name) }.map(\.value) }

    func value(_ name: String) -> String? { values(name).first }
}

/// An answer of the fake App Store.
public struct FakeAnswer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The headers, without `Content-Length`.
    public var headers: [(name: String, value: String)] = []
    /// The body.
    public var body: [UInt8]
    /// The way to send it.
    public var delivery = Delivery.whole

    /// The way an answer is sent, which faults change.
    public enum Delivery: Hashable, Sendable {
        /// Immediately and completely.
        case whole
        /// Completely, after a delay.
        case slow(Duration)
        /// Half of the body, then the connection ends.
        case tornBody
        /// Half of the headers, then the connection ends.
        case tornHeader
        /// Completely. The connection ends at the next request.
        case closeOnReuse
    }

    init(status: Int = 200, _ json: JSONValue) {
        self.status = status
        headers = [("Content-Type", "application/json")]
        body = json.bytes
    }

    init(status: Int, contentType: String? = nil, text: String = "") {
        self.status = status
        headers = contentType.map { [("Content-Type", $0)] } ?? []
        body = Array(text.utf8)
    }
}

/// An error that the fake App Store answers with.
struct FakeRefusal: Error {
    let code: Int64
    let message: String

    init(_ code: Int64, _ message: String) {
        self.code = code
        self.message = message
    }

    var answer: FakeAnswer {
        FakeAnswer(
            status: Int(code / 10_000), ["errorCode": .integer(code), "errorMessage": .string(message)])
    }

    /// Whether the error is about an ineligible subscription.
    var isIneligible: Bool { code / 10_000 == 403 }

    static let badRequest = FakeRefusal(4_000_000, "Bad request.")
    static let internalError = FakeRefusal(5_000_000, "An unknown error occurred.")
    static let transactionIDNotFound = FakeRefusal(4_040_010, "Transaction id not found.")
    static let invalidTransactionID = FakeRefusal(4_000_006, "Invalid transaction id.")
}
