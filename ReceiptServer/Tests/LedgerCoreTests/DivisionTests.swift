import AppStoreReceipt
@testable import LedgerCore
import LedgerModels
import StrictText
import Testing

/// Which subscriptions are divided, and when a division stays or ends.
@Suite struct DivisionTests {
    private static let bens = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a02")!
    /// The most transactions of a subscription that is not divided, in ``MemoryLedger``.
    private static let wholeLineageLimit = 24

    /// Anna's subscription, as it is loaded.
    private func lineage(_ count: Int) throws -> Lineage {
        var lineage = Lineage(id: 1)
        lineage.storedTransactionCount = count
        lineage.owner = Lineage.Ownership(account: "anna", claimedAt: day(0), order: .number(1), basis: .lasting)
        for number in 0..<count {
            var purchase = Purchase(
                productID: "monthly", transactionID: "\(number + 1)", originalTransactionID: "1",
                purchaseDate: day(Double(30 * number)), signedDate: day(Double(30 * number)))
            (purchase.bundleID, purchase.environment) = (Minted.bundleID, .production)
            (purchase.productType, purchase.expiresDate) = (.autoRenewableSubscription, day(Double(30 * number + 30)))
            purchase.appAccountToken = Self.bens
            let key = try #require(PurchaseKeys(purchase)?.transaction)
            lineage.evidence[key] = [Lineage.Variant(number: 1, purchase: purchase)]
        }
        return lineage
    }

    private func settled(_ lineage: Lineage, holder: TokenHolder? = nil) throws -> (Lineage, undivided: [Int64]) {
        var lineages = Lineages()
        lineages.byID[lineage.id] = lineage
        for key in Array(lineage.evidence.keys) + lineage.grants.keys { lineages.identifiers[key] = lineage.id }
        lineages.holders = holder.map { [Self.bens: $0] } ?? [:]
        var decision = LedgerDecision(
            Submission(), about: [lineage.id], in: lineages, MemoryLedger().rules, .notification, at: day(10_000))
        decision.settle()
        return (try #require(decision.lineages.byID[lineage.id]), decision.lineages.structure.undivided)
    }

    @Test func `a large subscription is divided if it has an owner who is no member, and evidence of all grants`()
        throws
    {
        func isDivided(_ count: Int = Self.wholeLineageLimit + 1, _ change: (inout Lineage) -> Void = { _ in }) throws
            -> Bool
        {
            var lineage = try lineage(count)
            change(&lineage)
            return try settled(lineage).0.division != nil
        }
        #expect(try isDivided())
        #expect(try !isDivided(Self.wholeLineageLimit))
        #expect(try !isDivided { $0.owner = nil })
        #expect(try !isDivided { $0.isOfMember = true })
        let imported = TransactionKey(environment: .production, bundleID: Minted.bundleID, transactionID: "99")
        #expect(
            try !isDivided {
                $0.grants[imported] = Grant(
                    transaction: imported, account: "anna", productID: "monthly", quantity: 1)
            })
    }

    @Test(
        arguments: [(nil, true), ("anna", true), ("ben", true), ("deleted-1", false)] as [(String?, Bool)])
    func `what is loaded without locks stays so, and has its tokens noted unless one must still be reported`(
        _ account: String?, _ areTokensNoted: Bool
    ) throws {
        var lineage = try lineage(2)
        lineage.division = Division(original: UTF8Bytes("1"), areTokensNoted: !areTokensNoted, nil)
        let holder = account.map { TokenHolder(account: $0, isRetired: $0 == "deleted-1") }
        let division = try #require(settled(lineage, holder: holder).0.division)
        #expect(division.periods == nil && division.areTokensNoted == areTokensNoted)
    }

    @Test func `a division of which nothing was loaded stays as it is`() throws {
        var lineage = try lineage(0)
        lineage.division = Division(original: UTF8Bytes("1"), areTokensNoted: true, [:])
        let (settled, undivided) = try settled(lineage)
        #expect(settled.division != nil && undivided.isEmpty)
    }
}
