import AppStoreReceiptTesting
import TestSupport
import Testing

@_spi(Surfaces) @testable import AppStoreReceipt
@testable import SignatureTrust

struct VerificationErrorCategoryTests {
    private func error(_ input: [UInt8], _ verifier: AppStoreVerifier) -> VerificationError? {
        do throws(VerificationError) {
            _ = try verifier.verifyReceipt(input)
            return nil
        } catch {
            return error
        }
    }

    @Test func `each error has the category of whoever can do something about it`() throws {
        let authority = try Minted.authority
        let verifier = try AppStoreVerifier(
            bundleID: "com.example.app", environments: [.production], trust: Minted.trust)
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")])
        let receipt = try builder.signed(by: authority)
        var altered = receipt
        let place = try #require(altered.firstRange(of: Array("coins".utf8)))
        altered[place.lowerBound] ^= 1
        var unreadable = builder
        unreadable.additionalAttributes = [.integer(.bundleID, 5)]
        let undated = {
            var builder = builder
            builder.creationDate = nil
            return builder
        }()

        let cases: [(String, [UInt8], VerificationError.Category?, Int?)] = [
            ("genuine", receipt, nil, nil), ("no receipt", Array("hello".utf8), .client, 400),
            ("cut off", receipt.dropLast(), .client, 400),
            ("of another app", try ReceiptBuilder(bundleID: "com.example.other").signed(by: authority), .client, 400),
            ("altered", altered, .forgery, 403),
            ("of another authority", try builder.signed(by: Minted.stranger), .forgery, 403),
            ("undated", try undated.signed(by: authority), .forgery, 403),
            ("genuine and unreadable", try unreadable.signed(by: authority), .host, 500),
        ]
        for (name, input, category, status) in cases {
            let error = error(input, verifier)
            #expect(error?.category == category, "\(name)")
            #expect(error?.category.httpStatus == status, "\(name)")
        }
        #expect(VerificationError(.host(.outOfMemory)).category == .host)
        #expect(VerificationError.configuration(.noEnvironment).category == .host)
    }

    @Test func `the host is at fault with three codes, and with no other`() throws {
        let faults = VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) })
        #expect(
            faults.filter(\.isHostFault).map(\.code) == [.algorithmUnavailable, .outOfMemory, .libcryptoFailure])
        #expect(!VerificationError.configuration(.noAppAppleID).isHostFault)
        let unreadable = try JWSBuilder(payload: .raw("[]")).signed(by: Minted.ellipticAuthority)
        let error = try Minted.failure(unreadable)
        #expect(error?.category == .host && error?.isHostFault == false)
    }

    @Test func `every code has a row by its name, and that of an unknown one is nil`() {
        for error in VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) }) {
            #expect(Fault.named(error.code.rawValue)?.code == error.code.rawValue)
        }
        #expect(Fault.named("ok") == nil)
    }
}
