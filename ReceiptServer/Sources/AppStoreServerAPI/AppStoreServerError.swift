public import AppStoreReceipt
import StrictText

/// The reason a request to the App Store failed.
///
/// Its text never contains a token, a key, or anything that a server sent.
public struct AppStoreServerError: Error, Hashable, Sendable {
    /// The kind of failure.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The server answered with an HTTP status other than success, and with a code if its body has one.
        case answer(status: Int, code: AppStoreServerErrorCode?)
        /// There is no complete answer.
        case transport(TransportFault)
        /// The body of a successful answer isn't the JSON that Apple documents. The offset is the first wrong byte.
        case unreadable(offset: Int)
        /// The pages have no end: a page or its token was repeated, or a page announces a next page without identifying
        /// it.
        case endlessPages
        /// An argument would be refused by Apple, or would change the meaning of the request.
        case invalidArgument(Argument)
        /// The request breaks a rule that Apple documents. Nothing was sent.
        case brokenRule(RequestRule)
        /// libcrypto couldn't sign the token.
        case signingFailed
    }

    /// The arguments that are checked before a request is made.
    @nonexhaustive
    public enum Argument: String, Sendable, CaseIterable {
        /// Only production and the sandbox have servers.
        case environment
        /// The verifier doesn't accept this app and environment.
        case verifier
        /// Only a server on this machine can replace Apple's.
        case baseURL = "base-url"
        /// The maximum time for an answer.
        case timeLimit = "time-limit"
        /// The maximum size of an answer.
        case maximumByteCount = "maximum-byte-count"
        /// A transaction id, order id, product id, locale or other path segment must have 1 to 128 letters, digits,
        /// `-`, `_` and `.`.
        case id
    }

    /// The recommended reaction to an error.
    @nonexhaustive
    public enum Class: String, Sendable, CaseIterable {
        /// Wait, and send the same request again. See ``AppStoreServerError/retryAfter``.
        ///
        /// If the call changes something, the change may have been made. Follow the call's advice about a lost answer.
        case retry
        /// Start over with the first page.
        case restartPaging = "restart-paging"
        /// Request a shorter period. Older notifications are lost.
        case shortenWindow = "shorten-window"
        /// This is the final answer to the request.
        case final
        /// The key, issuer, app or clock is wrong, so every request will fail. Stop, and alert an operator.
        case configuration
        /// The request is wrong. Don't repeat it, and alert a developer.
        case fault
    }

    /// The kind of failure.
    public let reason: Reason
    /// The time that the server asked to wait, between a second and a day, or `nil` if it didn't ask.
    public let retryAfter: Duration?
    /// The server's time, or `nil` if the answer has none. With a status of 401, compare it with your own clock.
    public let serverDate: Instant?

    init(_ reason: Reason, retryAfter: Duration? = nil, serverDate: Instant? = nil) {
        self.reason = reason
        self.retryAfter = retryAfter
        self.serverDate = serverDate
    }

    /// The HTTP status, or `nil` if there was no complete answer, or an unreadable successful one.
    public var status: Int? {
        if case .answer(let status, _) = reason { status } else { nil }
    }

    /// Apple's code, or `nil` if there is none.
    public var code: AppStoreServerErrorCode? {
        if case .answer(_, let code) = reason { code } else { nil }
    }

    /// The recommended reaction.
    public var `class`: Class {
        switch reason {
        case .answer(let status, let code): code?.knownClass ?? Self.class(ofStatus: status, hasCode: code != nil)
        case .transport(let fault): fault == .unavailable ? .configuration : .retry
        // A proxy may have cut the answer off.
        case .unreadable: .retry
        case .endlessPages: .restartPaging
        case .invalidArgument(.id), .brokenRule: .fault
        case .invalidArgument, .signingFailed: .configuration
        }
    }

    /// Returns the class for an unknown or missing code.
    ///
    /// - Parameter hasCode: Whether the answer is Apple's. A 404 from a proxy says nothing about a transaction.
    private static func `class`(ofStatus status: Int, hasCode: Bool) -> Class {
        switch status {
        case 401: .configuration
        case 404 where hasCode: .final
        case 408, 429: .retry
        case 400..<500: .fault
        default: .retry
        }
    }
}

extension AppStoreServerError: CustomStringConvertible {
    public var description: String {
        switch reason {
        case .answer(let status, let code):
            guard let code else { return "the App Store answered with the HTTP status \(status)" }
            let name = code.name.map { " (\($0))" } ?? ""
            return "the App Store answered with the HTTP status \(status) and the error \(code.rawValue)\(name)"
        case .transport(let fault): return fault.description
        case .unreadable(let offset): return "the answer is not the documented JSON, at byte \(offset)"
        case .endlessPages: return "the pages of the answer have no end"
        case .invalidArgument(let argument): return "the argument '\(argument.rawValue)' is not valid"
        case .brokenRule(let rule): return "the request was not sent: \(rule.text)"
        case .signingFailed: return "libcrypto could not sign the token"
        }
    }
}
