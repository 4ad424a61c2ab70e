import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt

/// A payload that is read as every kind at once, beside the same payload read as one kind.
@Suite struct JWSReadingTests {
    private static let payloads = [
        #"{"transactionId":"1","originalTransactionId":"2","productId":"p","bundleId":"b","signedDate":1,"price":2,"x":[{}],"#
            + #""advancedCommerceInfo":{"items":[{"SKU":"s","price":3}],"period":"P1M"},"commitmentInfo":{"commitmentPrice":4}}"#,
        #"{"originalTransactionId":"2","autoRenewStatus":1,"signedDate":1.5,"eligibleWinBackOfferIds":["a","b"],"#
            + #""advancedCommerceInfo":{"consistencyToken":"t"},"commitmentInfo":{"commitmentRenewalDate":4},"price":"5"}"#,
        #"{"receiptType":"Sandbox","bundleId":"b","receiptCreationDate":1,"preorderDate":null,"appAppleId":0}"#,
        #"{"notificationType":"TEST","notificationUUID":"u","data":{"environment":"Sandbox","status":1,"x":[[]]},"#
            + #""signedDate":1,"transactionId":7,"version":"2.0"}"#,
        #"{"requestIdentifier":"r","originalTransactionId":"1","productId":"p","appAppleId":1,"signedDate":1}"#,
    ]

    private func check<Payload: JWSClaims>(_ draft: JWSDraft<Payload>, _ reading: JWSReading, _ text: [UInt8]) {
        let one = Result { () throws(JSONError) in try Payload(decoding: text) }
        let any = Result { () throws(JSONError) in try draft.payload(in: reading.object) }
        if one != any {
            Issue.record("\(Payload.self): \(one) and \(any) for \(String(decoding: text, as: UTF8.self))")
        }
        if case (.success(let one), .success(let any)) = (one, any) {
            #expect(one.members.known == any.members.known)
            for member in one.members.known { #expect(one.members.value(of: member) == any.members.value(of: member)) }
        }
    }

    private func check(_ text: [UInt8]) {
        let reading = JWSReading(text)
        check(reading.drafts.transaction, reading, text)
        check(reading.drafts.renewalInfo, reading, text)
        check(reading.drafts.appTransaction, reading, text)
        check(reading.drafts.notification, reading, text)
        check(reading.drafts.realtimeRequest, reading, text)
    }

    @Test(arguments: payloads)
    func `a payload and all that is near it are read as each kind as by its own reader`(_ payload: String) {
        let text = Array(payload.utf8)
        check(text)
        for end in text.indices { check(Array(text[..<end])) }
        for index in text.indices {
            for byte in Array("\"{}[],:0n\\\u{1}".utf8) + [0xFF] where byte != text[index] {
                var changed = text
                changed[index] = byte
                check(changed)
            }
        }
        // Members of two kinds, and repeated ones.
        for other in Self.payloads {
            check(text.dropLast() + [UInt8(ascii: ",")] + Array(other.utf8).dropFirst())
        }
    }

    @Test(arguments: [
        (payloads[0], JWSKind.transaction), (payloads[1], .renewalInfo), (payloads[2], .appTransaction),
        (payloads[3], .notification), (payloads[4], .realtimeRequest), ("{}", .transaction), ("", .transaction),
        (#"{"autoRenewStatus":1,"transactionId":1}"#, .transaction),
        (#"{"transactionId":1,"notificationType":null}"#, .notification),
        // What follows a name that tells the kind and is repeated tells nothing.
        (#"{"transactionId":1,"transactionId":1,"notificationType":1}"#, .transaction),
        (#"{"autoRenewStatus":1,,"notificationType":1}"#, .renewalInfo),
    ])
    func `the kind is told by names, whatever their order`(_ payload: String, _ kind: JWSKind) {
        #expect(JWSReading(Array(payload.utf8)).kind == kind)
    }
}
