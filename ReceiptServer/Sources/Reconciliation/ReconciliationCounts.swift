import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger
import StrictText

/// The counts since a reconciler was created.
package struct ReconciliationCounts: Sendable {
    package struct Request: Hashable, Sendable {
        package let app: AskedApp
        package let endpoint: AppStoreServerEndpoint
        /// `200`, Apple's code or the HTTP status of an error, or the kind of connection failure.
        package let code: String
    }

    /// An app, with a notification type or a code.
    package struct Item: Hashable, Sendable {
        package let app: AskedApp
        package let name: String
    }

    package internal(set) var requests: [Request: Int] = [:]
    package internal(set) var pages = 0
    /// The notifications in Apple's history by type, and those that the ledger lacked.
    package internal(set) var seen: [Item: Int] = [:]
    package internal(set) var recovered: [Item: Int] = [:]
    package internal(set) var swallowed: [AskedApp: Int] = [:]
    /// The refused parts of answers, by code.
    package internal(set) var refused: [Item: Int] = [:]
    /// The same requests, by the priority of the inquiry.
    package internal(set) var requestsByPriority: [Int: Int] = [:]
    package internal(set) var unknown: [AskedApp: Int] = [:]
    package internal(set) var failed: [AskedApp: Int] = [:]
    package internal(set) var statusMismatches: [AskedApp: Int] = [:]
    /// The time by which Apple's clock is ahead, in seconds.
    package internal(set) var clockSkew: [AskedApp: Int64] = [:]

    package var requestCount: Int { requests.values.reduce(0, +) }
}

extension AppStoreServerError {
    /// A name for metrics. Codes that Apple doesn't document are counted by their status, so that there are few names.
    package var metricCode: String {
        if let status, let code, code.name == nil { "\(status)" } else { failure }
    }

    /// A name for operators.
    package var failure: String {
        switch reason {
        case .answer(let status, let code): code.map { "\($0.rawValue)" } ?? "\(status)"
        case .transport(let fault): fault.rawValue
        case .unreadable: "unreadable"
        case .endlessPages: "endless-pages"
        case .invalidArgument: "invalid-argument"
        case .brokenRule: "broken-rule"
        case .signingFailed: "signing-failed"
        }
    }
}
