@_spi(Ledger) import AppStoreReceipt
import HTTPService
import PurchaseLedger
import StrictText

extension JSONWriter {
    mutating func member(_ name: StaticString, _ number: Int64?) {
        self.name(name)
        if let number { integer(number) } else { null() }
    }

    mutating func member(_ name: StaticString, _ date: Instant?) { member(name, date?.description) }

    /// Writes the three members that identify a transaction. If Apple was asked about an order, the order's id replaces
    /// the transaction id.
    mutating func members(_ name: TransactionName?) {
        member("environment", name?.environment.rawValue)
        member("bundle_id", name?.bundleID)
        let isOrder = name?.isAppleOrder ?? false
        member("transaction_id", isOrder ? nil : name?.transactionID)
        if isOrder { member("apple_order_id", name?.transactionID) }
    }

    mutating func story(_ story: TransactionStory) {
        beginObject()
        members(story.name)
        member("product_id", story.productID)
        member("owner", story.owner)
        member("owned_since", story.ownedSince)
        member("access", story.access)
        member("until", story.until)
        member("order_id", story.orderID)
        member("shop_order_id", story.shopOrderID)
        member("related", story.related)
        objects("evidence", story.evidence) { $0.members($1) }
        objects("refunds", story.refunds) { $0.members($1) }
        objects("grants", story.grants) { $0.members($1) }
        objects("events", story.events) { $0.members($1) }
        objects("attempts", story.attempts) { $0.members($1) }
        objects("transfers", story.transfers) { $0.members($1) }
        objects("acts", story.acts) { $0.members($1) }
        objects("notifications", story.notifications) { $0.members($1) }
        if let fact = story.confirmation {
            object("confirmation") { writer in
                writer.member("asked_at", fact.askedAt)
                writer.member("confirmed_at", fact.confirmedAt)
                writer.member("unknown_since", fact.unknownSince)
            }
        } else {
            member("confirmation", nil as String?)
        }
        endObject()
    }

    mutating func history(_ history: AccountHistory) {
        beginObject()
        member("account", history.account)
        objects("entries", history.entries) { writer, entry in
            switch entry.fact {
            case .grant(let fact):
                writer.member("kind", "grant")
                writer.members(fact)
            case .event(let fact):
                writer.member("kind", "event")
                writer.members(fact)
            case .attempt(let fact):
                writer.member("kind", "attempt")
                writer.members(fact)
            case .transfer(let fact):
                writer.member("kind", "transfer")
                writer.members(fact)
            case .act(let fact):
                writer.member("kind", "act")
                writer.members(fact)
            }
        }
        member("next", history.next)
        endObject()
    }

    mutating func tokens(_ list: AccountTokenList) {
        beginObject()
        member("account", list.account)
        member("count", list.count)
        objects("tokens", list.entries) { writer, entry in
            writer.member("token", entry.token.description)
            writer.member("kind", entry.kind.rawValue)
            writer.member("at", entry.madeAt)
            writer.member("retired_at", entry.retiredAt)
        }
        member("next", list.next)
        endObject()
    }

    // MARK: Facts

    private mutating func members(_ fact: EvidenceFact) {
        member("signed_at", fact.signedDate)
        member("signer", fact.signer)
        name("purchase")
        let purchase = fact.purchase.storedJSON
        purchase.withUTF8Bytes { raw($0) }
    }

    private mutating func members(_ fact: RefundFact) {
        member("at", fact.date)
        member("reason", fact.reason?.rawValue)
        member("percentage", fact.percentage)
        member("signed_at", fact.signedDate)
    }

    private mutating func members(_ fact: GrantFact) {
        member("at", fact.grantedAt)
        members(fact.name)
        member("account", fact.account)
        member("product_id", fact.productID)
        member("quantity", fact.quantity)
        member("seats", fact.seats)
        member("granted_quantity", fact.grantedQuantity)
        member("changed_at", fact.changedAt)
        member("until", fact.until)
        member("taken_back_at", fact.takenBackAt)
        member("adjusted_quantity", fact.adjusted?.quantity)
        member("adjusted_from", fact.adjusted?.signedThen)
    }

    private mutating func members(_ fact: EventFact) {
        member("at", fact.madeAt)
        member("id", fact.id)
        member("account", fact.account)
        member("sequence", fact.sequence)
        member("told", fact.kind)
        member("cause", fact.cause)
        members(fact.name)
        member("product_id", fact.productID)
        member("quantity", fact.quantity)
        member("previous_quantity", fact.previousQuantity)
        member("seats", fact.seats)
        member("state", fact.state.rawValue)
        member("delivered_at", fact.deliveredAt)
        member("attempts", fact.attempts)
        member("failure", fact.failure)
    }

    private mutating func members(_ fact: AttemptFact) {
        member("at", fact.at)
        member("request_id", fact.requestID)
        member("account", fact.account)
        member("times", fact.times)
        member("digest", fact.digest)
        member("evidence_digest", fact.evidenceDigest)
        member("code", fact.code)
        member("transactions", fact.transactionCount)
        member("evidence_kept", fact.isEvidenceKept)
        objects("outcomes", fact.outcomes) { writer, outcome in
            writer.member("environment", outcome.name?.environment.rawValue)
            writer.member("bundle_id", outcome.name?.bundleID)
            writer.member("transaction_id", outcome.transactionID)
            writer.member("outcome", outcome.outcome)
        }
    }

    private mutating func members(_ fact: TransferFact) {
        member("at", fact.at)
        member("from", fact.from)
        member("to", fact.to)
        member("reason", fact.reason)
    }

    private mutating func members(_ fact: ActFact) {
        member("at", fact.at)
        member("act", fact.kind.rawValue)
        member("account", fact.account)
        members(fact.name)
        member("product_id", fact.productID)
        member("event_id", fact.eventID)
        member("previous_quantity", fact.previousQuantity)
        member("quantity", fact.quantity)
        member("reason", fact.reason)
        member("answer", fact.answer)
    }

    private mutating func members(_ fact: NotificationFact) {
        member("type", fact.type)
        member("subtype", fact.subtype)
        member("signed_at", fact.signedDate)
        member("at", fact.receivedAt)
    }
}
