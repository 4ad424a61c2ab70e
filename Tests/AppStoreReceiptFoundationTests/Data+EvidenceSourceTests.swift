import AppStoreReceipt
import AppStoreReceiptFoundation
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

struct DataEvidenceSourceTests {
    @Test func `a receipt is verified from Data`() throws {
        let verifier = try Minted.verifier(environments: [.production])
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        #expect(try verifier.verifyReceipt(Data(receipt)).bundleID == Minted.bundleID)
        #expect(throws: VerificationError.self) { try verifier.verifyReceipt(Data(receipt.dropLast())) }
        let device = ReceiptBuilder.defaultDeviceIdentifier
        _ = try verifier.verifyReceipt(Data(receipt), applicationVersion: "1.0", deviceIdentifier: device)
        for (version, identifier, code) in [
            ("2.0", device, "application-version-mismatch"), ("1.0", [], "device-mismatch"),
        ] {
            let error = #expect(throws: VerificationError.self) {
                try verifier.verifyReceipt(
                    Data(receipt), applicationVersion: version, deviceIdentifier: identifier)
            }
            #expect(error?.code.rawValue == code)
        }
    }

    @Test func `evidence of any kind is verified from Data, also from a part of it`() throws {
        let verifier = try Minted.verifier()
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        let jws = Array(try Minted.jws(Minted.transaction).utf8)
        for evidence in [receipt, Array(Data(receipt).base64EncodedString().utf8), jws] {
            let whole = try verifier.verify(evidence)
            #expect(try verifier.verify(Data(evidence)) == whole)
            // The indices of a slice do not begin at 0.
            #expect(try verifier.verify(Data([0, 0] + evidence).dropFirst(2)) == whole)
        }
        #expect(throws: VerificationError.self) { try verifier.verify(Data()) }
        #expect(throws: VerificationError.self) { try verifier.verifyTransactionReceipt(Data()) }
    }

    @Test func `a JWS of each kind is verified from Data as from a string, also from a part of it`() throws {
        let verifier = try Minted.verifier { $0.appAppleID = "1234567890" }
        func inData(_ jws: String) -> Data { Data([0, 0] + jws.utf8).dropFirst(2) }
        let transaction = try Minted.jws(Minted.transaction)
        #expect(try verifier.verifyTransaction(inData(transaction)) == verifier.verifyTransaction(transaction))
        let renewal = try Minted.jws(.renewalInfo(productID: "pro", originalTransactionID: "1000"))
        #expect(try verifier.verifyRenewalInfo(inData(renewal)) == verifier.verifyRenewalInfo(renewal))
        let app = try Minted.jws(.appTransaction(bundleID: Minted.bundleID))
        #expect(try verifier.verifyAppTransaction(inData(app)) == verifier.verifyAppTransaction(app))
        let notification = try Minted.jws(.notification(.test, bundleID: Minted.bundleID, transaction: transaction))
        #expect(try verifier.verifyNotification(inData(notification)) == verifier.verifyNotification(notification))
        let request = try Minted.jws(.realtimeRequest(productID: "pro", originalTransactionID: "1000"))
        #expect(try verifier.verifyRealtimeRequest(inData(request)) == verifier.verifyRealtimeRequest(request))
    }
}
