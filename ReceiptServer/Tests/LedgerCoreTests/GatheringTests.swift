@_spi(Ledger) import AppStoreReceipt
@testable import LedgerCore
import LedgerModels
import StrictText
import Testing

/// Which transactions belong together, and what becomes of lineages that are joined or split.
@Suite struct GatheringTests {
    /// - Parameter member: The app transaction of the member whose it is; `nil` for what only a receipt says.
    private func purchase(
        _ id: String, of original: String? = nil, previously previous: String? = nil, member: String? = nil,
        at date: Double = 0
    ) -> SubmittedPurchase {
        var purchase = Purchase(
            productID: "team", transactionID: id, originalTransactionID: original ?? id, quantity: 1,
            purchaseDate: day(date), signedDate: day(date))
        (purchase.bundleID, purchase.environment) = ("a", .production)
        (purchase.productType, purchase.expiresDate) = (.autoRenewableSubscription, day(date + 30))
        purchase.previousOriginalTransactionID = previous
        if let member { (purchase.ownershipType, purchase.appTransactionID) = (.assigned, member) }
        return SubmittedPurchase(purchase)
    }

    private func key(_ id: String, _ environment: AppStoreEnvironment = .production) -> TransactionKey {
        TransactionKey(environment: environment, bundleID: "a", transactionID: id)
    }

    private func identifiers(_ numbers: [String: Int64]) -> [TransactionKey: Int64] {
        Dictionary(uniqueKeysWithValues: numbers.map { (key($0.key), $0.value) })
    }

    private func ids(_ keys: some Sequence<TransactionKey>) -> [String] { keys.map(\.transactionID.string) }

    private func renewal(of id: String) -> SubscriptionRenewal {
        var renewal = SubscriptionRenewal(originalTransactionID: id, signedDate: day(1))
        renewal.environment = .production
        return renewal
    }

    private func lineage(
        _ id: Int64, _ purchases: [SubmittedPurchase], owner account: String? = nil, claim number: Int64 = 1,
        basis: ClaimBasis? = .lasting
    ) -> Lineage {
        var lineage = Lineage(id: id)
        for purchase in purchases { lineage.record(purchase, key(purchase.purchase.transactionID)) }
        lineage.owner = account.map {
            Lineage.Ownership(account: $0, claimedAt: day(Double(number)), order: .number(number), basis: basis)
        }
        return lineage
    }

    private func gathered(
        _ submission: Submission, _ known: [Lineage], _ numbers: [String: Int64], members: Set<Int64> = []
    ) -> Lineages {
        var lineages = Lineages()
        for lineage in known { lineages.byID[lineage.id] = lineage }
        lineages.freeNumbers = [10, 11, 12, 13]
        lineages.gather(Gathering([submission], submission.keys, identifiers(numbers), members: members))
        return lineages
    }

    // MARK: Groups

    @Test func `transactions of one lineage are one group, and the keys decide the order of the groups`() {
        let submission = Submission((1...9).map { purchase("\($0)") })
        let gathering = Gathering(
            [submission], submission.keys, identifiers(["1": 7, "3": 7, "5": 7]), members: [])
        #expect(gathering.groups.map(ids) == [["1", "3", "5"], ["2"], ["4"], ["6"], ["7"], ["8"], ["9"]])
    }

    @Test func `a receipt's original of a member's transaction does not count, also if both are submitted at once`() {
        let evidence = Submission([purchase("3", of: "1")], related: [purchase("3", of: "1", member: "701")])
        let gathering = Gathering([evidence], evidence.keys, [:], members: [])
        #expect(gathering.groups.map(ids) == [["3", "assigned-701-1"]])
        // What is known of it is not loaded, but what renewal information is about is.
        let receipt = Submission([purchase("3", of: "1")], [renewal(of: "9")])
        let known = Gathering(
            [receipt], receipt.keys.union([key("9")]), identifiers(["1": 6, "3": 5, "9": 7]), members: [5])
        #expect(ids(known.keys) == ["3", "9"] && known.lineages == [5, 7])
    }

    @Test func `a purchase joins what a member's original transaction leaves, also if that is split off now`() {
        let submission = Submission([purchase("9", of: "7")], related: [purchase("7", member: "701")])
        let gathering = Gathering([submission], submission.keys, identifiers(["7": 4]), members: [])
        #expect(gathering.groups.map(ids) == [["7", "assigned-701-7"], ["9", "bought-7"]])
        #expect(gathering.identifiers == identifiers(["bought-7": 4]))
    }

    @Test func `a submission is about the lineages of its purchases, and of its renewal information's environment`() {
        let submissions = [Submission([], [renewal(of: "9")]), Submission([purchase("2")])]
        var known = identifiers(["9": 5, "bought-9": 8, "2": 7])
        known[key("9", .sandbox)] = 6
        let gathering = Gathering(submissions, Set(known.keys), known, members: [])
        var lineages = Lineages()
        for id in known.values { lineages.byID[id] = Lineage(id: id) }
        lineages.gather(gathering)
        #expect(submissions.map { gathering.numbers(of: $0, in: lineages) } == [[5, 8], [7]])
    }

    // MARK: Joining

    private func state(_ product: String) throws -> LifecycleState {
        var signed = purchase("1").purchase
        signed.productID = product
        let entitlements = Entitlements(trustingStored: [signed], at: day(1))
        return LifecycleState(try #require(entitlements.subscriptions.first))
    }

    /// The date of the other lineage's newest period, its owner, and whether its state is kept.
    @Test(
        arguments: [
            (4, "anna", false), (5, "anna", false), (6, "anna", true), (6, "ben", false), (6, nil, false),
        ] as [(Double, String?, Bool)])
    func `of joined lineages of one account, the state of the subscription with the newest period stays`(
        _ date: Double, _ second: String?, _ isOthers: Bool
    ) throws {
        let joining = Submission([purchase("3", of: "2", previously: "1")])
        var (one, other) = (lineage(1, [purchase("1", at: 5)], owner: "anna"), lineage(2, [purchase("2", at: date)]))
        other.owner = second.flatMap { lineage(2, [], owner: $0, claim: 2).owner }
        (one.lifecycle, other.lifecycle) = (try state("one"), try state("other"))
        let lineages = gathered(joining, [one, other], ["1": 1, "2": 2])
        #expect(lineages.byID.keys.sorted() == [1])
        #expect(try lineages.byID[1]?.lifecycle == state(isOthers ? "other" : "one"))
        #expect(lineages.structure.undivided.isEmpty)
        #expect(lineages.structure.transfers.map { [$0.from, $0.to] } == (second == "ben" ? [["ben", "anna"]] : []))
    }

    // MARK: Splitting

    /// What the buyer's claim rests on, and who owns the member's lineage; then who owns the buyer's and the member's,
    /// and what grants are lost.
    @Test(
        arguments: [
            (ClaimBasis(isLasting: false, ["3"]), nil, nil, "buyer", ["1", "2"]),
            (ClaimBasis(isLasting: false, ["3"]), "anna", nil, "anna", ["3", "1", "2"]),
            (ClaimBasis(isLasting: false, ["3"]), "buyer", nil, "buyer", ["1", "2"]),
            (ClaimBasis(isLasting: false, ["1", "3"]), nil, "buyer", "buyer", []),
            (ClaimBasis(isLasting: true, ["3"]), nil, "buyer", "buyer", []),
            (ClaimBasis(isLasting: false, ["1"]), nil, "buyer", nil, ["3"]),
            (ClaimBasis(isLasting: false, ["1"]), "anna", "buyer", "anna", ["3"]),
            (ClaimBasis(isLasting: false, ["1"]), "buyer", "buyer", "buyer", []),
            (.lasting, nil, "buyer", nil, ["3"]),
            // An account that got a lineage without evidence by a transfer.
            (ClaimBasis(isLasting: false, []), nil, "buyer", nil, ["3"]),
        ] as [(ClaimBasis, String?, String?, String?, [String])])
    func `a member's transaction leaves its lineage with its grant, and takes the claim along that rests on it`(
        _ basis: ClaimBasis, _ member: String?, _ owner: String?, _ memberAfter: String?, _ lost: [String]
    ) {
        let known = ["1", "2", "3", "4", "6"].map { purchase($0, of: "1") }
        var left = lineage(1, known, owner: "buyer", basis: basis)
        left.division = Division(original: UTF8Bytes("1"), areTokensNoted: true, [:])
        // Another account's, one without evidence, and one that an operator took back stay.
        for (id, account) in [("1", "buyer"), ("2", "buyer"), ("3", "buyer"), ("4", "carl"), ("5", "buyer")] {
            left.grants[key(id)] = Grant(transaction: key(id), account: account, productID: "team", quantity: 1)
        }
        left.grants[key("6")] = Grant(
            transaction: key("6"), account: "buyer", productID: "team", quantity: 0, isVoided: true)
        var members = lineage(2, [purchase("31", of: "1", member: "701")], owner: member)
        members.isOfMember = true
        let submission = Submission([purchase("3", of: "1", member: "701")])
        let lineages = gathered(submission, [left, members], ["3": 1, "assigned-701-1": 2], members: [2])
        #expect(lineages.byID[1]?.owner?.account == owner && lineages.byID[2]?.owner?.account == memberAfter)
        #expect(owner == nil || lineages.byID[1]?.owner?.basis?.transactions.contains(UTF8Bytes("3")) == false)
        let structure = lineages.structure
        #expect(ids(structure.lost.map(\.grant.transaction)) == lost && structure.lost.allSatisfy { $0.lineage == 1 })
        let stay = ["1", "2", "3", "4", "5", "6"].filter { !lost.contains($0) }
        #expect(ids(lineages.byID.values.flatMap(\.grants.keys)).sorted() == stay)
        #expect(lineages[key("3")]?.id == 2 && lineages.byID[2]?.evidence.count == 2)
        #expect(structure.moved == [key("3")] && structure.undivided == [1] && lineages.byID[1]?.division == nil)
    }

    @Test func `transactions of two members leave two lineages, one of which is joined with another`() {
        let known = [
            lineage(1, [purchase("50")], owner: "anna"),
            lineage(2, [purchase("1"), purchase("3", of: "1")], owner: "buyer", claim: 2),
            lineage(5, [purchase("61"), purchase("63", of: "61")]),
        ]
        let submission = Submission([
            purchase("3", of: "1", member: "701"), purchase("63", of: "61", member: "702"),
            purchase("9", of: "1", previously: "50"),
        ])
        let lineages = gathered(submission, known, ["50": 1, "1": 2, "3": 2, "63": 5])
        func evidence(_ id: String) -> [String] { ids(lineages[key(id)]?.evidence.keys.sorted() ?? []) }
        #expect(["1", "3", "61", "63"].map(evidence) == [["1", "50"], ["3"], ["61"], ["63"]])
        #expect(["1", "61"].map { lineages[key($0)]?.id } == [1, 5])
        let structure = lineages.structure
        #expect(structure.names.map(\.key) == [key("bought-3"), key("bought-63")])
        #expect(structure.names.map(\.lineage) == [1, 5])
        #expect(ids(structure.inserted.sorted()) == ["9", "assigned-701-1", "assigned-702-61"])
    }

    // MARK: Claims

    /// What a claim rests on, what is submitted later, and what it rests on then.
    @Test(
        arguments: [
            (ClaimBasis(isLasting: false, ["3"]), ClaimBasis(isLasting: false, ["2"]), false, ["2", "3"]),
            (ClaimBasis(isLasting: false, ["3"]), .lasting, true, ["3"]),
            // Another's transaction in a receipt is not the owner's.
            (.lasting, ClaimBasis(isLasting: false, ["3"]), true, []),
        ] as [(ClaimBasis, ClaimBasis, Bool, [String])])
    func `a claim rests on all that its owner submits, until it is lasting`(
        _ basis: ClaimBasis, _ more: ClaimBasis, _ isLasting: Bool, _ transactions: [String]
    ) {
        var lineages = Lineages()
        lineages.byID[1] = lineage(1, [], owner: "anna", basis: basis)
        lineages.extendClaim(of: 1, by: more)
        let extended = lineages.byID[1]?.owner?.basis
        #expect(extended?.isLasting == isLasting && extended?.transactions.map(\.string).sorted() == transactions)
    }

    @Test func `a new owner has had no event about the subscription`() throws {
        var lineages = Lineages()
        lineages.byID[1] = lineage(1, [])
        lineages.byID[1]?.lifecycle = try state("team")
        lineages.claim(1, for: "anna", restingOn: .lasting, at: day(1))
        #expect(lineages.byID[1]?.owner?.account == "anna" && lineages.byID[1]?.lifecycle == nil)
    }
}

extension ClaimBasis {
    fileprivate init(isLasting: Bool, _ transactions: [String]) {
        self.init(isLasting: isLasting, Set(transactions.map(UTF8Bytes.init)))
    }
}
