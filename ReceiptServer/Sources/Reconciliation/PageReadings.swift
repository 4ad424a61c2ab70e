import PurchaseLedger
import Instants
import StrictText

/// The items that a run has read, to detect pages without new ones, regardless of what the ledger knows.
struct PageReadings: Sendable {
    struct Subject: Hashable, Sendable {
        let app: AskedApp
        private let kind: Inquiry.Kind
        private let subject: UTF8Bytes

        init(_ inquiry: Inquiry) { (app, kind, subject) = (inquiry.app, inquiry.kind, UTF8Bytes(inquiry.subject)) }
    }

    private struct Reading {
        var run: [Instant]
        /// Hashes of names: those of two million notifications take 40 MB.
        var seen: Set<Int> = []
    }

    /// The maximum number of readings. Beyond it, all are dropped, so repeated pages are detected later.
    private static let maximumCount = 1000

    private var readings: [Subject: Reading] = [:]

    /// Adds the items of a page.
    ///
    /// - Parameter run: The identity of the run.
    /// - Returns: Whether any item is new.
    mutating func add(_ items: [UTF8Bytes], of subject: Subject, in run: [Instant] = []) -> Bool {
        if readings.count >= Self.maximumCount, readings[subject] == nil { readings = [:] }
        var reading = readings.removeValue(forKey: subject) ?? Reading(run: run)
        if reading.run != run { reading = Reading(run: run) }
        var isNew = false
        for item in items where reading.seen.insert(item.hashValue).inserted { isNew = true }
        readings[subject] = reading
        return isNew
    }

    mutating func end(_ subject: Subject) { readings[subject] = nil }
}
