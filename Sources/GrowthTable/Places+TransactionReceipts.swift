import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import StrictText

// Transaction receipts of iOS 3 to 6: the outer property list, the signed one in it, and the signature.

extension Place {
    static func transactionReceipts() throws -> [Place] {
        let builder = TransactionReceiptBuilder(bundleID: "a", productID: "pro", transactionID: "10000000000001")
        let list = try builder.signed(by: Signers.authorityOfReceipts)
        let beginning = Array("{\n".utf8)
        func entry(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
            Array("\"".utf8) + key + Array("\" = \"".utf8) + value + Array("\";\n".utf8)
        }
        func outer(_ name: String, _ slot: Slot, _ make: @escaping ([UInt8]) -> [UInt8]) -> Place {
            Place("transaction receipt, \(name)", slot, family: "transaction receipt") { filling in
                TransactionSubject(make(filling)).operations
            }
        }
        return [
            outer("before it", .text) { $0 + list }, outer("after it", .text) { list + $0 },
            outer("a key that is not signed", .text) { beginning + entry($0, []) + list.dropFirst(2) },
            outer("a value that is not signed", .text) { beginning + entry([0x61], $0) + list.dropFirst(2) },
            outer("between a key and its value", .text) { filling in
                beginning + Array("\"a\"".utf8) + filling + Array("=\"\";".utf8) + list.dropFirst(2)
            },
            outer("many keys", .count) { filling in
                beginning + (0..<filling.count / 16).flatMap { entry(Array(String($0).utf8), []) } + list.dropFirst(2)
            },
            outer("200 long keys", .count) { filling in
                let long = [UInt8](repeating: 0x61, count: filling.count / 200)
                return beginning + (0..<200).flatMap { entry(long + Array(String($0).utf8), []) } + list.dropFirst(2)
            },
            outer("its signature", .text) { filling in
                builder.propertyList(purchaseInfo: builder.purchaseInfo(), signature: [4] + filling)
            },
            outer("its signature, not in base64", .text) { filling in
                beginning + entry(Array("signature".utf8), filling) + beginning
            },
        ]
            + TransactionReceiptKey.allCases.filter { $0 != .signature && $0 != .purchaseInfo }.map { key in
                signed("value of \(key.rawValue)", builder) { filling in
                    builder.values.filter { $0.key.utf8.elementsEqual(key.rawValue.utf8) == false }.flatMap {
                        entry(Array($0.key.utf8), Array($0.value.utf8))
                    } + entry(Array(key.rawValue.utf8), filling)
                }
            } + [
                signed("an unknown key", builder) { filling in
                    builder.values.flatMap { entry(Array($0.key.utf8), Array($0.value.utf8)) } + entry(filling, [])
                },
                signed("an unknown value", builder) { filling in
                    builder.values.flatMap { entry(Array($0.key.utf8), Array($0.value.utf8)) } + entry([0x61], filling)
                },
            ]
    }

    private static func signed(
        _ name: String, _ builder: TransactionReceiptBuilder, _ entries: @escaping ([UInt8]) -> [UInt8]
    ) -> Place {
        Place("transaction receipt, signed, \(name)", .text, family: "transaction receipt, signed") { filling in
            let info = Array("{".utf8) + entries(filling) + Array("}".utf8)
            let blob = try builder.signatureBlob(over: info, by: Signers.authorityOfReceipts.leaf)
            return TransactionSubject(builder.propertyList(purchaseInfo: info, signature: blob)).operations
        }
    }
}

private struct TransactionSubject {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var operations: [Operation] {
        let bytes = bytes
        let base64 = Base64.encode(bytes.span)
        return [
            Operation("TransactionReceipt, unverified") {
                let result = Result { () throws(VerificationError) in
                    try TransactionReceipt(unverified: bytes, Verifiers.lenient.policy.limits)
                }
                return Work(result, of: bytes) { Work.size($0.json) }
            },
            Operation("verifyTransactionReceipt") {
                let result = Result { () throws(VerificationError) in
                    try Verifiers.lenient.verifyTransactionReceipt(bytes)
                }
                return Work(result, of: bytes) { Work.size($0.json) + Work.size($0.description) + Set([$0]).count }
            },
            .verdict(onLine: Array(base64.utf8)), .answer(to: bytes),
        ]
    }
}
