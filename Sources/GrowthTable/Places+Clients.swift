import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import StrictText

// What clients wrap evidence in, and what they send instead, which is analyzed after a refusal.

extension Place {
    static func clients() throws -> [Place] {
        let binary = try ReceiptBuilder(bundleID: "a").signed(by: Signers.authority)
        let receipt = Base64.encode(binary.span)
        let jws = try JWSBuilder.transaction(bundleID: "a", productID: "pro", transactionID: "1")
            .signed(by: Signers.authority)
        func quoted(_ text: String) -> [UInt8] { Array("\"\(text)\"".utf8) }
        func unity(_ members: [UInt8], _ payload: [UInt8]) -> [UInt8] {
            Array("{\"Store\":\"AppleAppStore\",".utf8) + members + Array("\"Payload\":".utf8) + payload + [0x7D]
        }
        let escapedUnity = Array("{\\\"Store\\\":\\\"\\\",\\\"Payload\\\":\\\"\(receipt)\\\"}".utf8)
        return [
            sent("wrapped, Unity, Payload", .jsonValue, .all) { unity([], $0) },
            sent("wrapped, Unity, other members", .jsonMembers) { unity($0, quoted(receipt)) },
            sent("wrapped, Unity, many Payloads", .count) { filling in
                let member = Array("\"Payload\":\"\(receipt)\",".utf8)
                return unity(repeated(member, like: filling), quoted(receipt))
            },
            sent("wrapped, Unity in a JSON string, before it", .text) { $0 + [0x22] + escapedUnity + [0x22] },
            sent("wrapped, JSON string", .jsonString, .all) { [0x22] + $0 + [0x22] },
            sent("wrapped, form, value", .text) { Array("receipt-data=\(receipt)&x=".utf8) + $0 },
            sent("wrapped, form, many pairs", .count) { filling in
                repeated(Array("a=b&receipt-data=\(receipt)&".utf8), like: filling)
            },
            sent("wrapped, percent-encoded", .count) { repeated(Array("%4D".utf8), like: $0) },
            sent("wrapped, data URI", .text) { Array("data:;base64,\(receipt)".utf8) + $0 },
            sent("wrapped, base64", .text, .all) { Array(Base64.encode($0.span).utf8) },
            sent("wrapped, line breaks in a JWS", .count) { filling in
                let middle = jws.utf8.count / 2
                return jws.utf8.prefix(middle) + repeated([0x0A], like: filling) + jws.utf8.dropFirst(middle)
            },
            sent("named, a member of an object", .jsonMembers) { [0x7B] + $0 + Array("\"x\":\"\(receipt)\"}".utf8) },
            sent("named, the name of a member", .jsonString, .all) {
                [0x7B, 0x22] + $0 + Array("\":\"\(receipt)\"}".utf8)
            },
            sent("named, an array of evidence", .count) { filling in
                [0x5B] + repeated(Array("\"\(receipt)\",".utf8), like: filling) + Array("0]".utf8)
            },
            sent("named, lines of evidence", .count) { repeated(Array("\(receipt)\n".utf8), like: $0) },
            sent("named, objects in objects", .count) { repeated(Array("{\"x\":".utf8), like: $0) },
            sent("named, hexadecimal", .count) { repeated(Array("30820".utf8), like: $0) },
            sent("named, UTF-16", .count) { repeated([0x4D, 0], like: $0) },
            sent("named, JSON that ends early", .text) { Array("{\"receipt-data\":\"MII".utf8) + $0 },
            sent("named, a JWS that ends early", .count) { repeated(Array("eyJh".utf8), like: $0) },
            sent("named, quotation marks in a JWS", .count) { filling in
                let names = repeated(Array("\"alg\"".utf8), like: filling)
                return Array(Base64.encode((Array("{\"".utf8) + names).span, urlSafe: true).utf8)
            },
            sent("named, ellipses", .count) { repeated(Array("MI..".utf8), like: $0) },
        ]
    }

    private static func sent(
        _ name: String, _ slot: Slot, _ choice: Filling.Choice = .few, _ make: @escaping (_ filling: [UInt8]) -> [UInt8]
    ) -> Place {
        // Only what is in a wrapper can be accepted.
        Place(name, slot, choice, family: nil, sizes: [1 << 12, 1 << 15, 1 << 18, 1 << 21]) { filling in
            let bytes = make(filling)
            return [
                Operation("verify") {
                    Work(Result { () throws(VerificationError) in try Verifiers.lenient.verify(bytes) })
                },
                .verdict(onLine: bytes), .answer(to: bytes),
            ]
        }
    }
}
