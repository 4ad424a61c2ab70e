@_spi(Ledger) @_spi(Surfaces) import AppStoreReceipt
import PurchaseLedger
@_spi(Surfaces) import ReceiptReport
import StrictText

/// An event in the story of a transaction or account, in sentences.
struct StoryEntry {
    let at: Instant
    let sentences: [Sentence]

    init(_ at: Instant, _ sentences: Sentence...) {
        self.at = at
        self.sentences = sentences
    }

    /// Returns the entries of a transaction, newest first.
    static func entries(of story: TransactionStory) -> [StoryEntry] {
        var entries: [StoryEntry] = []
        // The latest evidence alone isn't complete: a receipt contains neither seats nor a price.
        let signed = story.evidence.map { StoredPurchase(trusting: $0.purchase) }
        if let item = Entitlements(stored: signed, renewals: [], at: .now).items.first {
            entries += self.entries(of: item.purchase)
        }
        if let owner = story.owner, let date = story.ownedSince,
            // If an account is granted a purchase, it becomes the owner at the same moment.
            !story.grants.contains(where: { $0.grantedAt == date })
        {
            entries.append(StoryEntry(date, Sentence(.owned, .text(owner))))
        }
        entries += story.grants.flatMap { grant in
            // A grant moves with a transfer, so the first transfer after the grant names the original account.
            let transfer = story.transfers.filter { $0.at >= grant.grantedAt }.min { $0.at < $1.at }
            return self.entries(of: grant, to: transfer?.from ?? grant.account)
        }
        entries += story.refunds.map(entry)
        entries += story.notifications.map(entry)
        entries += story.events.map { entry(of: $0, named: false) }
        entries += story.attempts.map { entry($0, of: story.name.transactionID) }
        entries += story.transfers.map(entry)
        entries += story.acts.map(entry)
        // Entries with the same time keep their logical order.
        return entries.enumerated().sorted { ($0.element.at, $0.offset) > ($1.element.at, $1.offset) }.map(\.element)
    }

    /// Returns the entries of an account, newest first.
    static func entries(of history: AccountHistory) -> [StoryEntry] {
        history.entries.compactMap { found in
            switch found.fact {
            case .grant(let grant): entries(of: grant, to: grant.account).first
            case .event(let event): entry(of: event, named: true)
            case .attempt(let attempt): entry(attempt, of: nil)
            case .transfer(let transfer): entry(of: transfer)
            case .act(let act): entry(of: act)
            }
        }
    }

    /// Returns the entry of a request.
    static func entries(of attempt: AttemptFact) -> [StoryEntry] { [entry(attempt, of: nil)] }

    private static func entries(of purchase: Purchase) -> [StoryEntry] {
        let product = Slot.text(purchase.productID)
        let price = purchase.priceSentences.map { Sentence($0) }
        guard let end = purchase.expiresDate else {
            let bought = Sentence(.bought, .number(purchase.quantity ?? 1), product)
            return [StoryEntry(at: purchase.purchaseDate, sentences: [bought] + price)]
        }
        let words: SupportPhrase = purchase.ownershipType == .assigned ? .assignedAs : .boughtAs
        var sentences = [Sentence(words, product, .localDate(end))]
        if purchase.saysSeats { sentences.append(Sentence(.seats, .number(purchase.seatCount))) }
        return [
            StoryEntry(at: purchase.purchaseDate, sentences: sentences + price),
            StoryEntry(end, Sentence(.ends)),
        ]
    }

    private static func entries(of grant: GrantFact, to account: String) -> [StoryEntry] {
        var entries = [
            StoryEntry(
                grant.grantedAt,
                Sentence(
                    .granted, .text(account), .number(Int(clamping: grant.grantedQuantity)),
                    .text(grant.productID)),
                Sentence(.transactionIs, .text(grant.name.transactionID)))
        ]
        if let date = grant.takenBackAt {
            entries.append(StoryEntry(date, Sentence(.takenBack, .text(grant.account), style: .bad)))
        }
        return entries
    }

    private static func entry(of refund: RefundFact) -> StoryEntry {
        let isOfAssignment = refund.type == .assignmentRevoke
        let words: SupportPhrase =
            isOfAssignment ? .assignmentRevoked : refund.date == nil ? .refundedUndated : .refunded
        var sentences = [Sentence(words, style: .bad)]
        if let percentage = refund.wholePercentage { sentences.append(Sentence(.percent, .number(percentage))) }
        if refund.reason == .appIssue { sentences.append(Sentence(.reasonAppIssue)) }
        return StoryEntry(at: refund.date ?? refund.signedDate, sentences: sentences)
    }

    private init(at: Instant, sentences: [Sentence]) {
        self.at = at
        self.sentences = sentences
    }

    private static func entry(of notification: NotificationFact) -> StoryEntry {
        let name = notification.type + (notification.subtype.map { " " + $0 } ?? "")
        return StoryEntry(notification.receivedAt, Sentence(.notificationArrived, .code(name)))
    }

    private static func entry(of transfer: TransferFact) -> StoryEntry {
        StoryEntry(
            transfer.at,
            Sentence(.transferred, .text(transfer.from), .text(transfer.to), .sentence(transfer.reason)))
    }

    private static func entry(_ attempt: AttemptFact, of transactionID: String?) -> StoryEntry {
        let account = Slot.text(attempt.account)
        let count = Slot.number(Int(clamping: attempt.times))
        let request = Sentence(.inRequest, .text(attempt.requestID))
        if attempt.isRefused {
            let code = attempt.code
            return attempt.times > 1
                ? StoryEntry(
                    attempt.at, Sentence(.triedRefusedOften, account, count, .code(code), style: .bad), request)
                : StoryEntry(attempt.at, Sentence(.triedRefused, account, .code(code), style: .bad), request)
        }
        let outcome = Slot.words(attempt.outcome(of: transactionID ?? ""))
        let names = Sentence(
            .transactionIs, .text(transactionID ?? attempt.outcomes.first?.transactionID ?? ""))
        return attempt.times > 1
            ? StoryEntry(attempt.at, Sentence(.triedOften, account, count, outcome), names, request)
            : StoryEntry(attempt.at, Sentence(.tried, account, outcome), names, request)
    }

    /// - Parameter named: Whether the entry names its transaction.
    private static func entry(of event: EventFact, named: Bool) -> StoryEntry {
        let kinds: [(code: String, words: SupportPhrase)] = [
            ("granted", .eventGranted), ("revoked", .eventRevoked), ("restored", .eventRestored),
            ("adjusted", .eventAdjusted), ("conflict", .eventConflict), ("cancelled", .eventCancelled),
            ("uncancelled", .eventUncancelled), ("billing-issue", .eventBillingIssue), ("recovered", .eventRecovered),
            ("expired", .eventExpired), ("price-increase", .eventPriceIncrease),
            ("product-change", .eventProductChange), ("renewal-extended", .eventRenewalExtended),
            ("refund-requested", .eventRefundRequested), ("refund-declined", .eventRefundDeclined),
        ]
        let words = kinds.first { event.kind.hasSameBytes(as: $0.code) }?.words ?? .eventChanged
        let what = Sentence(
            words, .text(event.account), .number(Int(clamping: event.previousQuantity)),
            .number(Int(clamping: event.quantity)))
        let sequence = Slot.code(String(event.sequence))
        var sentences =
            switch event.state {
            case .delivered:
                [Sentence(.notified, sequence), what]
                    + (event.deliveredAt.map { [Sentence(.acknowledged, .localDate($0))] } ?? [])
            case .pending:
                [
                    Sentence(.waiting, sequence), what,
                    Sentence(.triedToNotify, .number(Int(clamping: event.attempts))),
                ] + (event.failure.map { [Sentence(.becauseOf, .sentence($0))] } ?? [])
            case .dead:
                [
                    Sentence(.dead, sequence, style: .bad), what,
                    Sentence(.becauseOf, .sentence(event.failure ?? "")),
                ]
            }
        if let seats = event.seats { sentences.append(Sentence(.seats, .number(Int(clamping: seats)))) }
        if named { sentences.append(Sentence(.transactionIs, .text(event.name.transactionID))) }
        return StoryEntry(at: event.madeAt, sentences: sentences)
    }

    private static func entry(of act: ActFact) -> StoryEntry {
        let reason = Slot.sentence(act.reason)
        let quantity = Slot.number(Int(clamping: act.quantity ?? 0))
        let account = Slot.text(act.account)
        let sentence =
            switch act.kind {
            case .adjust:
                Sentence(
                    .adjusted, account, .number(Int(clamping: act.previousQuantity ?? 0)), quantity, reason)
            case .grant: Sentence(.gaveProduct, account, quantity, reason)
            case .send: Sentence(.sentAgain, reason)
            case .recover: Sentence(.asked, reason)
            }
        let answer = act.answer.flatMap(AppleAnswer.Kind.init).map { Sentence($0.words) }
        return StoryEntry(at: act.at, sentences: [sentence, answer].compactMap(\.self))
    }
}
