import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@_spi(Ledger) import AppStoreReceipt

struct AppAccountTokenTests {
    private static let text = "9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00"

    @Test func `tokens that differ in the case of letters are equal`() throws {
        let token = try #require(AppAccountToken(Self.text))
        #expect(token == AppAccountToken(Self.text.lowercased()) && token.description == Self.text.lowercased())
        #expect(Set([token, try #require(AppAccountToken(Self.text.lowercased()))]).count == 1)
        #expect(token != AppAccountToken("00000000-1C5D-4B0E-8A57-3D0B8D1B6F00"))
    }

    @Test(arguments: [
        "", "anna", "9C3E0A4F1C5D4B0E8A573D0B8D1B6F00", "9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F0",
        "9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F000", "9C3E0A4-F1C5D-4B0E-8A57-3D0B8D1B6F00",
        "9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F0G", "{9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00}",
        "９C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00", "9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00 ", "--4B0E-8A57-",
    ])
    func `what is no UUID is no token`(text: String) { #expect(AppAccountToken(text) == nil) }

    @Test func `what Apple signed is a token, which no other equals`() throws {
        var builder = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "pro", transactionID: "1")
        builder.payload["appAccountToken"] = "Anna"
        let transaction = try Minted.verifier().verifyTransaction(builder.signed(by: Minted.ellipticAuthority))
        #expect(transaction.appAccountToken == AppAccountToken(signed: "anna"))
        #expect(transaction.purchase?.appAccountToken?.description == "anna")
        builder.payload["appAccountToken"] = .string(Self.text.lowercased())
        let other = try Minted.verifier().verifyTransaction(builder.signed(by: Minted.ellipticAuthority))
        #expect(other.appAccountToken == AppAccountToken(Self.text))
    }
}
