import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger
import StrictText

/// What was counted since a reconciler was made.
package struct ReconciliationCounts: Sendable {
    package struct Request: Hashable, Sendable {
        package let app: AskedApp
        package let endpoint: AppStoreServerEndpoint
        /// `200`, Apple's code or the HTTP status of an error, or what was wrong with the connection.
        package let code: String
    }

    /// An app, and a type of notifications or a code.
    package struct Item: Hashable, Sendable {
        package let app: AskedApp
        package let name: String
    }

    package internal(set) var requests: [Request: Int] = [:]
    package internal(set) var pages = 0
    /// Notifications of the history by type, and those that the ledger did not have.
    package internal(set) var seen: [Item: Int] = [:]
    package internal(set) var recovered: [Item: Int] = [:]
    package internal(set) var swallowed: [AskedApp: Int] = [:]
    /// What was refused, by code.
    package internal(set) var refused: [Item: Int] = [:]
    /// The same requests, by the priority of what was asked.
    package internal(set) var requestsByPriority: [Int: Int] = [:]
    package internal(set) var unknown: [AskedApp: Int] = [:]
    package internal(set) var failed: [AskedApp: Int] = [:]
    package internal(set) var statusMismatches: [AskedApp: Int] = [:]
    /// How far Apple's clock is ahead, in seconds.
    package internal(set) var clockSkew: [AskedApp: Int64] = [:]

    package var requestCount: Int { requests.values.reduce(0, +) }
}

extension AppStoreServerError {
    /// A name for metrics. A code that Apple does not document is counted by its status: there are few of those.
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
