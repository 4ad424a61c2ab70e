@_spi(Ledger) @_spi(Surfaces) import AppStoreReceipt
import StrictText

/// The work of one transaction of the database: records evidence, asks what it means, and grants or takes back what
/// follows.
///
/// Nothing depends on the order in which evidence arrives. Each time, it computes from all evidence what an account
/// should have, and compares that with its grants.
struct LedgerTransaction {
    let policy: LedgerPolicy
    let now: Instant
    let cause: LedgerEvent.Cause
    let connection: any SQLConnection
    var families: Families
    /// The numbers of the families of what is brought.
    private let numbers: [Int64]
    private var evidence = FamilyEvidence()
    private var grants = Grants()
    let brought: BroughtEvidence
    private var groups: [Group] = []
    /// What the evidence says of subscriptions.
    private(set) var subscriptions: [Subscription] = []
    private var groupsByTransaction: [TransactionKey: Int] = [:]
    /// What this transaction granted.
    private var granted: Set<TransactionKey> = []
    /// The events to post.
    var events: [LedgerEvent] = []
    /// What this transaction granted of new purchases, which orders can have announced.
    private(set) var newPurchases: [NewPurchase] = []
    /// The reports to the operator.
    private(set) var notices = LedgerNotices()
    /// The periods of owned subscriptions that are brought after they ended, and were not heard of before: nothing is
    /// granted for them.
    private(set) var endedUnheard: [TransactionKey] = []
    /// The number of the import that makes its grants; `nil` for none.
    var importRun: Int64?
    /// The account for which a line of an import brings it: the backend granted the line's own transactions long ago,
    /// as they were bought.
    private var importedFor: String?
    /// What is to be asked of the App Store because of it.
    private(set) var questions: [NewQuestion] = []

    /// The transactions of one purchase or period: a restored transaction has a new id, but grants nothing new.
    private struct Group {
        var items: [(key: TransactionKey, item: Entitlements.Item)]
    }

    /// The account that submits purchases.
    struct Claim: Sendable {
        let account: String
        /// The token with which the account buys; `nil` if the caller does not say.
        let token: AppAccountToken?
    }

    /// Records evidence.
    init(
        recording brought: BroughtEvidence, _ policy: LedgerPolicy, _ connection: any SQLConnection,
        _ cause: LedgerEvent.Cause, at now: Instant
    ) throws(LedgerError) {
        let families = try Families(
            of: [brought], connection, at: now, usingTokens: policy.orders != nil, whole: policy.lifecycleEvents)
        try self.init(
            recording: brought, families, families.numbers(of: brought), policy, connection, cause, at: now)
    }

    /// Records evidence about families.
    ///
    /// - Parameter numbers: The numbers of the families of what is brought.
    init(
        recording brought: BroughtEvidence, _ families: Families, _ numbers: [Int64], _ policy: LedgerPolicy,
        _ connection: any SQLConnection, _ cause: LedgerEvent.Cause, at now: Instant
    ) throws(LedgerError) {
        self.policy = policy
        self.now = now
        self.cause = cause
        self.connection = connection
        self.brought = brought
        self.families = families
        self.numbers = numbers
        for (family, contents) in families.with(numbers) {
            self.families.add(contents.variants.keys, to: family.id)
            evidence.add(contents)
            grants.add(contents)
        }
        for (purchase, keys) in brought.purchases {
            if let keys { try evidence.record(purchase, keys.transaction, connection) }
        }
        for renewal in brought.renewals { try evidence.record(renewal, connection) }
        if policy.lifecycleEvents { try evidence.addEarlierRenewals(connection) }
        makeGroups()
        for (family, grant) in families.lost where numbers.contains(family) && grant.quantity > 0 {
            var taken = grant
            (taken.quantity, taken.seats) = (0, nil)
            events.append(
                taken.event(.revoked, cause, item(of: grant.transaction), before: grant.quantity, at: now))
        }
        try claimByTokens()
    }

    private mutating func makeGroups() {
        var byFirst: [TransactionKey: Int] = [:]
        let entitlements = policy.entitlements(evidence, at: now)
        subscriptions = entitlements.subscriptions
        for item in entitlements.items {
            guard let key = PurchaseKeys(item.purchase)?.transaction else { continue }
            let first = TransactionKey(
                environment: key.environment, bundleID: key.bundleID,
                transactionID: UTF8Bytes(item.firstTransactionID))
            let index = byFirst[first] ?? groups.count
            if index == groups.count {
                byFirst[first] = index
                groups.append(Group(items: []))
            }
            groups[index].items.append((key, item))
            groupsByTransaction[key] = index
        }
    }

    // MARK: Tokens

    /// The account of the token of a purchase, if it has one (R1, R14): not of a shared purchase (R7).
    private func holder(of purchase: Purchase) -> AccountTokens.Holder? {
        guard !purchase.isShared else { return nil }
        return AccountTokens.token(of: purchase).flatMap { families.tokens?[$0] }
    }

    /// Makes the accounts of tokens the owners of what nobody owns, whoever brought the evidence (R1). Of several
    /// tokens of a family, that of the earliest purchase counts.
    private mutating func claimByTokens() throws(LedgerError) {
        guard families.tokens != nil else { return }
        for (key, item) in itemsByDate {
            guard let family = families[key], family.account == nil, policy.isForSale(item.productID),
                let holder = holder(of: item.purchase)
            else { continue }
            try families.claim(
                family.id, for: holder.account, restingOn: ClaimBasis(keys(in: family.id), evidence), at: now)
        }
    }

    /// The known transactions of a family.
    private func keys(in family: Int64) -> [TransactionKey] {
        evidence.variants.keys.filter { families[$0]?.id == family }
    }

    private var itemsByDate: [(key: TransactionKey, item: Entitlements.Item)] {
        groups.flatMap(\.items).sorted {
            ($0.item.purchase.purchaseDate, $0.key) < ($1.item.purchase.purchaseDate, $1.key)
        }
    }

    /// Notes the tokens that wait for their account (R3), and tells owners of those that are another account's (R5):
    /// once for each token of a family.
    private mutating func noteTokens() throws(LedgerError) {
        // Time alone says nothing new of tokens.
        guard cause != .beginning, cause != .migration, let tokens = families.tokens else { return }
        var seen: [Int64: Set<AppAccountToken>] = [:]
        for (key, item) in itemsByDate {
            guard let token = AccountTokens.token(of: item.purchase), let family = families[key],
                !item.purchase.isShared, seen[family.id, default: []].insert(token).inserted
            else { continue }
            let note = tokens.note(token, family.id)
            guard let holder = tokens[token] else {
                if note == nil { try connection.note(.waiting, token, family.id, at: now) }
                continue
            }
            // Nobody is there any more to say that it is theirs (R13).
            if note != .told, !holder.isRetired, let owner = family.account, !owner.hasSameBytes(as: holder.account),
                policy.isForSale(item.productID)
            {
                try connection.note(.told, token, family.id, at: now)
                tell(owner, key, item)
            } else if note == .waiting {
                try connection.note(nil, token, family.id, at: now)
            }
        }
    }

    /// Tells the owner of a purchase of a transaction with the token of another account, and not whose.
    private mutating func tell(_ owner: String, _ key: TransactionKey, _ item: Entitlements.Item) {
        let grant =
            existingGrants(ofPurchaseWith: key).first { $0.account.hasSameBytes(as: owner) }
            ?? Grant(
                transaction: key, account: owner, productID: item.productID, quantity: 0, until: item.accessEndDate,
                isVoided: false)
        events.append(grant.event(.conflict, cause, item, before: grant.quantity, at: now))
        notices.tokenConflicts.append(TokenConflict(transactionID: item.transactionID))
        dispute(key)
    }

    /// Returns why a purchase can't be claimed when a token is required (R4), or `nil` if the first account that
    /// submits it becomes its owner.
    private func missingToken(of item: Entitlements.Item) -> Outcome? {
        // A customer who restores a non-consumable may have bought it before there were tokens.
        let date =
            item.purchase.productType == .nonConsumable
            ? item.purchase.originalPurchaseDate ?? item.purchase.purchaseDate : item.purchase.purchaseDate
        guard let since = policy.orders?.requiresTokenSince, date >= since, !item.purchase.isShared else {
            return nil
        }
        if item.purchase.appAccountToken != nil { return holder(of: item.purchase) == nil ? .notYours : nil }
        return !brought.canHaveToken || item.purchase.offer?.type == .offerCode ? nil : .tokenMissing
    }

    // MARK: Redeeming

    /// Makes an account the owner of the purchases that it brings and nobody has brought before, and returns the
    /// outcomes. The caller posts ``events``.
    mutating func redeem(_ claim: Claim) throws(LedgerError) -> [TransactionOutcome] {
        if importRun != nil { importedFor = claim.account }
        var familiesForOthers: Set<Int64> = []
        for group in groups {
            for (key, item) in group.items where isForAnother(item.purchase, claim) {
                if let family = families[key] { familiesForOthers.insert(family.id) }
            }
        }
        let broughtByFamily = Dictionary(grouping: brought.claimed.compactMap(\.keys?.transaction)) { families[$0]?.id }
        for (_, keys) in brought.claimed {
            // DANGEROUS: whoever brings evidence first owns the purchase for good, since nothing in most evidence says
            // whose it is. A purchase claimed too easily here is lost to its buyer. Claim only a purchase that is for
            // sale, has no owner, and was not bought with the token of another account, as far as anything known of its
            // family says. With old evidence that has no token, such as a receipt, nobody gets what was bought for
            // another account since.
            guard let keys, let family = families[keys.transaction], family.account == nil,
                let item = item(of: keys.transaction), policy.isForSale(item.productID), missingToken(of: item) == nil,
                isFor(item.purchase, claim) || !familiesForOthers.contains(family.id)
            else { continue }
            let basis = ClaimBasis(broughtByFamily[family.id] ?? [], evidence)
            try families.claim(family.id, for: claim.account, restingOn: basis, at: now)
        }
        for case (let family?, let keys) in broughtByFamily {
            guard families.byID[family]?.account?.hasSameBytes(as: claim.account) ?? false else { continue }
            try families.extendClaim(family, by: ClaimBasis(keys, evidence))
        }
        try decide()
        var seen: Set<TransactionKey> = []
        var outcomes: [TransactionOutcome] = []
        for (purchase, keys) in brought.claimed {
            if let keys, !seen.insert(keys.transaction).inserted { continue }
            let outcome = outcome(of: purchase.purchase, keys, claim)
            if let keys, [.undetermined, .notYours, .belongsToAnother].contains(outcome.outcome) {
                dispute(keys.transaction)
            }
            outcomes.append(outcome)
        }
        return outcomes
    }

    private func isForAnother(_ purchase: Purchase, _ claim: Claim) -> Bool {
        if let holder = holder(of: purchase) { return !holder.account.hasSameBytes(as: claim.account) }
        guard let token = purchase.appAccountToken, let expected = claim.token else { return false }
        return token != expected
    }

    private func isFor(_ purchase: Purchase, _ claim: Claim) -> Bool {
        if let holder = holder(of: purchase) { return holder.account.hasSameBytes(as: claim.account) }
        return claim.token.map { $0 == purchase.appAccountToken } ?? false
    }

    func item(of key: TransactionKey) -> Entitlements.Item? {
        groupsByTransaction[key].flatMap { index in groups[index].items.first { $0.key == key }?.item }
    }

    /// The grants of a purchase.
    private func existingGrants(of group: Group) -> [Grant] {
        if group.items.count == 1, group.items[0].item.purchase.productType != .nonConsumable {
            return grants[group.items[0].key].map { [$0] } ?? []
        }
        return Grant.keys(of: group.items).sorted().compactMap { grants[$0] }
    }

    /// The grants of the purchase of a transaction.
    func existingGrants(ofPurchaseWith key: TransactionKey) -> [Grant] {
        groupsByTransaction[key].map { existingGrants(of: groups[$0]) } ?? []
    }

    /// The grants of one period that its owner has under another transaction, too, since it became known later that
    /// both are of one period. Of several, the first one counts.
    private func repeatedGrants(_ existing: [Grant], of group: Group) -> Set<TransactionKey> {
        guard existing.count > 1, group.items.contains(where: { $0.item.purchase.isOneOfSeveral }) else { return [] }
        var accounts: Set<UTF8Bytes> = []
        let ordered = existing.filter { !$0.isVoided }
            .sorted { ($0.grantedAt, $0.transaction) < ($1.grantedAt, $1.transaction) }
        return Set(ordered.filter { !accounts.insert(UTF8Bytes($0.account)).inserted }.map(\.transaction))
    }

    private func outcome(
        of purchase: Purchase, _ keys: PurchaseKeys?, _ claim: Claim
    ) -> TransactionOutcome {
        // What another account has is not told.
        func answer(_ outcome: Outcome, _ item: Entitlements.Item?, _ own: Grant? = nil) -> TransactionOutcome {
            let reason: String? =
                switch outcome {
                case .granted, .alreadyYours: nil
                case .tooEarly, .expired, .revoked, .undetermined:
                    (item?.reason ?? purchase.undecidable)?.rawValue ?? outcome.rawValue
                case .belongsToAnother, .notForSale, .notYours, .tokenMissing: outcome.rawValue
                }
            let priced = own.flatMap { _ in item?.purchase } ?? purchase
            return TransactionOutcome(
                transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
                grantedAs: own?.transaction.transactionID.string, productID: purchase.productID,
                bundleID: purchase.bundleID, environment: purchase.environment, outcome: outcome,
                access: item?.access, reason: reason, quantity: Int(own?.quantity ?? 0),
                seats: own?.seats.map(Int.init),
                until: item?.accessEndDate,
                purchaseDate: own.flatMap { self.item(of: $0.transaction) }?.purchase.purchaseDate
                    ?? purchase.purchaseDate,
                length: item?.length?.code, price: priced.price, currency: priced.currency,
                storefront: priced.storefront,
                isTypeStated: item.flatMap { $0.purchase.productType == nil ? nil : $0.isTypeStated },
                isOwnerConflict: outcome == .belongsToAnother && item.map { isFor($0.purchase, claim) } ?? false)
        }
        guard let keys, let index = groupsByTransaction[keys.transaction], let item = item(of: keys.transaction) else {
            return answer(.undetermined, nil)
        }
        let existing = existingGrants(of: groups[index])
        if !existing.isEmpty {
            let repeated = repeatedGrants(existing, of: groups[index])
            let own = existing.filter {
                $0.account.hasSameBytes(as: claim.account) && !repeated.contains($0.transaction)
            }
            // There are several if it became known later that they are of one purchase.
            let grant = own.first { $0.transaction == keys.transaction } ?? own.first { $0.quantity > 0 } ?? own.first
            guard let grant else { return answer(.belongsToAnother, item) }
            if granted.contains(keys.transaction) { return answer(.granted, item, grant) }
            return answer(grant.quantity > 0 ? .alreadyYours : .revoked, item, grant)
        }
        if let owner = families[keys.transaction]?.account, !owner.hasSameBytes(as: claim.account) {
            return answer(.belongsToAnother, item)
        }
        if !policy.isForSale(item.productID) { return answer(.notForSale, item) }
        if families[keys.transaction]?.account == nil { return answer(missingToken(of: item) ?? .notYours, item) }
        switch item.access {
        case .notYet: return answer(.tooEarly, item)
        case .expired, .upgraded: return answer(.expired, item)
        case .revoked, .consumable: return answer(.revoked, item)
        case .active, .owned, .lengthUnknown, .undetermined: return answer(.undetermined, item)
        @unknown default: return answer(.undetermined, item)
        }
    }

    // MARK: Settling

    /// Brings what was granted in line with what the evidence says, for all purchases that have an owner, and posts the
    /// events, which it returns.
    ///
    /// - Parameter notification: The one that brought the evidence; `nil` if it was no notification.
    @discardableResult
    mutating func settle(after notification: VerifiedNotification? = nil) throws(LedgerError) -> [LedgerEvent] {
        try decide()
        if let notification { try tellRefund(notification) }
        let told = try connection.post(events, closingOrdersOf: newPurchases, policy, at: now).told
        try connection.ask(questions, at: now)
        // The account that submits one gets the outcome.
        if cause != .redeem { for key in endedUnheard { try connection.noteEnded(key, at: now) } }
        return told
    }

    /// Brings what was granted in line with what the evidence says, for all purchases that have an owner. The caller
    /// posts ``events``.
    mutating func decide() throws(LedgerError) {
        let broughtKeys = Set(brought.claimed.compactMap(\.keys?.transaction))
        for group in groups {
            // If a restored transaction is brought, it is the one that is answered with `granted`.
            guard let (key, item) = group.items.first(where: { broughtKeys.contains($0.key) }) ?? group.items.first
            else { continue }
            if let date = item.nextChange, families[key]?.account != nil {
                try connection.remember(group.items[0].key, dueAt: date)
            }
            var existing = existingGrants(of: group)
            if existing.isEmpty, broughtKeys.contains(key), let bought = try grantAsBought(key, item) {
                existing = [bought]
            }
            if existing.isEmpty {
                try grant(key, item)
                if broughtKeys.contains(key), !granted.contains(key) { noteEnded(key, item) }
            } else {
                let repeated = repeatedGrants(existing, of: group)
                for grant in existing { try change(grant, item, isRepeated: repeated.contains(grant.transaction)) }
            }
            if !existing.isEmpty || granted.contains(key) { try keepStatedTypes(of: group) }
        }
        try noteTokens()
        try tellLifecycles()
        try keepParts()
    }

    /// Keeps how large subscriptions are divided, and when time alone changes what was decided.
    private func keepParts() throws(LedgerError) {
        for (family, contents) in families.with(numbers) where family.account != nil && !family.isOfMember {
            let isLarge = contents.variants.count > policy.wholeFamilyLimit
            guard connection.isSnapshot ? isLarge && family.subscription == nil : isLarge || family.subscription != nil
            else { continue }
            let variants = evidence.variants.filter { families[$0.key]?.id == family.id }
            var changes: [TransactionKey: Instant] = [:]
            for key in variants.keys { changes[key] = change(of: key) }
            // A grant without evidence, which was imported, is in no part.
            let isComplete = contents.grants.allSatisfy { variants[$0.transaction] != nil }
            try families.keep(isComplete ? SubscriptionParts(variants) : nil, of: family, changes)
        }
    }

    /// The date from which time alone can change what an account has of a transaction, or what the settings can change
    /// at any time.
    private func change(of key: TransactionKey) -> Instant? {
        guard let index = groupsByTransaction[key], let item = item(of: key) else { return nil }
        if case .notYet = item.access { return .distantPast }
        if item.access.isGrantable, existingGrants(of: groups[index]).isEmpty { return .distantPast }
        return item.nextChange
    }

    /// Keeps what the policy states of a product that was granted by it: another setting, or none, must not change what
    /// a customer has.
    private mutating func keepStatedTypes(of group: Group) throws(LedgerError) {
        for (key, item) in group.items {
            if let type = item.statedType { try evidence.keep(type, key, connection) }
        }
    }

    /// Grants a line's own transaction as it was bought, without an event: the backend granted it itself. A later
    /// refund changes this grant.
    ///
    /// - Returns: `nil` if it is none of a line's, or gives the account nothing.
    private mutating func grantAsBought(
        _ key: TransactionKey, _ item: Entitlements.Item
    ) throws(LedgerError) -> Grant? {
        guard let importedFor, let account = families[key]?.account, account.hasSameBytes(as: importedFor),
            policy.isForSale(item.productID), let owned = item.ownedQuantity,
            owned == 0 || item.access.isGrantable || item.access == .lengthUnknown
        else { return nil }
        let quantity =
            item.purchase.productType == .autoRenewableSubscription ? 1 : Int64(max(1, item.purchase.quantity ?? 1))
        var grant = Grant(
            transaction: key, account: account, productID: item.productID, quantity: quantity,
            until: item.accessEndDate,
            seats: owned == 0 ? nil : item.periodSeats.map(Int64.init), isVoided: false)
        grant.importRun = importRun
        try grants.insert(grant, connection, at: now)
        granted.insert(key)
        noteLength(of: item)
        askAtEnd(of: grant, item)
        return grant
    }

    /// Notes that something is granted without an end, because nobody stated how long it lasts.
    private mutating func noteLength(of item: Entitlements.Item) {
        if item.length == .unknown { notices.unknownLengths.append(item.productID) }
    }

    private mutating func grant(_ key: TransactionKey, _ item: Entitlements.Item) throws(LedgerError) {
        // A non-renewing subscription whose length only the app knows is granted once, as a consumable is.
        guard item.access.isGrantable || item.access == .lengthUnknown, let quantity = item.ownedQuantity,
            let account = families[key]?.account, policy.isForSale(item.productID)
        else { return }
        var grant = Grant(
            transaction: key, account: account, productID: item.productID, quantity: Int64(quantity),
            until: item.accessEndDate, seats: item.periodSeats.map(Int64.init), isVoided: false)
        grant.importRun = importRun
        try grants.insert(grant, connection, at: now)
        granted.insert(key)
        noteLength(of: item)
        // Renewals, and what else follows a first purchase, have its id as the original one.
        if key.transactionID == UTF8Bytes(item.originalTransactionID), !item.purchase.isShared {
            newPurchases.append(NewPurchase(grant: grant, token: AccountTokens.token(of: item.purchase)))
        }
        events.append(grant.event(.granted, cause, item, before: 0, at: now))
        questions += policy.questions?.confirmations(of: key, cause, policy.surroundings, at: now) ?? []
        if let question = policy.questions?.refunds(of: Self.original(of: grant, item), at: now) {
            questions.append(question)
        }
        askAtEnd(of: grant, item)
    }

    private mutating func noteEnded(_ key: TransactionKey, _ item: Entitlements.Item) {
        guard case .expired = item.access, item.purchase.productType == .autoRenewableSubscription,
            policy.isForSale(item.productID), let family = families[key], family.account != nil,
            let claimedAt = family.claimedAt, let end = item.accessEndDate, claimedAt < end
        else { return }
        endedUnheard.append(key)
    }

    // MARK: Questions

    private static func original(of grant: Grant, _ item: Entitlements.Item) -> TransactionKey {
        TransactionKey(
            environment: grant.transaction.environment, bundleID: grant.transaction.bundleID,
            transactionID: UTF8Bytes(item.originalTransactionID))
    }

    /// Asks what became of a subscription when its period ends.
    private mutating func askAtEnd(of grant: Grant, _ item: Entitlements.Item) {
        guard let policy = policy.questions, item.purchase.productType == .autoRenewableSubscription,
            grant.quantity > 0,
            let end = grant.until
        else { return }
        let key = Self.original(of: grant, item)
        if let question = policy.ending(of: key, at: end, now: now) { questions.append(question) }
    }

    /// Asks what Apple says of a transaction that somebody brought and was not granted.
    private mutating func dispute(_ key: TransactionKey) {
        guard let question = policy.questions?.dispute(of: key, at: now),
            questions.count(where: { $0.reason == .disputed }) < QuestionPolicy.maximumDisputedCount
        else { return }
        questions.append(question)
    }

    /// - Parameter isRepeated: Whether the account has the purchase under another transaction.
    private mutating func change(
        _ grant: Grant, _ item: Entitlements.Item, isRepeated: Bool
    ) throws(LedgerError) {
        guard !grant.isVoided else { return }
        var changed = grant
        if item.purchase.productType == .autoRenewableSubscription { changed.adjusted = grant.adjusted?.ofSubscription }
        changed.quantity = item.ownedQuantity.map { changed.quantity(signed: Int64($0)) } ?? grant.quantity
        // What a later version of the ledger may understand takes nothing back.
        if item.access != .undetermined {
            changed.until = item.accessEndDate
            changed.seats = item.periodSeats.map(Int64.init)
        }
        if isRepeated { (changed.quantity, changed.seats) = (0, nil) }
        // The end of what the account does not have is of no interest.
        guard (grant.quantity, changed.quantity) != (0, 0), var kind = changed.kind(after: grant) else { return }
        // Apple took nothing back.
        if isRepeated { kind = .adjusted }
        try grants.update(changed, connection, at: now)
        askAtEnd(of: changed, item)
        // What was granted before cannot begin.
        let cause = cause == .beginning ? LedgerEvent.Cause.revocation : cause
        events.append(
            changed.event(kind, cause, self.item(of: grant.transaction) ?? item, before: grant.quantity, at: now))
    }

    // MARK: Support

    func grant(of key: TransactionKey) -> Grant? { grants[key] }

    /// Sets the quantity of a grant, or has it follow the evidence again. The caller posts ``events``.
    ///
    /// - Parameter quantity: `nil` for what the evidence says.
    /// - Returns: What the account has of it now.
    mutating func adjust(_ key: TransactionKey, to quantity: Int64?) throws(LedgerError) -> Grant {
        guard let grant = grants[key] else { throw LedgerError(.notFound, "grant of the account") }
        guard !grant.isVoided else { throw LedgerError(.notAdjustable, "an operator took it back in the database") }
        // A restored non-consumable can have been granted by its first transaction, without evidence of that.
        let item =
            item(of: key)
            ?? groups.first { existingGrants(of: $0).contains { $0.transaction == key } }?.items.first?.item
        if let index = groupsByTransaction[key],
            repeatedGrants(existingGrants(of: groups[index]), of: groups[index]).contains(key)
        {
            throw LedgerError(.notAdjustable, "the account has the period under another transaction")
        }
        let signed = item?.ownedQuantity.map(Int64.init) ?? grant.adjusted?.signedThen ?? grant.quantity
        var changed = grant
        changed.adjusted = quantity.map { AdjustedQuantity(quantity: $0, signedThen: signed) }
        if let quantity, quantity > 0 {
            guard signed > 0 else { throw LedgerError(.notAdjustable, "Apple took it back") }
            guard quantity == 1 || item?.purchase.productType ?? .consumable == .consumable else {
                throw LedgerError(.invalidText, "quantity: 0 or 1 of what is no consumable")
            }
        }
        changed.quantity = changed.quantity(signed: signed)
        if let item { (changed.until, changed.seats) = (item.accessEndDate, item.periodSeats.map(Int64.init)) }
        try grants.update(changed, connection, at: now)
        if let kind = changed.kind(after: grant) {
            events.append(changed.event(kind, cause, item, before: grant.quantity, at: now))
        }
        return changed
    }
}

extension Purchase {
    /// Whether another customer paid for it: such a transaction has no token, and no order announces it.
    var isShared: Bool { ownershipType == .familyShared || ownershipType == .assigned }
}
