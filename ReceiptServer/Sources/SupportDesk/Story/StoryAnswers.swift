import AppStoreReceipt
import PurchaseLedger
@_spi(Surfaces) import ReceiptReport
import StrictText

/// A sentence of the page.
struct Sentence {
    let words: any Words
    let slots: [Slot]
    var style: Style?

    init(_ words: SupportPhrase, _ slots: Slot..., style: Style? = nil) {
        self.words = words
        self.slots = slots
        self.style = style
    }

    init(_ signed: SignedSentence) { (words, slots) = (signed.words, signed.slots) }

    func write(to html: inout HTMLWriter) { html.phrase(words, slots) }
}

/// Support's first answers: who owns the purchase, and whether all events were delivered.
struct StoryAnswers {
    let story: TransactionStory
    let now: Instant
    /// The end of the latest period that gives access, if any does.
    var renewedUntil: Instant?
    /// The subscription that the transaction is a period of.
    var subscription: Subscription?

    private var product: Slot { .text(story.productID ?? story.name.transactionID) }

    var sentences: [Sentence] {
        var all = possession
        if story.name.environment != .production { all.append(Sentence(.sandboxNow, style: .warn)) }
        if let transfer = story.transfers.first {
            all.append(Sentence(.wasTransferredNow, .text(transfer.from), .text(transfer.to)))
        }
        all += delivery + others
        if let confirmation { all.append(confirmation) }
        // These sentences begin with the date they were signed, and come last.
        return all + (subscription?.renewalSentences(Slot.localDate).map { Sentence($0) } ?? [])
    }

    // MARK: Ownership

    private var possession: [Sentence] {
        guard let grant = story.grants.max(by: { ($0.quantity, $0.changedAt) < ($1.quantity, $1.changedAt) }) else {
            return withoutGrant
        }
        var all: [Sentence] = []
        let account = Slot.text(grant.account)
        if grant.quantity > 0 {
            if let until = grant.until ?? story.until {
                if until > now {
                    all.append(Sentence(.hasPeriod, account, product, .localDate(until), style: .good))
                } else if let renewedUntil {
                    all.append(Sentence(.renewedNow, account, product, .localDate(renewedUntil), style: .good))
                } else {
                    all.append(Sentence(.hadPeriod, account, product, .localDate(until), style: .warn))
                }
            } else {
                all.append(Sentence(.has, account, .number(Int(clamping: grant.quantity)), product, style: .good))
            }
            if story.access?.hasSameBytes(as: "\(Entitlements.Access.lengthUnknown.code)") ?? false {
                all.append(Sentence(.lengthUnknownNow, style: .warn))
            }
            if let seats = grant.seats { all.append(Sentence(.seats, .number(Int(clamping: seats)))) }
            if let percentage = story.refunds.first?.wholePercentage, 1..<100 ~= percentage {
                all.append(Sentence(.partlyRefundedNow, .number(percentage), style: .warn))
            }
        } else if let date = grant.takenBackAt {
            all += [Sentence(.nobodyHas, style: .bad), Sentence(.takenBackNow, .localDate(date))]
        } else if let refund = story.refunds.first {
            all.append(Sentence(.refundedNow, .localDate(refund.date ?? refund.signedDate), style: .bad))
            all.append(Sentence(.hadBefore, account, .number(Int(clamping: grant.grantedQuantity)), product))
        } else {
            all.append(Sentence(.nobodyHas, style: .bad))
        }
        if let adjusted = grant.adjusted {
            all.append(Sentence(.adjustedNow, .number(Int(clamping: adjusted.quantity)), style: .warn))
        }
        return all
    }

    private var withoutGrant: [Sentence] {
        if let refund = story.refunds.first {
            return [Sentence(.refundedNow, .localDate(refund.date ?? refund.signedDate), style: .bad)]
        }
        // Apple was queried, and nothing else happened.
        if story.evidence.isEmpty, story.attempts.isEmpty, story.owner == nil {
            return [
                Sentence(story.name.isAppleOrder ? .maybeOrder : .maybeTransaction, .text(story.name.transactionID))
            ]
        }
        let owner = story.owner.map { Sentence(.ownsWithoutGrant, .text($0)) }
        var all = [owner ?? Sentence(.nobodyHas, style: .bad)]
        guard !story.evidence.isEmpty else { return all + [Sentence(.onlyAttempts)] }
        let reasons: [(code: String, words: SupportPhrase)] = [
            ("not-yet", .decidedNotYet), ("expired", .decidedExpired), ("revoked", .decidedRevoked),
            ("upgraded", .decidedUpgraded), ("undetermined", .decidedUnknown),
        ]
        let reason = reasons.first { story.access?.hasSameBytes(as: $0.code) ?? false }?.words
        if let reason {
            all.insert(
                Sentence(reason, .localDate(story.evidence[0].purchase.purchaseDate), style: .warn),
                at: owner == nil ? 1 : 0)
        } else if story.owner == nil {
            all.append(Sentence(.decidedGrantable))
        }
        return all
    }

    // MARK: Confirmation and delivery

    private var confirmation: Sentence? {
        guard let fact = story.confirmation else { return nil }
        if let date = fact.confirmedAt { return Sentence(.confirmed, .localDate(date), style: .good) }
        return fact.unknownSince.map { Sentence(.unconfirmed, .localDate($0), style: .warn) }
    }

    private var delivery: [Sentence] {
        guard let event = story.events.max(by: { $0.sequence < $1.sequence }) else {
            return story.grants.isEmpty ? [] : [Sentence(.nobodyNotified)]
        }
        let waiting = story.events.count { $0.state == .pending }
        return switch event.state {
        case .delivered: [Sentence(.notifiedNow, style: .good)]
        case .pending where waiting > 1: [Sentence(.manyWaitNow, .number(waiting), style: .warn)]
        case .pending: [Sentence(.waitingNow, style: .warn)]
        case .dead: [Sentence(.notNotifiedNow, style: .bad)]
        }
    }

    /// The answers to other accounts that submitted it.
    private var others: [Sentence] {
        var seen: Set<UTF8Bytes> = []
        let holder = story.grants.first { $0.quantity > 0 }?.account ?? story.owner
        return story.attempts.compactMap { attempt in
            guard seen.insert(UTF8Bytes(attempt.account)).inserted,
                !(holder?.hasSameBytes(as: attempt.account) ?? false), seen.count <= 5
            else { return nil }
            if attempt.isRefused {
                return Sentence(.triedRefused, .text(attempt.account), .code(attempt.code))
            }
            return Sentence(
                .othersTried, .text(attempt.account), .words(attempt.outcome(of: story.name.transactionID)))
        }
    }
}

extension RefundFact {
    /// The refunded part of the price, in percent.
    var wholePercentage: Int? { percentage.map { Int(clamping: $0 / 1000) } }
}

extension AttemptFact {
    /// Whether the evidence was refused, so no transaction has an outcome.
    var isRefused: Bool { !code.hasSameBytes(as: "ok") }

    /// Returns the text for the outcome of a transaction, or of the first one if that has none.
    func outcome(of transactionID: String) -> any Words {
        let found = outcomes.first { $0.transactionID.hasSameBytes(as: transactionID) } ?? outcomes.first
        return found.flatMap { Outcome(rawValue: $0.outcome) }.map(OutcomeWords.init) ?? SupportPhrase.noPurchase
    }
}
