import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import PurchaseLedger
import Synchronization
import TrialSupport

/// A process that redeems on 16 threads until it kills itself at a chosen point of a group.
enum KilledLedger {
    /// Prints each transaction when it is answered.
    ///
    /// - Parameter arguments: The ledger, the point, how often to pass it first, and the first transaction.
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 4, let point = GroupPoint(rawValue: arguments[1]), let count = Int(arguments[2]),
            let first = Int(arguments[3])
        else { throw ChildFailure.usage }
        let ledger = try PurchaseLedger(arguments[0])
        let authority = try TestCertificateAuthority(.ellipticCurve)
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production], trust: .roots([authority.trustAnchor]))
        let threadCount = 16
        let coins = try (0..<12 * threadCount).map {
            try verifier.verify(Array(MintedEvidence.coins(first + $0, by: authority).utf8))
        }
        let passed = Atomic(0)
        GroupPoint.watcher.set {
            if $0 == point, passed.add(1, ordering: .relaxed).oldValue == count { kill(getpid(), SIGKILL) }
        }
        let threads = (0..<threadCount).map { thread in
            Thread {
                for number in stride(from: thread, to: coins.count, by: threadCount) {
                    let id = first + number
                    guard let answer = try? ledger.redeem(coins[number], for: "account \(id)"),
                        [.granted, .alreadyYours].contains(answer.outcomes.first?.outcome)
                    else { return print("failed \(id)") }
                    // Unbuffered: SIGKILL would discard a buffer.
                    FileHandle.standardOutput.write(Data("\(id)\n".utf8))
                }
            }
        }
        threads.forEach { $0.start() }
        while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
    }

    enum ChildFailure: Error { case usage }
}
