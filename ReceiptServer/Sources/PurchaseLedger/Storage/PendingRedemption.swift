import StrictText

/// A request that waits for its answer, possibly together with others.
final class PendingRedemption: @unchecked Sendable {
    let request: RedemptionRequest
    /// The answer from a snapshot, or `nil` if there is something to record. Like the following, it is written before
    /// the member of the group is finished, and read afterwards.
    var look: RedemptionRequest.Look?
    /// Whether ``look`` is the result of a look.
    var hasLooked = false
    /// The answer from a transaction that can write.
    var answer: Redemption?

    init(_ request: RedemptionRequest) { self.request = request }

    /// Returns the error, or the answer if there is none.
    func result(_ error: LedgerError?) -> Result<Redemption?, LedgerError> {
        error.map { .failure($0) } ?? .success(answer)
    }

    /// A key that only one of the requests answered together can have.
    enum Key: Hashable {
        case transaction(TransactionKey)
        case renewal(UTF8Bytes)
        case answer(UTF8Bytes, UTF8Bytes)
    }

    private var keys: Set<Key> {
        var keys = Set(request.submission.keys.map(Key.transaction))
        for renewal in request.submission.renewals { keys.insert(.renewal(UTF8Bytes(renewal.originalTransactionID))) }
        if let answered = request.answered {
            keys.insert(.answer(UTF8Bytes(answered.account), UTF8Bytes(answered.key)))
        }
        return keys
    }

    /// Adds the request's keys to those of other requests, or returns `false` if they have one in common.
    func join(_ others: inout Set<Key>) -> Bool {
        let own = keys
        guard others.isDisjoint(with: own) else { return false }
        others.formUnion(own)
        return true
    }
}
