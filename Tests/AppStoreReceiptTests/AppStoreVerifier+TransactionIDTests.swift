@_spi(Surfaces) import AppStoreReceipt
@_spi(Surfaces) import AppStoreReceiptTesting
import TestSupport
import Testing

/// The two functions of Apple's `ReceiptUtility`. `Bindings/python/compare` compares them with Apple's over all
/// vectors.
@Suite struct TransactionIDTests {
    private static func purchase(_ id: String, original: String?) -> ReceiptBuilder.Purchase {
        var purchase = ReceiptBuilder.Purchase(productID: "pro", transactionID: id, productType: .nonConsumable)
        purchase.originalTransactionID = original
        return purchase
    }

    /// What is minted, and the id that Apple's function returns.
    private static let receipts: [(name: String, purchases: [ReceiptBuilder.Purchase], id: String?)] = [
        ("no purchases", [], nil),
        ("one", [purchase("1000", original: "1000")], "1000"),
        ("DER writes the lower number first if the lengths are equal", [purchase("2000", original: "1000")], "2000"),
        ("DER writes the shorter one first", [purchase("2000", original: "900")], "900"),
        ("no original id", [purchase("2000", original: nil)], "2000"),
        ("an empty string is no id", [purchase("2000", original: "")], "2000"),
        ("no id but the original one", [purchase("", original: "900")], "900"),
        ("the first purchase that has one", [purchase("", original: nil), purchase("2000", original: "2000")], "2000"),
        ("none has one", [purchase("", original: "")], nil),
    ]

    @Test func `the id is the first one of the first purchase that has one`() throws {
        let verifier = try Minted.verifier()
        for (name, purchases, id) in Self.receipts {
            var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: purchases)
            // An order of purchases by their bytes would not be the one of the table.
            builder.attributeOrder = .asGiven
            let receipt = try builder.signed(by: Minted.authority)
            #expect(try verifier.extractTransactionID(appReceipt: receipt) == id, "\(name)")
        }
    }

    @Test func `in any order of attributes, the id is the one that stands first`() throws {
        let verifier = try Minted.verifier()
        var found: Set<String> = []
        for seed in 0..<20 as Range<UInt64> {
            var builder = ReceiptBuilder(
                bundleID: Minted.bundleID, purchases: [Self.purchase("2000", original: "1000")])
            builder.shufflePurchaseAttributes(seed: seed)
            let receipt = try builder.signed(by: Minted.authority)
            let verified = try verifier.verifyReceipt(receipt)
            let attributes = try #require(verified.inAppPurchases.first).attributes
            let first = try #require(attributes.first { [1703, 1705].contains($0.type.rawValue) })
            let id = try verifier.extractTransactionID(appReceipt: receipt)
            #expect(id == (first.type.rawValue == 1703 ? "2000" : "1000"))
            found.insert(id ?? "")
        }
        #expect(found == ["1000", "2000"])
    }

    @Test func `a receipt is verified before an id is taken`() throws {
        let verifier = try Minted.verifier()
        let builder = ReceiptBuilder(
            bundleID: Minted.bundleID, purchases: [Self.purchase("2000", original: "1000")])
        let transaction = TransactionReceiptBuilder(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "10000000000001")
        var other = builder
        other.bundleID = "com.example.other"
        func code(_ evidence: [UInt8], asTransactionReceipt: Bool = false) throws -> String? {
            do throws(VerificationError) {
                if asTransactionReceipt {
                    _ = try verifier.extractTransactionID(transactionReceipt: evidence)
                } else {
                    _ = try verifier.extractTransactionID(appReceipt: evidence)
                }
                return nil
            } catch {
                return error.code.rawValue
            }
        }
        #expect(try code(builder.signed(by: Minted.stranger)) == "untrusted-chain")
        #expect(try code(other.signed(by: Minted.authority)) == "bundle-id-mismatch")
        #expect(try code(Array(Minted.jws(Minted.transaction).utf8)) != nil)
        let list = try transaction.signed(by: Minted.authority)
        #expect(try code(list) != nil)
        #expect(try code(transaction.signed(by: Minted.stranger), asTransactionReceipt: true) == "unpinned-issuer")
        let issued = try AppStoreVerifier(
            policy: verifier.policy, trust: Minted.authority.transactionReceiptTrust)
        #expect(try issued.extractTransactionID(transactionReceipt: list) == "10000000000001")
        #expect(try code(builder.signed(by: Minted.authority), asTransactionReceipt: true) != nil)
    }
}
