import AppStoreReceipt
@_spi(Surfaces) import AppStoreReceiptTesting
import Foundation
import TypicalReceipts

/// The receipts with one number of purchases, and what each task does with them.
final class Workload {
    let purchases: Int
    let receipt: [UInt8]
    private let shuffled: [UInt8]
    private let base64: String
    private let request: [UInt8]
    private let payload: [UInt8]
    private let signature: [UInt8]
    private let fixture: Fixture

    init(purchases: Int, fixture: Fixture) throws {
        self.purchases = purchases
        self.fixture = fixture
        var builder = ReceiptBuilder.typical(purchases: purchases)
        payload = try builder.payload()
        receipt = try builder.signed(by: fixture.authority)
        base64 = Data(receipt).base64EncodedString()
        request = Array(#"{"receipt-data":"\#(base64)","password":"0123456789abcdef0123456789abcdef"}"#.utf8)
        builder.shufflePurchaseAttributes(seed: 1)
        shuffled = try builder.signed(by: fixture.authority)
        // The same as the receipt's: RSA signatures of PKCS #1 version 1.5 are deterministic.
        signature = try fixture.authority.leaf.key.sign(payload, digest: .sha256)
    }

    /// The inputs of the next calls; for a cold verification each has a chain of its own.
    func inputs(for task: BenchmarkTask, count: Int) throws -> [[UInt8]] {
        switch task {
        case .floor: Array(repeating: payload, count: count)
        case .decodeShuffled: Array(repeating: shuffled, count: count)
        case .verifyCold, .verifyNewLeaf:
            try (0..<count).map { _ in
                try ReceiptBuilder.typical(purchases: purchases)
                    .signed(by: fixture.newChain(newIntermediate: task == .verifyCold))
            }
        case .response: Array(repeating: request, count: count)
        default: Array(repeating: receipt, count: count)
        }
    }

    /// One call of a task. The result depends on everything that the task has read.
    func call(_ task: BenchmarkTask, _ input: [UInt8]) throws -> Int {
        switch task {
        case .floor:
            guard fixture.baselines.floor(payload: input, signature: signature) else {
                throw BenchmarkError.wrongResult(task)
            }
            return 1
        case .cmsVerify:
            guard fixture.baselines.verifyCMS(input) else { throw BenchmarkError.wrongResult(task) }
            return 1
        case .tlvWalk:
            let elements = Baselines.walk(input)
            guard elements > purchases * 60 else { throw BenchmarkError.wrongResult(task) }
            return elements
        case .decode, .decodeShuffled:
            return try checked(UnverifiedReceipt(decoding: input), task)
        case .verify, .verifyCold, .verifyNewLeaf:
            return try checked(fixture.verifier(for: task).verifyReceipt(input), task)
        case .verifyBase64:
            return try checked(fixture.verifier(for: task).verifyReceipt(base64), task)
        case .readAll:
            let receipt = try fixture.verifier(for: task).verifyReceipt(input)
            _ = try checked(receipt, task)
            return receipt.inAppPurchases.reduce(0) { $0 &+ Self.readAll($1) }
        case .response:
            let answer = fixture.responder.answer(to: input)
            guard answer.status == .valid else { throw BenchmarkError.wrongResult(task) }
            return answer.body.count
        }
    }

    private func checked(_ receipt: some ReceiptContents, _ task: BenchmarkTask) throws -> Int {
        let found = receipt.inAppPurchases.count
        guard found == purchases else { throw BenchmarkError.wrongResult(task) }
        return found
    }

    /// Reads every field.
    private static func readAll(_ purchase: InAppPurchase) -> Int {
        var sum = 0
        func read(_ text: String?) { sum &+= text?.utf8.count ?? 0 }
        func read(_ number: Int64?) { sum &+= Int(truncatingIfNeeded: number ?? 0) }
        func read(_ date: Instant?) { read(date?.millisecondsSince1970) }
        func read(_ flag: Bool?) { sum &+= flag == true ? 1 : 0 }
        read(purchase.quantity.map { Int64($0) })
        read(purchase.productID)
        read(purchase.transactionID)
        read(purchase.purchaseDate)
        read(purchase.originalTransactionID)
        read(purchase.originalPurchaseDate)
        read(purchase.productType?.rawValue)
        read(purchase.expiresDate)
        read(purchase.itemID)
        read(purchase.webOrderLineItemID)
        read(purchase.revocationDate)
        read(purchase.isTrialPeriod)
        read(purchase.isInIntroOfferPeriod)
        read(purchase.revocationReason?.rawValue)
        read(purchase.promotionalOfferID)
        return sum
    }
}
