package import AppStoreReceipt
package import SeededRandom
package import Testing

/// Histories of a buyer of seats, two members and a thief. Anybody may submit anything first, also copies of what is
/// another's.
package struct SeatHistories {
    package enum Step: CustomStringConvertible {
        case submitted(VerifiedEvidence, account: String)
        case recorded(VerifiedNotification)

        package var description: String {
            switch self {
            case .submitted(let evidence, let account):
                "\(account) \(evidence.purchases.map(\.purchase.transactionID))"
            case .recorded(let notification):
                "Apple \(VerifiedEvidence.notification(notification).purchases.map(\.purchase.transactionID))"
            }
        }
    }

    package struct History {
        package var steps: [Step] = []
        /// A receipt joins a member's transactions with the buyer's, which the model does not.
        package var hasReceipts = false
    }

    package static let accounts = ["buyer", "anna", "berta", "eve"]

    private let transactions: [SeatTransaction]
    private let all: [(owner: String, evidence: VerifiedEvidence)]
    private let receipts: [(owner: String, evidence: VerifiedEvidence)]
    /// A renewal that was refunded before it began, and seats that were added to it.
    private let boughtAgain: [(owner: String, evidence: VerifiedEvidence)]

    package init() throws {
        let (eight, eightAgain) = (SeatTransaction.eight, SeatTransaction.eightAgain)
        let three = SeatTransaction.three
        var (refunded, revoked, added, upgraded) = (eightAgain, eightAgain, three, three)
        (refunded.refundedSeats, refunded.signed) = (2, 12)
        (revoked.revoked, revoked.signed) = (14, 14)
        (added.id, added.days, added.signed) = ("5", 12..<30, 12)
        (upgraded.isUpgraded, upgraded.signed) = (true, 15)
        let gold = SeatTransaction(id: "4", days: 15..<45, quantity: 5, product: "gold", signed: 15)
        let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
        let second = SeatTransaction(id: "6", days: 12..<42, quantity: 8, member: "701", signed: 16)
        var removed = member
        (removed.revoked, removed.revocationType, removed.signed) = (15, .assignmentRevoke, 15)
        let other = SeatTransaction(id: "7", quantity: 8, member: "702", signed: 12)
        var (allOfThree, allOfGold) = (upgraded, gold)
        (allOfThree.revoked, allOfThree.signed, allOfGold.revoked, allOfGold.signed) = (18, 18, 18, 18)
        let again = [
            SeatTransaction(id: "20", original: "20", days: 0..<10, quantity: 8, signed: 1),
            SeatTransaction(id: "21", original: "20", days: 10..<25, quantity: 8, revoked: 9, signed: 11),
            SeatTransaction(id: "22", original: "20", days: 12..<25, quantity: 8, addsSeats: true, signed: 12),
        ]
        transactions =
            [eight, eightAgain, refunded, revoked, three, added, upgraded, gold, allOfThree, allOfGold] + again
            + [member, removed, second, other]
        func signed(_ transactions: [SeatTransaction]) throws -> [(owner: String, evidence: VerifiedEvidence)] {
            try transactions.map { ($0.member.map { $0 == "702" ? "berta" : "anna" } ?? "buyer", try $0.evidence) }
        }
        all = try signed(transactions)
        boughtAgain = try signed(again)
        receipts = try [("buyer", eight.receipt), ("anna", member.receipt), ("anna", second.receipt)]
    }

    package func random(using generator: inout SeededGenerator) throws -> History {
        var history = History()
        let isOfFew = Int.random(in: 0..<4, using: &generator) == 0
        let pieces = isOfFew ? boughtAgain : Bool.random(using: &generator) ? all + receipts : all
        for number in 0..<Int.random(in: 2...14, using: &generator) {
            let piece = pieces.randomElement(using: &generator)!
            let account = Int.random(in: 0..<5, using: &generator) == 0 ? "eve" : piece.owner
            if case .transaction = piece.evidence, Int.random(in: 0..<4, using: &generator) == 0 {
                let transaction = transactions.randomElement(using: &generator)!
                history.steps.append(.recorded(try transaction.notification(.didRenew, uuid: number)))
            } else {
                if case .receipt = piece.evidence { history.hasReceipts = true }
                history.steps.append(.submitted(piece.evidence, account: account))
            }
        }
        return history
    }

    /// A period has one grant, also after seats were added to it, and so has a member's transaction.
    ///
    /// - Parameter balances: What accounts have, by account and transaction: `buyer 1`.
    package static func check(_ balances: [String: Int64], _ comment: Comment) {
        for group in [["1", "2", "5"], ["3"], ["4"], ["6"], ["7"], ["20"], ["21", "22"]] {
            let held = balances.keys.filter { key in group.contains { key.hasSuffix(" \($0)") } }
            #expect(held.count <= 1, comment)
        }
        #expect(balances.values.allSatisfy { $0 == 1 }, comment)
    }
}
