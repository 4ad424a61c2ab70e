@_spi(Surfaces) import AppStoreReceipt
import PurchaseLedger
import StrictText

/// The result of a search.
struct SearchAnswer {
    /// The text that was searched for, if it is short.
    var searched: String?
    /// The decision on the evidence in the text, or `nil` without evidence.
    var decision: Decision?
    var evidence: [[UInt8]] = []
    var hasMoreEvidence = false
    var stories: [TransactionStory] = []
    var accounts: [AccountAnswer] = []
    var attempts: [AttemptFact] = []
    /// Purchases in the evidence that the ledger doesn't have.
    var unknownPurchases: [TransactionName] = []
    /// Words that may be ids that only Apple knows.
    var transactionClues: [String] = []
    var orderClues: [String] = []
    var hasMore = false
    let now: Instant

    /// An account and what it owns now.
    struct AccountAnswer {
        let history: AccountHistory
        /// The newest tokens.
        let tokens: AccountTokenList?
        private(set) var items: [(environment: AppStoreEnvironment, item: Entitlements.Item)] = []
        /// The subscriptions with known renewal information, including those that have ended.
        private(set) var renewals: [(environment: AppStoreEnvironment, subscription: Subscription)] = []

        init(_ history: AccountHistory, _ desk: SupportDesk, at now: Instant) throws(LedgerError) {
            self.history = history
            tokens = try desk.ledger.tokens(of: history.account, limit: SearchAnswer.maximumTokenCount)
            for environment in desk.verifier.policy.acceptedEnvironments.sorted(by: { $0.rawValue < $1.rawValue }) {
                let entitlements = try desk.ledger.entitlements(of: history.account, in: environment, at: now)
                items += entitlements.items.filter(\.isOwned).prefix(Self.maximumItemCount).map { (environment, $0) }
                renewals += entitlements.subscriptions.filter { $0.renewal != nil }.suffix(Self.maximumItemCount)
                    .map { (environment, $0) }
            }
        }

        private static let maximumItemCount = 100
    }

    /// The maximum number of stories and accounts on one page.
    static let maximumCount = 10
    /// The maximum number of an account's tokens on one page.
    static let maximumTokenCount = 20

    var isEmpty: Bool {
        decision == nil && stories.isEmpty && accounts.isEmpty && attempts.isEmpty
    }

    /// Searches for the text that a user entered.
    init(_ text: [UInt8], _ desk: SupportDesk, at now: Instant) throws(LedgerError) {
        self.now = now
        let whole = Array(text.trimmed)
        guard !whole.isEmpty else { return }
        var rest = whole
        let verdict = Result { () throws(VerificationError) in try desk.verifier.verify(whole) }
        if case .success = verdict {
            evidence = [whole]
            rest = []
        } else {
            let found = FoundEvidence(in: whole)
            evidence = found.pieces
            hasMoreEvidence = found.hasMore
            rest = found.rest
        }
        if whole.count <= 255 { searched = String(validating: whole, as: UTF8.self) }
        var findings: [SupportFinding] = []
        if !evidence.isEmpty {
            let decision = desk.verifier.decision(on: evidence, at: now, productTypes: desk.productTypes)
            self.decision = decision
            findings += Self.transactions(of: decision).map(SupportFinding.transaction)
            for piece in evidence { try addAttempts(with: piece, desk) }
        }
        let clues = Clues(rest, of: evidence.isEmpty ? text : rest)
        hasMore = clues.hasMore
        for word in clues.words {
            let found = try desk.ledger.find(word)
            findings += found
            guard found.isEmpty else { continue }
            if Clues.isTransactionID(word) { transactionClues.append(word) }
            if TransactionName.isAppleOrder(word) { orderClues.append(word) }
        }
        try add(findings, desk)
        // The stories already show their requests.
        var shown = Set(stories.flatMap(\.attempts).map { UTF8Bytes($0.requestID) })
        attempts = attempts.filter { shown.insert(UTF8Bytes($0.requestID)).inserted }
        for story in stories { try addEvidence(of: story.attempts, desk) }
        try addEvidence(of: attempts, desk)
        // A text that the ledger knows as a name isn't refused evidence.
        guard isEmpty, case .failure(let error) = verdict, error.fault.page != nil,
            searched.map({ !Clues.isTransactionID($0) }) ?? true
        else { return }
        evidence = [whole]
        decision = desk.verifier.decision(on: evidence, at: now)
        try addAttempts(with: whole, desk)
    }

    /// Creates the answer for findings that are already known.
    init(
        _ findings: [SupportFinding], _ desk: SupportDesk, at now: Instant, after cursor: String?
    ) throws(LedgerError) {
        self.now = now
        try add(findings, desk, after: cursor)
    }

    /// Returns the transactions in verified evidence, latest purchases first.
    private static func transactions(of decision: Decision) -> [TransactionName] {
        var seen: Set<[UTF8Bytes]> = []
        return decision.evidence.flatMap(\.purchases).sorted { $0.purchaseDate > $1.purchaseDate }.compactMap {
            guard
                seen.insert([$0.environment.rawValue, $0.bundleID, $0.transactionID].map(UTF8Bytes.init)).inserted
            else { return nil }
            return TransactionName(
                environment: $0.environment, bundleID: $0.bundleID, transactionID: $0.transactionID)
        }
    }

    private mutating func add(
        _ findings: [SupportFinding], _ desk: SupportDesk, after cursor: String? = nil
    ) throws(LedgerError) {
        var names: [TransactionName] = []
        var found: [String] = []
        for finding in findings {
            switch finding {
            case .transaction(let name): names.append(name)
            case .order(_, let account, let transaction):
                if let transaction { names.append(transaction) }
                found.append(account)
            case .account(let account): found.append(account)
            case .attempt(let attempt): attempts.append(attempt)
            }
        }
        var seen: Set<[UTF8Bytes]> = []
        for name in names
        where seen.insert([name.environment.rawValue, name.bundleID, name.transactionID].map(UTF8Bytes.init)).inserted {
            guard stories.count < Self.maximumCount else {
                hasMore = true
                break
            }
            if let story = try desk.ledger.story(of: name, at: now) {
                stories.append(story)
            } else if unknownPurchases.count < Self.maximumCount {
                unknownPurchases.append(name)
            }
        }
        var seenAccounts: Set<UTF8Bytes> = []
        for account in found where seenAccounts.insert(UTF8Bytes(account)).inserted {
            guard accounts.count < Self.maximumCount else {
                hasMore = true
                break
            }
            guard let history = try desk.ledger.history(of: account, after: cursor) else { continue }
            accounts.append(try AccountAnswer(history, desk, at: now))
        }
    }

    /// Adds the requests that submitted a piece of evidence, alone or within other evidence.
    private mutating func addAttempts(with piece: [UInt8], _ desk: SupportDesk) throws(LedgerError) {
        guard let digest = EvidenceDigest.text(of: UnverifiedEvidence.bytes(in: piece)) else { return }
        attempts += try desk.ledger.attempts(withDigest: digest)
    }

    /// Adds the decision on refused evidence that was kept: its report shows the reason.
    private mutating func addEvidence(of attempts: [AttemptFact], _ desk: SupportDesk) throws(LedgerError) {
        guard decision == nil else { return }
        for attempt in attempts where attempt.isEvidenceKept && attempt.isRefused {
            let kept: [UInt8]?
            do throws(LedgerError) {
                kept = try desk.ledger.keptEvidence(attempt.digest)
            } catch  where error.code == .storeFailed {
                // It is damaged. Only its report is missing.
                continue
            }
            guard let bytes = kept else { continue }
            evidence = [bytes]
            decision = desk.verifier.decision(on: evidence, at: now, productTypes: desk.productTypes)
            return
        }
    }
}

extension Entitlements.Item {
    /// Whether the account owns the item now.
    var isOwned: Bool { access.givesAccess || access == .lengthUnknown }
}
