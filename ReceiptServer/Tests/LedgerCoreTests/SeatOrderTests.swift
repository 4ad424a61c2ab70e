import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerModels
import Sampling
import SeededRandom
import StrictText
import Testing

@testable import LedgerCore

/// What a buyer of seats and two members have, in every order in which their history can arrive.
@Suite struct SeatOrderTests {
    private struct Step {
        let name: String
        /// The account that submits it; `nil` for notifications.
        let account: String?
        let pieces: [VerifiedEvidence]
    }

    /// A ledger, after steps in an order.
    private struct Node {
        var order: [Int] = []
        var ledger = MemoryLedger()
        var model = LedgerModel()
    }

    /// Searches the states level by level, and tries every remaining step from each, or a sample of these steps. If two
    /// orders lead to the same state, only one continues.
    @Test func `a buyer and two members have the same in every order of arrival`() throws {
        let steps = try Self.steps()
        var random = SeededGenerator(seed: Sampling.seed)
        var nodes = [Node()]
        var (states, arrivals) = (0, 0)
        while !nodes.isEmpty {
            let all = nodes.flatMap { node in
                steps.indices.filter { !node.order.contains($0) }.map { (node, $0) }
            }
            (nodes, states) = ([], states + nodes.count)
            var seen: Set<String> = []
            for (last, next) in Sampling.share(all.shuffled(using: &random), of: "seat-orders") {
                var node = last
                node.order.append(next)
                node.ledger = last.ledger.copy()
                try take(steps[next], &node)
                let names = node.order.map { steps[$0].name }
                check(node, Set(names), Comment(rawValue: names.joined(separator: ", ")))
                arrivals += 1
                if seen.insert("\(node.order.sorted()) \(Self.state(node.ledger))").inserted { nodes.append(node) }
            }
        }
        print("seats: \(states) states, \(arrivals) arrivals")
    }

    private func take(_ step: Step, _ node: inout Node) throws {
        for (place, piece) in step.pieces.enumerated() {
            // One after another, and all after the last date.
            let now = day(25) + .seconds(Int64(10 * node.order.count + place))
            if let account = step.account {
                let outcomes = node.ledger.redeem(piece, for: account, at: now)
                let expected = node.model.redeem(piece, for: account, at: now)
                #expect(outcomes == expected, "\(node.order)")
            } else {
                node.ledger.record(piece, at: now)
                node.model.record(piece, at: now)
            }
        }
    }

    private func check(_ node: Node, _ arrived: Set<String>, _ names: Comment) {
        let ledger = node.ledger
        #expect(ledger.state == node.model.state, names)
        #expect(ledger.balancesByEvents == ledger.balances, names)
        func has(_ account: String) -> [Int64] {
            ledger.grants.filter { $0.account.hasSameBytes(as: account) }.map(\.quantity)
        }
        let isRefunded =
            arrived.contains("all refunded")
            && (arrived.contains("first refunded") || arrived.isDisjoint(with: ["purchase", "partial refund"]))
        if isRefunded { #expect(has("buyer").allSatisfy { $0 == 0 }, names) }
        let isActive =
            !arrived.isDisjoint(with: ["addition", "upgrade"])
            || arrived.contains("purchase") && !arrived.contains("first refunded")
        let owned = ledger.lineages.byID.values.filter { $0.isOwned(by: "buyer") }
        let active = ledger.rules.entitlements(of: owned, at: day(26)).activeProductIDs
        #expect(active.count == (isActive && !arrived.contains("all refunded") ? 1 : 0), names)
        let isAnnas = arrived.contains("anna") && !arrived.contains("anna removed")
        #expect(has("anna").reduce(0, +) == (isAnnas ? 1 : 0), names)
        #expect(has("berta") == (arrived.contains("berta") ? [1] : []), names)
    }

    /// Everything that decides what happens next, without dates and numbers.
    private static func state(_ ledger: MemoryLedger) -> String {
        let grants = ledger.grants.sorted { ($0.grantedAt, $0.transaction) < ($1.grantedAt, $1.transaction) }.map {
            "\($0.transaction.transactionID.string) \($0.account) \($0.quantity) \($0.seats ?? -1) \($0.until as Any)"
        }
        let names = Dictionary(grouping: ledger.lineages.identifiers.keys) { ledger.lineages.identifiers[$0] }
        let lineages = names.map { id, keys in
            let owner = id.flatMap { ledger.lineages.byID[$0]?.owner }
            let transactions = keys.map(\.transactionID.string).sorted()
            let basis = owner?.basis
            return """
                \(transactions) \(owner?.account ?? "") \(basis?.isLasting ?? false) \
                \(basis?.transactions.map(\.string).sorted() ?? [])
                """
        }
        return (grants + lineages.sorted()).joined(separator: "\n")
    }

    /// The arrivals in a history of a buyer and two members, in steps whose order must not matter.
    private static func steps() throws -> [Step] {
        let (eight, eightAgain) = (SeatTransaction.eight, SeatTransaction.eightAgain)
        let three = SeatTransaction.three
        var (part, first, upgraded, all, allOfGold) = (eightAgain, eightAgain, three, three, three)
        (part.refundedSeats, part.signed) = (2, 12)
        (first.revoked, first.signed) = (14, 14)
        (upgraded.isUpgraded, upgraded.signed) = (true, 20)
        let gold = SeatTransaction(id: "4", days: 20..<50, quantity: 5, product: "gold", signed: 20)
        (all, allOfGold) = (upgraded, gold)
        (all.revoked, all.signed, allOfGold.revoked, allOfGold.signed) = (22, 22, 22, 22)
        let members = ["701", "702"].map { SeatTransaction(id: "3" + $0, quantity: 8, member: $0, signed: 12) }
        var removed = members[0]
        (removed.revoked, removed.revocationType, removed.signed) = (15, .assignmentRevoke, 15)
        let arrivals: [(name: String, account: String?, pieces: [SeatTransaction])] = [
            ("purchase", "buyer", [eight]), ("addition", "buyer", [three]), ("partial refund", nil, [part]),
            ("first refunded", nil, [first]), ("upgrade", "buyer", [upgraded, gold]), ("anna", "anna", [members[0]]),
            ("berta", "berta", [members[1]]), ("anna removed", nil, [removed]),
            ("all refunded", nil, [all, allOfGold]),
        ]
        return try arrivals.enumerated().map { number, arrival in
            Step(
                name: arrival.name, account: arrival.account,
                pieces: try arrival.pieces.enumerated().map { place, piece in
                    arrival.account == nil
                        ? .notification(try piece.notification(.refund, uuid: 10 * number + place)) : try piece.evidence
                })
        }
    }
}
