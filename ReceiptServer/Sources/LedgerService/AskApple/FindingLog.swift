import AppStoreReceipt
import HTTPService
import PurchaseLedger
import Reconciliation
import Synchronization

/// Logs the findings of requests to the App Store for the operator.
final class FindingLog: Sendable {
    private let log: ServiceLog
    private let recent = Mutex(RecentReports())

    init(_ log: ServiceLog) { self.log = log }

    func write(_ finding: Finding) {
        switch finding {
        case .refused(let app, let code, let id):
            // A refused item is requested again. If that keeps failing, its inquiry fails, which is logged.
            guard isNews("refused \(name(app)) \(code)") else { return }
            log.write(.error, "apple-item-refused", members(app) + [("code", .text(code))] + named("id", id))
        case .unknown(let unknown):
            log.write(
                .error, "unknown-at-apple",
                members(unknown.app) + [("transaction_id", .text(unknown.transactionID))]
                    + named("signer", unknown.signer))
        case .misconfigured(let app, let error):
            log.write(.warning, "apple-misconfigured", members(app) + [("message", .text(error.description))])
        case .stopped(let app, let error):
            log.write(.error, "apple-stopped", members(app) + [("message", .text(error.description))])
        case .resumed(let app): log.write(.info, "apple-resumed", members(app))
        case .gap(let app, let from, let until):
            log.write(
                .error, "notification-gap",
                members(app) + [("from", .text(from.description)), ("until", .text(until.description))])
        case .swallowed(let app, let type, let uuid):
            guard isNews("swallowed \(name(app)) \(type)") else { return }
            log.write(.error, "notification-swallowed", members(app) + [("type", .text(type))] + named("uuid", uuid))
        case .endedUnnotified(let app, let id):
            log.write(.warning, "period-ended-unheard", members(app) + [("transaction_id", .text(id))])
        case .failed(let inquiry, let failure):
            log.write(
                .error, "question-failed",
                members(inquiry.app) + [
                    ("kind", .text(inquiry.kind.rawValue)), ("subject", .text(inquiry.subject)),
                    ("failure", .text(failure)),
                ])
        case .dropped(let app, let count):
            log.write(.warning, "questions-dropped", members(app) + [("count", .number(count))])
        case .statusMismatch(let app, let id):
            log.write(.warning, "status-mismatch", members(app) + [("original_transaction_id", .text(id))])
        case .clockSkew(let app, let skew):
            guard isNews("clock \(name(app))") else { return }
            log.write(.warning, "clock-skew", members(app) + [("seconds", .number(Int(skew.components.seconds)))])
        case .ledger(let error):
            guard isNews(error.code.rawValue) else { return }
            log.write("reconciliation", error)
        // There can be thousands after an outage, and the metrics count them by type.
        case .recovered: break
        // Only a command makes these, and prints them.
        case .missing, .leftOver: break
        }
    }

    private func isNews(_ what: String) -> Bool { recent.withLock { $0.isNews(what) } }

    private func name(_ app: AskedApp) -> String { "\(app.environment.rawValue) \(app.bundleID)" }

    private typealias Members = [(StaticString, ServiceLog.Value)]

    private func members(_ app: AskedApp) -> Members {
        [("bundle_id", .text(app.bundleID)), ("environment", .text(app.environment.rawValue))]
    }

    private func named(_ name: StaticString, _ text: String?) -> Members { text.map { [(name, .text($0))] } ?? [] }
}
