import StrictText

/// A request that waits for its answer, which it can be given together with others.
final class PendingRedemption: @unchecked Sendable {
    let request: RedemptionRequest
    /// Written before the member of the group is finished, and read afterwards.
    var answer: Redemption?

    init(_ request: RedemptionRequest) { self.request = request }

    /// What no two requests may have that are answered together.
    enum Key: Hashable {
        case transaction(TransactionKey)
        case renewal(UTF8Bytes)
        case answer(UTF8Bytes, UTF8Bytes)
    }

    private var keys: Set<Key> {
        var keys = Set(request.brought.keys.map(Key.transaction))
        for renewal in request.brought.renewals { keys.insert(.renewal(UTF8Bytes(renewal.originalTransactionID))) }
        if let answered = request.answered {
            keys.insert(.answer(UTF8Bytes(answered.account), UTF8Bytes(answered.key)))
        }
        return keys
    }

    /// Adds its keys to those of others; `false` if it has one in common with them.
    func join(_ others: inout Set<Key>) -> Bool {
        let own = keys
        guard others.isDisjoint(with: own) else { return false }
        others.formUnion(own)
        return true
    }
}
