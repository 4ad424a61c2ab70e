import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import StrictText

// The armor of receipts and JWS, and the text around it.

extension Place {
    static func armor() throws -> [Place] {
        let purchase = ReceiptBuilder.Purchase.consumable("coins", transactionID: "1")
        let receipt = try ReceiptBuilder(bundleID: "a", purchases: [purchase]).signed(by: Signers.authority)
        let base64 = Base64.encode(receipt.span)
        let jws = try JWSBuilder.transaction(bundleID: "a", productID: "pro", transactionID: "1")
            .signed(by: Signers.authority)
        return around("binary", receipt) + around("base64", Array(base64.utf8)) + around("JWS", Array(jws.utf8))
            + [
                armored("binary, all of it", .text, .all) { $0 },
                armored("binary, all of it", .derList, .all) { $0 },
                armored("base64, in it", .text, .all) { base64.bytes.prefix(100) + $0 + base64.bytes.dropFirst(100) },
                armored("base64, after each character", .text, .all) { filling in
                    // As much base64 as filling.
                    let characters = Base64.encode([UInt8](repeating: 0x30, count: filling.count / 4 * 3 + 3).span)
                    return zip(characters.utf8, filling).flatMap { [$0, $1] }
                },
                armored("base64, in lines", .count) { repeated(Array("MIIB\n".utf8), like: $0) },
            ] + pem(base64) + json(base64, jws) + [lines]
    }

    private static func armored(
        _ name: String, _ slot: Slot, _ choice: Filling.Choice = .some,
        _ make: @escaping (_ filling: [UInt8]) -> [UInt8]
    ) -> Place {
        // Bytes around a binary receipt, or around a JWS where only receipts are accepted, are always refused.
        let family = String(name.prefix { $0 != "," })
        return Place(name, slot, choice, family: ["binary", "JWS"].contains(family) ? nil : family) { filling in
            ArmorSubject(make(filling)).operations(isPEM: family == "PEM")
        }
    }

    private static func around(_ name: String, _ whole: [UInt8]) -> [Place] {
        [armored("\(name), before it", .text) { $0 + whole }, armored("\(name), after it", .text) { whole + $0 }]
    }

    private static func pem(_ base64: String) -> [Place] {
        let newline: [UInt8] = [UInt8(ascii: "\n")]
        func block(_ label: [UInt8], _ body: [UInt8], _ end: [UInt8]? = nil) -> [UInt8] {
            let dashes = Array("-----".utf8)
            let head = dashes + Array("BEGIN ".utf8) + label + dashes + newline
            return head + body + newline + dashes + Array("END ".utf8) + (end ?? label) + dashes + newline
        }
        let label = Array("PKCS7".utf8)
        return [
            armored("PEM, before it", .text) { $0 + newline + block(label, base64.bytes) },
            armored("PEM, label", .text, .all) { block($0, base64.bytes) },
            armored("PEM, label at its end", .text) { block(label, base64.bytes, $0) },
            armored("PEM, header", .text) { block(label, Array("X: ".utf8) + $0 + newline + newline + base64.bytes) },
            armored("PEM, in its body", .text) { block(label, $0 + newline + base64.bytes) },
            armored("PEM, in lines", .count) { block(label, repeated(Array("MAAA\n".utf8), like: $0)) },
            armored("PEM, after it", .text) { block(label, base64.bytes) + $0 },
            armored("PEM, many blocks", .count) { repeated(block(label, Array("MIIB".utf8)), like: $0) },
            armored("PEM, many beginnings", .count) { repeated(Array("-----BEGIN PKCS7-----\n".utf8), like: $0) },
        ]
    }

    private static func json(_ base64: String, _ jws: String) -> [Place] {
        func object(_ members: [UInt8]...) -> [UInt8] {
            [UInt8(ascii: "{")] + members.joined(separator: ",".utf8) + [UInt8(ascii: "}")]
        }
        func member(_ name: String, _ value: [UInt8]) -> [UInt8] { Array("\"\(name)\":".utf8) + value }
        let receipt = member("receipt-data", Array("\"\(base64)\"".utf8))
        let evidence = [
            "receipt-data", "signedPayload", "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo",
        ]
        return evidence.map { name in armored("JSON, \(name)", .jsonValue) { object(member(name, $0)) } }
            + ["password", "exclude-old-transactions", "x"].flatMap { name in
                [
                    armored("JSON, \(name) before receipt-data", .jsonValue, name == "x" ? .all : .few) {
                        object(member(name, $0), receipt)
                    },
                    armored("JSON, \(name) after receipt-data", .jsonValue, .few) { object(receipt, member(name, $0)) },
                ]
            }
            + [
                armored("JSON, name of another member", .jsonString, .all) { filling in
                    object([UInt8(ascii: "\"")] + filling + Array("\":0".utf8), receipt)
                },
                armored("JSON, other members", .jsonMembers) { filling in
                    [UInt8(ascii: "{")] + filling + receipt + [UInt8(ascii: "}")]
                },
                armored("JSON, before the object", .text) { $0 + object(receipt) },
                armored("JSON, after the object", .text) { object(receipt) + $0 },
                armored("JSON, beside a JWS", .jsonValue) { filling in
                    object(member("x", filling), member("signedTransactionInfo", Array("\"\(jws)\"".utf8)))
                },
            ]
    }

    /// Many pieces, one on each line.
    private static var lines: Place {
        Place("lines of a batch", .text) { filling in
            let pieces = filling.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
            return [
                Operation("forEachVerdict") {
                    var count = 0
                    Verifiers.lenient.forEachVerdict(on: pieces, concurrency: 2) { count += Work.size($0.json) }
                    return Work("", count)
                }
            ]
        }
    }
}

/// The operations on an input of unknown armor.
private struct ArmorSubject {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func operations(isPEM: Bool) -> [Operation] {
        let bytes = bytes
        let text = String(decoding: bytes, as: UTF8.self)
        return [
            Operation("UnverifiedReceipt, and its error") {
                let result = Result { () throws(VerificationError) in try UnverifiedReceipt(decoding: bytes) }
                return Work(result, of: bytes) { $0.inAppPurchases.count }
            },
            Operation("verify, bytes and text") {
                _ = try? Verifiers.lenient.verify(text)
                return Work(Result { () throws(VerificationError) in try Verifiers.lenient.verify(bytes) })
            },
            .verdict(onLine: bytes), .answer(to: bytes),
        ] + (isPEM ? [.message(bytes)] : [])
    }
}

extension String {
    fileprivate var bytes: [UInt8] { Array(utf8) }
}
