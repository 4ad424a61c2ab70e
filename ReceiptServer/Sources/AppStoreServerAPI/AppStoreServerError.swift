public import AppStoreReceipt
import StrictText

/// The reason a question to the App Store has no answer.
///
/// No text of it contains a token, a key, or anything that a server sent.
public struct AppStoreServerError: Error, Hashable, Sendable {
    /// What happened.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The server answered with an HTTP status that is no success, and with a code if its body has one.
        case answer(status: Int, code: AppStoreServerErrorCode?)
        /// There is no whole answer.
        case transport(TransportFault)
        /// The body of a success is not the JSON that Apple documents, from this byte on.
        case unreadable(offset: Int)
        /// The pages of an answer have no end: a page or its token was repeated, or a page that has a next one does not
        /// say which.
        case endlessPages
        /// An argument that Apple would refuse, or that would ask something else.
        case invalidArgument(Argument)
        /// The request breaks a rule that Apple documents. Nothing was sent.
        case brokenRule(RequestRule)
        /// libcrypto could not sign.
        case signingFailed
    }

    /// The arguments that are checked before a request is made.
    @nonexhaustive
    public enum Argument: String, Sendable, CaseIterable {
        /// Only production and the sandbox have servers.
        case environment
        /// It accepts nothing of this app and environment.
        case verifier
        /// Only a server on this machine may replace Apple's.
        case baseURL = "base-url"
        /// The time for an answer.
        case timeLimit = "time-limit"
        /// The largest answer.
        case maximumByteCount = "maximum-byte-count"
        /// A transaction id, an order id, a product id, a locale, or another part of a path: 1 to 128 letters, digits,
        /// `-`, `_` and `.`.
        case id
    }

    /// What a caller is to do about it.
    @nonexhaustive
    public enum Class: String, Sendable, CaseIterable {
        /// Wait, and ask the same again. See ``AppStoreServerError/retryAfter``.
        ///
        /// After a call that changes something, the change may have been made: what the call says about a lost answer
        /// counts.
        case retry
        /// Begin with the first page again.
        case restartPaging = "restart-paging"
        /// Ask for a shorter time. Older notifications are lost.
        case shortenWindow = "shorten-window"
        /// This is the answer to this question.
        case final
        /// Key, issuer, app or clock are wrong: every question will fail. Stop, and tell an operator.
        case configuration
        /// The question is wrong. Do not repeat it, and tell a developer.
        case fault
    }

    /// What happened.
    public let reason: Reason
    /// How long the server asked to wait, between a second and a day; `nil` if it did not ask.
    public let retryAfter: Duration?
    /// The time on the server's clock; `nil` if it did not say. With a status of 401, compare it with the own clock.
    public let serverDate: Instant?

    init(_ reason: Reason, retryAfter: Duration? = nil, serverDate: Instant? = nil) {
        self.reason = reason
        self.retryAfter = retryAfter
        self.serverDate = serverDate
    }

    /// The HTTP status; `nil` if there was no whole answer, or a success that cannot be read.
    public var status: Int? {
        if case .answer(let status, _) = reason { status } else { nil }
    }

    /// Apple's code; `nil` if there is none.
    public var code: AppStoreServerErrorCode? {
        if case .answer(_, let code) = reason { code } else { nil }
    }

    /// What a caller is to do about it.
    public var `class`: Class {
        switch reason {
        case .answer(let status, let code): code?.knownClass ?? Self.class(ofStatus: status, hasCode: code != nil)
        case .transport(let fault): fault == .unavailable ? .configuration : .retry
        // A proxy may have torn it.
        case .unreadable: .retry
        case .endlessPages: .restartPaging
        case .invalidArgument(.id), .brokenRule: .fault
        case .invalidArgument, .signingFailed: .configuration
        }
    }

    /// For codes that are unknown or missing.
    ///
    /// - Parameter hasCode: Whether the answer is Apple's. A 404 of a proxy in front says nothing about a transaction.
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
