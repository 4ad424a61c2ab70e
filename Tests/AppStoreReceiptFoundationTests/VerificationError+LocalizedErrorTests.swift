import AppStoreReceipt
import AppStoreReceiptFoundation
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import SignatureTrust

struct VerificationErrorLocalizedErrorTests {
    @Test func `localizedDescription says what the error says, with the values`() throws {
        let other = try ReceiptBuilder(bundleID: "com.example.other").signed(by: Minted.authority)
        // As code meets it that knows nothing of this library.
        let error: any Error = try #require(
            #expect(throws: VerificationError.self) { try Minted.verifier().verify(other) })
        #expect(
            error.localizedDescription
                == #"the evidence is genuine, but its bundle id is not accepted: found "com.example.other", expected "com.example.app""#
        )
        let localized = try #require(error as? any LocalizedError)
        #expect(localized.recoverySuggestion?.contains("`VerificationPolicy.bundleIDs`") == true)
        #expect(localized.failureReason == nil && localized.helpAnchor == nil)
    }

    @Test func `every error has a description and advice of its own`() {
        for error in VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) }) {
            #expect((error as any Error).localizedDescription == error.description)
            #expect(error.errorDescription == error.description && error.recoverySuggestion == error.advice)
        }
    }
}
