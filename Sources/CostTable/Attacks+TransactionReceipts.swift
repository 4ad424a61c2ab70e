import AppStoreReceipt
import AppStoreReceiptTesting

extension Attack {
    /// Transaction receipts, with the limit on their size lifted.
    static let transactionReceipts: [Attack] = [
        transactionReceipt("transaction receipt: keys by the thousand") { n in
            Array("{".utf8) + (0..<n / 16).flatMap { Array("\"key\($0)\"=\"\";".utf8) } + Array("}".utf8)
        },
        transactionReceipt("transaction receipt: 255 long keys that differ at their ends") { n in
            let long = String(repeating: "a", count: n / 255)
            return Array("{".utf8) + (0..<255).flatMap { Array("\"\(long)\($0)\"=\"\";".utf8) } + Array("}".utf8)
        },
        transactionReceipt("transaction receipt: a large signature") { n in
            TransactionReceiptBuilder(bundleID: "a", productID: "b", transactionID: "1").propertyList(
                purchaseInfo: [], signature: [4] + [UInt8](repeating: 0x30, count: n / 4 * 3))
        },
        transactionReceipt("transaction receipt: a large value, signed") { n in
            var builder = TransactionReceiptBuilder(bundleID: "a", productID: "b", transactionID: "10000000000001")
            builder.additionalValues = [.init("a", String(repeating: "\u{202E}", count: n / 4))]
            return try builder.signed(by: authority.get())
        },
    ]

    private static func transactionReceipt(
        _ name: String, _ input: @escaping @Sendable (Int) throws -> [UInt8]
    ) -> Attack {
        Attack(name: name) { n in
            var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
            policy.limits.maximumTransactionReceiptByteCount = .max
            let verifier = try AppStoreVerifier(policy: policy, trust: authority.get().transactionReceiptTrust)
            let bytes = try input(n)
            return (
                bytes.count,
                { outcome { () throws(VerificationError) in try verifier.verifyTransactionReceipt(bytes).json } }
            )
        }
    }
}
