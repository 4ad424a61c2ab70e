import AppStoreReceipt
import AppStoreServerAPI
import HTTPService
import PurchaseLedger
import Reconciliation

/// The metrics about requests to the App Store and about its notifications.
struct AppleMetrics: Sendable {
    /// The values that are read from the tables at intervals.
    struct Stored: Sendable {
        var notifications: [PurchaseLedger.LastNotification] = []
        /// The inquiries, or `nil` without `--ask-apple`.
        var asking: (inquiries: [PurchaseLedger.InquiryCounts], unknown: [(app: AskedApp, signer: String, count: Int)])?
    }

    static func read(_ ledger: PurchaseLedger, isAsking: Bool, at now: Instant) throws(LedgerError) -> Stored {
        var stored = Stored(notifications: try ledger.lastNotifications())
        if isAsking { stored.asking = (try ledger.inquiryCounts(at: now), try ledger.unknownCounts()) }
        return stored
    }

    private typealias Labels = [(String, String)]

    private static func labels(_ app: AskedApp) -> Labels {
        [("app", app.bundleID), ("environment", app.environment.rawValue)]
    }

    private static func seconds(since date: Instant, _ now: Instant) -> UInt64 {
        UInt64(max(0, (now - date).components.seconds))
    }

    static func notifications(_ stored: Stored, at now: Instant = .now) -> MetricFamily {
        var family = MetricFamily(
            .gauge, "receipt_server_last_notification_seconds",
            "The time since the last notification of a type, sent by Apple or fetched.")
        for last in stored.notifications {
            family.add(seconds(since: last.date, now), [("environment", last.environment), ("type", last.type)])
        }
        return family
    }

    /// Returns the metrics from the tables, which are the same on all servers of a ledger.
    static func stored(
        _ stored: Stored, _ apps: [AppleApp], at now: Instant
    ) -> [MetricFamily] {
        guard let (inquiries, unknown) = stored.asking else { return [] }
        var states = MetricFamily(
            .gauge, "receipt_server_apple_questions",
            "Inquiries to Apple by their state; at most 10000 pending ones are counted for each priority.")
        var oldest = MetricFamily(
            .gauge, "receipt_server_apple_oldest_question_seconds",
            "How long the oldest due inquiry of a priority has waited; 0 if there is none.")
        var complete = MetricFamily(
            .gauge, "receipt_server_apple_history_complete_until_seconds",
            "The age of the date up to which every notification that Apple could not deliver was fetched.")
        var gaps = MetricFamily(
            .gauge, "receipt_server_apple_history_gap_seconds",
            "The length of the period whose undelivered notifications the ledger lacks and Apple no longer keeps.")
        var budget = MetricFamily(
            .gauge, "receipt_server_apple_budget_left", "The requests that may still be made in this hour.")
        for counts in inquiries {
            let labels = labels(counts.app)
            for (priority, count) in counts.pending.sorted(by: { $0.key < $1.key }) {
                states.add(UInt64(count), labels + [("state", "pending"), ("priority", "\(priority)")])
                let age = counts.oldest[priority].map { seconds(since: $0, now) } ?? 0
                oldest.add(age, labels + [("priority", "\(priority)")])
            }
            states.add(UInt64(counts.unknown), labels + [("state", "unknown"), ("priority", "")])
            states.add(UInt64(counts.failed), labels + [("state", "failed"), ("priority", "")])
            // Until the first window is complete, the age counts from 1970, so that the alarm rings.
            complete.add(seconds(since: counts.completeUntil ?? Instant(millisecondsSince1970: 0), now), labels)
            gaps.add(counts.gap.map { seconds(since: $0.from, $0.until) } ?? 0, labels)
            if let app = apps.first(where: { $0.app == counts.app }) {
                budget.add(UInt64(max(0, app.requestsPerHour - counts.spentThisHour)), labels)
            }
        }
        var unknownBySigner = MetricFamily(
            .gauge, "receipt_server_apple_unknown",
            "Transactions that Apple does not know, by the certificate that signed them.")
        for row in unknown { unknownBySigner.add(UInt64(row.count), labels(row.app) + [("signer", row.signer)]) }
        return [states, oldest, complete, gaps, budget, unknownBySigner]
    }

    /// Returns the metrics that this server has counted.
    static func counted(_ reconciler: Reconciler) -> [MetricFamily] {
        let (counts, stopped) = (reconciler.counts, reconciler.stopped)
        let apps = reconciler.apps.map(\.app)
        func family(
            _ kind: MetricFamily.Kind, _ name: String, _ help: String, _ values: some Sequence<(Int, Labels)>
        ) -> MetricFamily {
            var family = MetricFamily(kind, "receipt_server_apple_\(name)", help)
            for (value, labels) in values { family.add(UInt64(value), labels) }
            return family
        }
        return [
            family(
                .counter, "requests_total", "Requests to Apple, by Apple's error code or the HTTP status.",
                counts.requests.map {
                    ($1, labels($0.app) + [("endpoint", $0.endpoint.rawValue), ("code", $0.code)])
                }),
            family(
                .counter, "recovered_total", "Notifications that did not arrive and were fetched.",
                counts.recovered.map { ($1, labels($0.app) + [("type", $0.name)]) }),
            family(
                .counter, "swallowed_total",
                "Fetched notifications that Apple reports as delivered: something in front of this server accepted them.",
                apps.map { (counts.swallowed[$0] ?? 0, labels($0)) }),
            family(
                .counter, "refused_total", "Signed parts of Apple's answers that were refused, by error code.",
                counts.refused.map { ($1, labels($0.app) + [("code", $0.name)]) }),
            family(
                .counter, "status_mismatch_total",
                "Answers whose subscription status differs from the ledger's.",
                counts.statusMismatches.map { ($1, labels($0)) }),
            family(
                .gauge, "clock_skew_seconds",
                "How far Apple's clock differed from this machine's when a key was refused.",
                counts.clockSkew.map { (Int($1.magnitude), labels($0)) }),
            family(
                .gauge, "stopped",
                "1 for an app whose key Apple refuses, so that it is asked about only once an hour; otherwise 0.",
                apps.map { (stopped[$0] == nil ? 0 : 1, labels($0)) }),
            family(
                .counter, "asked_total", "The same requests, by the priority of what was asked.",
                counts.requestsByPriority.map { ($1, [("priority", "\($0)")]) }),
        ]
    }
}
