@_spi(Surfaces) import AppStoreReceipt
import PurchaseLedger
@_spi(Surfaces) import ReceiptReport
import StrictText

/// The page that answers a search.
struct SearchPage {
    let desk: SupportDesk
    let visit: SupportDesk.Visit

    func write(_ answer: SearchAnswer, to html: inout HTMLWriter) {
        if let searched = answer.searched {
            html.element(.p, .style(.note), phrase: SupportPhrase.searchedText, .sentence(searched))
        }
        var forms = ActForms(desk, visit)
        if answer.isEmpty { nothing(answer, &html) }
        for story in answer.stories { self.story(story, answer.now, &forms, &html) }
        // Refused evidence has no story: its report is the answer.
        if answer.stories.isEmpty { evidence(answer, &html) }
        for account in answer.accounts { self.account(account, &forms, &html) }
        for attempt in answer.attempts.prefix(SearchAnswer.maximumCount) {
            self.attempt(attempt, hasReport: answer.decision != nil, &html)
        }
        if !answer.stories.isEmpty { evidence(answer, &html) }
        forms.write(forClues: answer.transactionClues + answer.orderClues, to: &html)
        if answer.hasMore { html.element(.p, .styled("notice"), phrase: SupportPhrase.moreFound) }
    }

    private func nothing(_ answer: SearchAnswer, _ html: inout HTMLWriter) {
        html.element(.section, .style(.panel)) { html in
            html.element(.h2, phrase: SupportPhrase.nothingFound)
            html.element(.p, phrase: SupportPhrase.nothingFoundAdvice)
            let canAsk = desk.askApple != nil
            if canAsk, answer.orderClues.isEmpty { html.element(.p, phrase: SupportPhrase.askForOrder) }
            for id in answer.transactionClues { html.element(.p, phrase: SupportPhrase.maybeTransaction, .text(id)) }
            for id in answer.orderClues { html.element(.p, phrase: SupportPhrase.maybeOrder, .text(id)) }
            if !canAsk, !(answer.transactionClues + answer.orderClues).isEmpty {
                html.element(.p, phrase: SupportPhrase.cannotAskApple)
            }
        }
    }

    // MARK: Transactions

    private func story(
        _ story: TransactionStory, _ now: Instant, _ forms: inout ActForms, _ html: inout HTMLWriter
    ) {
        html.element(.section, .style(.panel)) { html in
            html.element(
                .h2, phrase: story.name.isAppleOrder ? SupportPhrase.appleOrder : .transactionStory,
                .text(story.name.transactionID))
            let answers = desk.answers(to: story, at: now)
            html.element(.ul, .styled("answers")) { html in
                for sentence in answers.sentences {
                    html.element(.li, .style(sentence.style ?? .unknown)) { sentence.write(to: &$0) }
                }
            }
            identifiers(of: story, &html)
            html.element(.h3, phrase: SupportPhrase.whatHappened)
            entries(StoryEntry.entries(of: story), &html)
            let fullest =
                [
                    story.events.count, story.attempts.count, story.acts.count, story.notifications.count,
                    story.evidence.count,
                ].max() ?? 0
            if fullest >= TransactionStory.maximumCount {
                html.element(
                    .p, .style(.note), phrase: SupportPhrase.moreEntries, .number(TransactionStory.maximumCount))
            }
            forms.write(for: story, to: &html)
        }
    }

    private func identifiers(of story: TransactionStory, _ html: inout HTMLWriter) {
        let environment: SupportPhrase =
            switch story.name.environment {
            case .production: .production
            case .sandbox: .sandbox
            default: .otherEnvironment
            }
        html.element(.dl, .style(.facts)) { html in
            fact(.product, &html) { $0.value(story.productID ?? "–") }
            fact(.owner, &html) { html in
                if let owner = story.owner { html.value(owner) } else { html.phrase(SupportPhrase.noOwner) }
            }
            fact(.environment, &html) { $0.phrase(environment) }
            fact(.app, &html) { $0.value(story.name.bundleID) }
            if let order = story.orderID { fact(.order, &html) { $0.value(order) } }
            if let order = story.shopOrderID { fact(.shopOrder, &html) { $0.value(order) } }
            if !story.related.isEmpty {
                fact(.related, &html) { $0.value(story.related.joined(separator: ", ")) }
            }
        }
    }

    private func fact(_ name: SupportPhrase, _ html: inout HTMLWriter, value: (inout HTMLWriter) -> Void) {
        html.element(.dt, phrase: name)
        html.element(.dd, content: value)
    }

    private func entries(_ entries: [StoryEntry], _ html: inout HTMLWriter) {
        html.element(.ol, .styled("story")) { html in
            for entry in entries {
                html.element(.li) { html in
                    html.element(.span) { $0.localDate(entry.at) }
                    html.element(.span) { html in
                        for (index, sentence) in entry.sentences.enumerated() {
                            if index > 0 { html.text(" ") }
                            if let style = sentence.style {
                                html.element(.span, .style(style)) { sentence.write(to: &$0) }
                            } else if index > 0 {
                                html.element(.small) { sentence.write(to: &$0) }
                            } else {
                                sentence.write(to: &html)
                            }
                        }
                    }
                }
            }
        }
    }

    // MARK: Accounts

    private func account(
        _ answer: SearchAnswer.AccountAnswer, _ forms: inout ActForms, _ html: inout HTMLWriter
    ) {
        let account = answer.history.account
        html.element(.section, .style(.panel)) { html in
            html.element(.h2, phrase: SupportPhrase.accountStory, .text(account))
            html.element(.h3, phrase: SupportPhrase.owns)
            if answer.items.isEmpty { html.element(.p, phrase: SupportPhrase.ownsNothing) }
            html.element(.ul, .style(.list)) { html in
                for (environment, item) in answer.items {
                    html.element(.li) { html in
                        let place = Slot.words(environment == .production ? SupportPhrase.production : .sandbox)
                        if let until = item.accessEndDate {
                            html.phrase(
                                SupportPhrase.ownsUntil, .text(item.purchase.productID), .localDate(until), place)
                        } else if item.length == .unknown {
                            html.phrase(SupportPhrase.ownsLengthUnknown, .text(item.purchase.productID), place)
                        } else {
                            html.phrase(
                                SupportPhrase.ownsItem, .text(item.purchase.productID), .number(item.quantity),
                                place)
                        }
                        html.text(" ")
                        html.element(.small) { html in
                            html.phrase(SupportPhrase.transactionIs, .text(item.purchase.transactionID))
                            html.text(" ")
                            html.sentences(item.purchase.priceSentences)
                        }
                    }
                }
            }
            renewals(answer, &html)
            if let tokens = answer.tokens, !tokens.entries.isEmpty { self.tokens(tokens, &html) }
            html.element(.h3, phrase: SupportPhrase.whatHappened)
            entries(StoryEntry.entries(of: answer.history), &html)
            if let next = answer.history.next {
                visit.page.forms?.form("/account", hidden: [("account", account), ("after", next)], to: &html) { html in
                    html.button(html.plain(SupportPhrase.older), .styled("quietly"))
                }
            }
            forms.write(forAccount: account, to: &html)
        }
    }

    private func renewals(_ answer: SearchAnswer.AccountAnswer, _ html: inout HTMLWriter) {
        guard !answer.renewals.isEmpty else { return }
        html.element(.h3, phrase: SupportPhrase.renewals)
        html.element(.ul, .style(.list)) { html in
            for (environment, subscription) in answer.renewals {
                html.element(.li) { html in
                    let place = Slot.words(environment == .production ? SupportPhrase.production : .sandbox)
                    html.phrase(
                        SupportPhrase.renewalOf, .text(subscription.productID),
                        .text(subscription.originalTransactionID), place)
                    html.text(" ")
                    html.sentences(subscription.renewalSentences(Slot.localDate))
                }
            }
        }
    }

    private func tokens(_ tokens: AccountTokenList, _ html: inout HTMLWriter) {
        html.element(.h3, phrase: SupportPhrase.accountTokens, .number(Int(clamping: tokens.count)))
        html.element(.ul, .style(.list)) { html in
            for entry in tokens.entries {
                html.element(.li) { html in
                    html.phrase(SupportPhrase.tokenSince, .text(entry.token.description), .localDate(entry.madeAt))
                }
            }
        }
        if tokens.next != nil {
            html.element(.p, .style(.note), phrase: SupportPhrase.moreTokens, .number(tokens.entries.count))
        }
    }

    // MARK: Requests and evidence

    private func attempt(_ attempt: AttemptFact, hasReport: Bool, _ html: inout HTMLWriter) {
        html.element(.section, .style(.panel)) { html in
            html.element(.h2, phrase: SupportPhrase.attemptStory, .text(attempt.requestID))
            entries(StoryEntry.entries(of: attempt), &html)
            html.element(.dl, .style(.facts)) { html in
                fact(.digest, &html) { $0.element(.code, text: attempt.digest) }
                if !attempt.evidenceDigest.hasSameBytes(as: attempt.digest) {
                    fact(.evidenceDigest, &html) { $0.element(.code, text: attempt.evidenceDigest) }
                }
            }
            if attempt.isRefused, !hasReport {
                if let fault = Fault.named(attempt.code) { refusal(fault, &html) }
                html.element(
                    .p, .style(.note),
                    phrase: attempt.isEvidenceKept ? SupportPhrase.evidenceKept : .evidenceNotKept)
            }
        }
    }

    /// Writes the meaning of a refusal, and the advice for staff.
    private func refusal(_ fault: Fault, _ html: inout HTMLWriter) {
        html.element(.p, text: fault.sentence(in: html.language))
        if let phrase = SupportPhrase.refused(fault, found: nil) {
            html.element(.p, .styled("notice"), phrase: phrase)
        } else if fault.stage != .policy {
            // Staff cannot set an option of the server.
            html.element(.p, text: fault.advice(for: .user(of: .server), in: html.language))
        }
        if fault.page != nil { html.element(.p) { $0.link("/what-clients-send", fault.code) } }
    }

    private func evidence(_ answer: SearchAnswer, _ html: inout HTMLWriter) {
        guard let decision = answer.decision else { return }
        for name in answer.unknownPurchases {
            html.element(.section, .style(.panel)) { html in
                html.element(.h2, phrase: SupportPhrase.transactionStory, .text(name.transactionID))
                html.element(.p, phrase: SupportPhrase.nothingRedeemed)
            }
        }
        if answer.hasMoreEvidence {
            html.element(
                .p, .styled("notice"), phrase: SupportPhrase.moreEvidence, .number(FoundEvidence.maximumCount))
        }
        if !answer.stories.isEmpty { html.element(.p, .styled("notice"), phrase: SupportPhrase.reportAbout) }
        for phrase in decision.refusedSince { html.element(.p, .styled("notice"), phrase: phrase) }
        html.element(.section, .label(html.plain(SupportPhrase.foundEvidence))) { html in
            var report = Report(decision, on: answer.evidence, by: desk.verifier, for: .user(of: .server))
            // Staff cannot set an option of the server.
            report.advises = { SupportPhrase.refused($0.fault, found: $0.found) == nil }
            report.helpPath = "/what-clients-send"
            report.write(to: &html)
        }
    }
}

extension Decision {
    /// The meanings of the refusals for staff, without duplicates.
    fileprivate var refusedSince: [SupportPhrase] {
        var phrases: [SupportPhrase] = []
        for phrase in refusals.compactMap({ SupportPhrase.refused($0.error.fault, found: $0.error.found) })
        where !phrases.contains(phrase) {
            phrases.append(phrase)
        }
        return phrases
    }
}

extension SupportPhrase {
    /// Returns the meaning of a refusal for staff, or `nil` if the fault's own text says it better.
    fileprivate static func refused(_ fault: Fault, found: String?) -> SupportPhrase? {
        if fault.party == .forger { return .forgedNow }
        if fault.code.hasSameBytes(as: "bundle-id-mismatch") { return .anotherAppNow }
        let isFromSandbox = found?.hasSameBytes(as: AppStoreEnvironment.sandbox.rawValue) ?? false
        return isFromSandbox && fault.code.hasSameBytes(as: "environment-mismatch") ? .sandboxNow : nil
    }
}

extension SupportDesk {
    /// Returns the first sentences about a transaction, including the state of its subscription if its owner has one.
    fileprivate func answers(to story: TransactionStory, at now: Instant) -> StoryAnswers {
        var answers = StoryAnswers(story: story, now: now)
        // The story itself was read. If the ledger fails now, the page only lacks the renewal.
        guard let owner = story.owner, let purchase = story.evidence.first?.purchase, purchase.expiresDate != nil,
            let owned = try? ledger.entitlements(of: owner, in: story.name.environment, at: now)
        else { return answers }
        func isRelated(_ other: Purchase) -> Bool {
            other.originalTransactionID.hasSameBytes(as: purchase.originalTransactionID)
        }
        answers.renewedUntil =
            owned.items.filter { isRelated($0.purchase) && $0.isOwned }.compactMap(\.accessEndDate).max()
        answers.subscription = owned.subscriptions.first { $0.periods.contains { isRelated($0.purchase) } }
        return answers
    }
}
