import AppStoreReceiptFoundation
import AppStoreReceiptTestingFoundation
import AppStoreSigningFoundation
import CMSTrustFoundation
import Foundation
import TestSupport
import Testing

import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreSigning
import CMSTrust

/// The errors of all products, as code meets them that knows nothing of them.
struct OtherErrorsTests {
    private func error(_ body: () throws -> Void) throws -> any Error {
        try #require(#expect(throws: (any Error).self) { try body() })
    }

    @Test func `localizedDescription says what each error says`() throws {
        let cms = try error {
            let verifier = try CMSVerifier(policy: CMSPolicy(anchors: [Minted.authority.trustAnchor]))
            _ = try verifier.verify([0x30, 0x80], at: .now)
        }
        #expect((cms as? CMSVerificationError)?.description == cms.localizedDescription)
        let signing = try error { _ = try InAppPurchaseKey(p8: Array("no key".utf8)) }
        #expect((signing as? SigningError)?.code == .keyNotPEM)
        #expect((signing as? SigningError)?.description == signing.localizedDescription)
        let minting = try error { _ = try SigningKey(pem: []) }
        #expect((minting as? MintingError)?.code == .malformedKey)
        #expect(minting.localizedDescription == "the private key cannot be read, or is encrypted")
        let specification = try error { _ = try ReceiptBuilder(json: Array(#"{"gift":1}"#.utf8)) }
        #expect((specification as? ReceiptSpecificationError)?.code == .unknownKey)
        #expect(specification.localizedDescription == "no receipt has this key at byte 1")
    }

    @Test func `every reason for which nothing can be minted has a sentence of its own`() {
        let texts = MintingError.Code.allCases.map { MintingError(code: $0).description }
        #expect(Set(texts).count == MintingError.Code.allCases.count)
    }

    @Test func `a token is made of a UUID, and is one`() throws {
        let uuid = try #require(UUID(uuidString: "9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00"))
        let token = AppAccountToken(uuid)
        #expect(token == AppAccountToken("9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00") && token.uuid == uuid)
    }
}
