import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import AppStoreReceipt

/// What people read in a log or a terminal is what is there: no JSON that this library writes has a character that
/// hides.
@Suite struct HiddenCharacterTests {
    private static let text = "a\u{7F}é\u{85}\u{2028}x\u{202E}y\u{2066}\u{061C}\u{200F}語"

    private func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Checks a text, and that it says nothing else than before; gives it as an object.
    private func object(_ json: String) throws -> NSDictionary {
        #expect(!json.unicodeScalars.contains(where: isHidden))
        return try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary)
    }

    private func receipt() throws -> VerifiedReceipt {
        var builder = ReceiptBuilder(
            bundleID: Self.text, purchases: [.nonConsumable(Self.text, transactionID: Self.text)])
        builder.originalApplicationVersion = Self.text
        return try Minted.verified(builder)
    }

    @Test func `a receipt's texts are escaped`() throws {
        let receipt = try #require(object(receipt().json)["receipt"] as? NSDictionary)
        #expect(receipt["bundle_id"] as? String == Self.text)
        #expect(receipt["original_application_version"] as? String == Self.text)
        #expect((receipt["in_app"] as? [NSDictionary])?.first?["product_id"] as? String == Self.text)
    }

    @Test func `the texts of verifyReceipt's answer are escaped`() throws {
        let responder = try VerifyReceiptResponderTests.responder(.production)
        let body = responder.answer(for: .success(.receipt(try receipt()))).body
        let receipt = try #require(object(String(decoding: body, as: UTF8.self))["receipt"] as? NSDictionary)
        #expect(receipt["bundle_id"] as? String == Self.text)
        let purchase = try #require((receipt["in_app"] as? [NSDictionary])?.first)
        #expect(purchase["product_id"] as? String == Self.text && purchase["transaction_id"] as? String == Self.text)
    }

    @Test func `the texts of a JWS are escaped, of members that are not known, too`() throws {
        let payload = """
            {"transactionId":"1","bundleId":"com.example.app","productId":"\(Self.text)","signedDate":1749988800000,
            "environment":"Production","originalTransactionId":"1","purchaseDate":1,"quantity":1,"type":"Non-Consumable",
            "\(Self.text)":[{"\(Self.text)" : "\(Self.text)\\\\"}],
            "advancedCommerceInfo":{"descriptors":{"description":"\(Self.text)"}}}
            """
        let verified = try Minted.verifier().verify(Array(Minted.jws(payload: payload).utf8))
        let transaction = try #require(object(verified.json)["transaction"] as? NSDictionary)
        #expect(transaction["productId"] as? String == Self.text)
        #expect(transaction[Self.text] as? [[String: String]] == [[Self.text: Self.text + "\\"]])
        let commerce = transaction["advancedCommerceInfo"] as? [String: [String: String]]
        #expect(commerce?["descriptors"]?["description"] == Self.text)
    }

    @Test(arguments: ["", "\n"])
    func `what a sender writes beside evidence is escaped`(space: String) throws {
        let verifier = try Minted.verifier()
        let jws = try Minted.transaction.signed(by: Minted.ellipticAuthority)
        for evidence in [#""signedPayload":"\#(jws)""#, #""signedPayload":"e""#] {
            let piece = #"{"user\#(Self.text)":\#(space){"\#(Self.text)":["\#(Self.text)"]},\#(evidence)}"#
            let verdict = verifier.verdict(on: Array(piece.utf8))
            for isBrief in [false, true] { _ = try object((isBrief ? verdict.briefJSON : verdict.json)) }
            let others = try object(verdict.otherMembers?.text ?? "")
            #expect(others["user" + Self.text] as? NSDictionary == [Self.text: [Self.text]])
        }
    }
}
