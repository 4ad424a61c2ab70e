public import Instants

extension PurchaseLedger {
    /// Delivers an event again, whether or not it was delivered.
    ///
    /// - Parameters:
    ///   - eventID: The event's identifier.
    ///   - reason: The operator and the reason to record, or `nil` to record nothing.
    ///   - now: The date of the request.
    /// - Throws: `not-found` if there is no such event.
    @available(*, noasync)
    public func sendAgain(eventID: String, reason: String? = nil, at now: Instant = .now) throws(LedgerError) {
        try LedgerText.check(eventID, "event id")
        if let reason { try LedgerText.check(reason, "reason") }
        try store.write { [policy] (connection) throws(LedgerError) in
            try connection.sendAgain(eventID, policy.surroundings, at: now)
            if let reason { try connection.recordSending(eventID, reason, at: now) }
        }
    }
}
