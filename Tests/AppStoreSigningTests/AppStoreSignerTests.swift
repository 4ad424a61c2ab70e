import Foundation
import LibcryptoHandles
@_spi(Surfaces) import SpanPKCS7
import Testing

@testable @_spi(Surfaces) import AppStoreSigning

@Suite struct AppStoreSignerTests {
    /// What a case returned: a JWS, or the original form.
    private enum Signed {
        case jws(String)
        case original(PromotionalOfferSignature)
    }

    private func sign(_ each: SharedCases.Case) throws -> Signed {
        let (signer, arguments) = (try SharedCases.signer(), each.arguments)
        let (product, offer) = (arguments.product_id ?? "", arguments.offer_id ?? "")
        switch each.call {
        case "promotional_offer":
            return .jws(
                try signer.signPromotionalOffer(
                    productID: product, offerID: offer, transactionID: arguments.transaction_id))
        case "introductory_offer_eligibility":
            let isAllowed: Bool? = arguments.allow_introductory_offer
            try #require(isAllowed != nil)
            return .jws(
                try signer.signIntroductoryOfferEligibility(
                    productID: product, allowIntroductoryOffer: isAllowed == true,
                    transactionID: #require(arguments.transaction_id)))
        case "advanced_commerce_request":
            return .jws(try signer.signAdvancedCommerceRequest(Array(#require(arguments.request).utf8)))
        case "original_promotional_offer":
            return .original(
                try signer.signOriginalPromotionalOffer(
                    productID: product, offerID: offer, appAccountToken: arguments.app_account_token))
        default:
            #expect(each.call == "original_promotional_offer_for_username")
            return .original(
                try signer.signOriginalPromotionalOffer(
                    productID: product, offerID: offer, applicationUsername: #require(arguments.application_username)))
        }
    }

    private func isRandomUUID(_ text: String) -> Bool {
        text.wholeMatch(of: #/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/#) != nil
    }

    private func verifies(_ der: [UInt8], _ message: [UInt8]) throws -> Bool {
        try SharedCases.publicKey().verify(
            signature: der.span, digest: DigestAlgorithm.sha256.digest(of: message.span), scheme: .ecdsa)
    }

    @Test func `there are cases`() throws { #expect(try SharedCases.all.get().cases.count >= 40) }

    @Test(arguments: SharedCases.cases)
    func `a case of the shared file is signed or refused as it says`(each: SharedCases.Case) throws {
        let before = Int(Date.now.timeIntervalSince1970)
        let signed: Signed
        do {
            signed = try sign(each)
        } catch let error as SigningError {
            #expect(error.code.rawValue == each.expect.code && error.argument?.rawValue == each.expect.argument)
            return
        }
        switch signed {
        case .jws(let jws):
            let expected = try #require(each.expect.claims)
            let parts = jws.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            try #require(parts.count == 3)
            #expect(parts.allSatisfy { $0.wholeMatch(of: #/[A-Za-z0-9_-]+/#) != nil })
            let header = try JSONDecoder().decode([String: String].self, from: Data(base64URL(parts[0])))
            #expect(header == ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JWT"])
            var claims = try JSONDecoder().decode([String: SharedCases.Value].self, from: Data(base64URL(parts[1])))
            guard case .number(let date)? = claims.removeValue(forKey: "iat"),
                case .text(let nonce)? = claims.removeValue(forKey: "nonce")
            else {
                Issue.record("no iat, or no nonce")
                return
            }
            #expect(before...before + 5 ~= date && isRandomUUID(nonce))
            let all = try SharedCases.all.get()
            #expect(claims.removeValue(forKey: "iss") == .text(all.issuer_id))
            #expect(claims.removeValue(forKey: "bid") == .text(all.bundle_id))
            #expect(claims == expected)
            let signature = try base64URL(parts[2])
            try #require(signature.count == 64)
            let der = ECDSASignatureValue.encoded(fixedLength: signature.span)
            #expect(try verifies(der, Array((parts[0] + "." + parts[1]).utf8)))
        case .original(let offer):
            let expected = try #require(each.expect.message)
            #expect(offer.keyID == "2X9R4HXF34" && isRandomUUID(offer.nonce))
            #expect(Int64(before) * 1000...Int64(before + 5) * 1000 ~= offer.timestamp)
            let message = (expected + [offer.nonce, String(offer.timestamp)]).joined(separator: "\u{2063}")
            let der = try #require(Data(base64Encoded: offer.signature))
            #expect(try verifies(Array(der), Array(message.utf8)))
            let json = try JSONSerialization.jsonObject(with: Data(offer.json.utf8)) as? [String: Any]
            #expect(json?["nonce"] as? String == offer.nonce && json?["timestamp"] as? Int64 == offer.timestamp)
            #expect(json?["key_id"] as? String == offer.keyID && json?["signature"] as? String == offer.signature)
        }
    }

    private func base64URL(_ text: String) throws -> [UInt8] {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return Array(
            try #require(Data(base64Encoded: standard + String(repeating: "=", count: (4 - text.count % 4) % 4))))
    }

    /// Apple's example:
    /// <https://developer.apple.com/documentation/storekit/generating-a-signature-for-promotional-offers>.
    @Test func `the original form is seven parts with U+2063 between them, byte for byte`() throws {
        let message = try SharedCases.signer().originalMessage(
            "pro", "winback", "", nonce: "c1e5cb1a-0000-4000-8000-000000000001", timestamp: 1_700_000_000_123)
        let expected = [
            "com.example.app", "2X9R4HXF34", "pro", "winback", "", "c1e5cb1a-0000-4000-8000-000000000001",
            "1700000000123",
        ].map { Array($0.utf8) }
        var bytes: [UInt8] = []
        for (index, part) in expected.enumerated() { bytes += (index > 0 ? [0xE2, 0x81, 0xA3] : []) + part }
        #expect(message == bytes)
    }

    @Test func `a thousand signatures have a thousand nonces and lengths of DER as they come`() throws {
        let signer = try SharedCases.signer()
        var nonces: Set<String> = []
        var lengths: Set<Int> = []
        for _ in 0..<1000 {
            let offer = try signer.signOriginalPromotionalOffer(
                productID: "pro", offerID: "winback", appAccountToken: nil)
            nonces.insert(offer.nonce)
            lengths.insert(try #require(Data(base64Encoded: offer.signature)).count)
        }
        #expect(nonces.count == 1000)
        #expect(lengths.isSubset(of: [68, 69, 70, 71, 72]) && lengths.isSuperset(of: [70, 71, 72]), "\(lengths)")
    }

    @Test(arguments: SharedCases.cases)
    func `a case as JSON is signed or refused the same`(each: SharedCases.Case) throws {
        let json = try #require(each.json)
        let (request, signer) = (try #require(SigningRequest(json)), try SharedCases.signer())
        do throws(SigningError) {
            let text = try request.signed(by: signer)
            #expect(text.hasPrefix(each.expect.claims == nil ? #"{"key_id":"# : #"{"jws":"ey"#))
        } catch {
            #expect(error.code.rawValue == each.expect.code && error.argument?.rawValue == each.expect.argument)
        }
    }

    @Test func `a member that is missing has no default, and one of another kind is none`() throws {
        let signer = try SharedCases.signer()
        for kind in SigningRequest.Kind.allCases {
            let each = try #require(SharedCases.cases.first { $0.call == kind.rawValue })
            let json = try #require(each.json)
            let all = try #require(JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
            #expect(Set(all.keys) == Set(kind.arguments.map(\.rawValue) + ["sign"]))
            for argument in kind.arguments {
                for value in [nil, 1, [1], argument == .transactionID ? false : nil] as [Any?] {
                    var members = all
                    members[argument.rawValue] = value
                    let changed = try JSONSerialization.data(withJSONObject: members)
                    let request = try #require(SigningRequest(Array(changed)))
                    #expect(throws: SigningError(.invalidArgument(argument))) { try request.signed(by: signer) }
                }
            }
            for (name, value) in [("other", 1), ("sign", "other"), ("application_username ", "")] as [(String, Any)] {
                var members = all
                members[name] = value
                #expect(try SigningRequest(Array(JSONSerialization.data(withJSONObject: members))) == nil)
            }
            let text = String(decoding: json, as: UTF8.self)
            for wrong in [
                text + "1", "[\(text)]", String(text.dropLast()), text.dropLast() + #","sign":"\(kind.rawValue)"}"#,
            ] {
                #expect(SigningRequest(Array(wrong.utf8)) == nil)
            }
        }
    }

    @Test func `an id of the signer that is empty, too long or has a separator is refused`() throws {
        let key = try InAppPurchaseKey(p8: SharedCases.bytes(of: "key.p8"))
        let ids = try SharedCases.all.get().ids
        #expect(ids.count == 9)
        for id in ids {
            func value(_ argument: String) -> String { id.argument == argument ? id.value : "x" }
            let error = #expect(throws: SigningError.self) {
                try AppStoreSigner(
                    keyID: value("key_id"), issuerID: value("issuer_id"), bundleID: value("bundle_id"), key: key)
            }
            #expect(error?.code.rawValue == id.expect.code && error?.argument?.rawValue == id.expect.argument)
        }
    }

    @Test func `a refusal says which argument, and nothing of it`() throws {
        let signer = try SharedCases.signer()
        let error = try #require(
            #expect(throws: SigningError.self) {
                try signer.signOriginalPromotionalOffer(
                    productID: "pro", offerID: "winback", appAccountToken: "anna@example.com")
            })
        let text = "app_account_token must be a UUID; another text is an application_username"
        #expect(error.description == text)
        #expect(
            error.json
                == #"{"error":{"code":"invalid-argument","argument":"app_account_token","message":"\#(text)"}}"#)
        let request = #"{"operation":"CREATE_SUBSCRIPTION","version":1}"#
        let malformed = #expect(throws: SigningError.self) {
            try signer.signAdvancedCommerceRequest(Array(request.utf8))
        }
        #expect(malformed?.offset == 45 && malformed?.json.contains(#""offset":45,"#) == true)
    }

    @Test func `a request has texts that are not empty, and no byte order mark`() throws {
        let signer = try SharedCases.signer()
        let info = #"{"requestReferenceId":"c1e5cb1a-0000-4000-8000-000000000001"}"#
        func refusal(_ operation: String, _ version: String, mark: [UInt8] = []) -> SigningError? {
            let request = #"{"operation":"\#(operation)","version":"\#(version)","requestInfo":\#(info)}"#
            do throws(SigningError) {
                _ = try signer.signAdvancedCommerceRequest(mark + Array(request.utf8))
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal("CREATE", "1") == nil)
        #expect(refusal("", "1")?.offset == 13 && refusal("CREATE", "")?.offset == 32)
        #expect(refusal("CREATE", "1", mark: [0xEF, 0xBB, 0xBF]) == SigningError(.invalidRequest, offset: 0))
    }

    @Test func `a request of any bytes is signed or refused`() throws {
        let signer = try SharedCases.signer()
        let request = Array(try #require(SharedCases.cases.last { $0.expect.claims != nil }?.arguments.request).utf8)
        for count in request.indices {
            #expect(throws: SigningError.self) { try signer.signAdvancedCommerceRequest(Array(request[..<count])) }
        }
        var refusals = 0
        for index in request.indices {
            var changed = request
            changed[index] = 0xFF
            do { _ = try signer.signAdvancedCommerceRequest(changed) } catch { refusals += 1 }
        }
        #expect(refusals == request.count)
        let deep = Array(String(repeating: "[", count: 1_000_000).utf8)
        #expect(throws: SigningError.self) { try signer.signAdvancedCommerceRequest(deep) }
    }
}
