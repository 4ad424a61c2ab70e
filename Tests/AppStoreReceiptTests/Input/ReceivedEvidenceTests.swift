import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import AppStoreReceipt

/// One piece of evidence of each kind, in every armor.
@Suite struct ReceivedEvidenceTests {
    @Test func `a byte order mark before any text is no part of it, and offsets count it`() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let verifier = try Minted.verifier()
        let jws = try Minted.jws(Minted.transaction)
        let signed = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        let receipt = Data(signed).base64EncodedString()
        for text in [
            jws, " \(jws)\n", #"{"signedTransactionInfo":"\#(jws)"}"#, receipt, #"{"receipt-data":"\#(receipt)"}"#,
            "-----BEGIN PKCS7-----\n\(receipt)\n-----END PKCS7-----\n",
        ] {
            #expect(try verifier.verify(mark + Array(text.utf8)) == verifier.verify(text))
        }
        let list = try TransactionReceiptBuilder(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "110000033993399"
        ).signed(by: Minted.authority)
        let old = try AppStoreVerifier(
            bundleID: Minted.bundleID, environments: nil, trust: Minted.authority.transactionReceiptTrust)
        for text in [list, Array(Data(list).base64EncodedString().utf8)] {
            #expect(try old.verify(mark + text) == old.verify(text))
        }
        for (text, offset) in [("eyJ", 6), ("a", 3), ("", 3), ("{\"receipt-data\":1}", 3 + 16)] {
            let error = #expect(throws: VerificationError.self) { try verifier.verify(mark + Array(text.utf8)) }
            #expect(error?.offset == offset, "\(text)")
        }
        // One mark, and in front only.
        #expect(throws: VerificationError.self) { try verifier.verify(mark + mark + Array(jws.utf8)) }
    }

    private struct Row {
        let kind: EvidenceKind
        let armor: Armor?
        let input: [UInt8]
        /// The content without the armor.
        let content: [UInt8]

        init(_ kind: EvidenceKind, _ armor: Armor?, _ input: String, _ content: [UInt8]) {
            self.init(kind, armor, Array(input.utf8), content)
        }

        init(_ kind: EvidenceKind, _ armor: Armor?, _ input: [UInt8], _ content: [UInt8]) {
            self.kind = kind
            self.armor = armor
            self.input = input
            self.content = content
        }
    }

    private static let members = [
        "receipt-data", "signedPayload", "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo",
    ]

    private static func rows() throws -> [Row] {
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)
        let base64 = Data(receipt).base64EncodedString()
        let jws = try Minted.jws(Minted.transaction)
        let list = try TransactionReceiptBuilder(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "10000000000001"
        ).signed(by: Minted.authority)
        let text = Data(list).base64EncodedString()
        var rows = [
            Row(.receipt, .binary, receipt, receipt), Row(.receipt, .base64, base64, receipt),
            Row(.receipt, .pem, "-----BEGIN PKCS7-----\n\(base64)\n-----END PKCS7-----", receipt),
            Row(.jws, nil, jws, Array(jws.utf8)), Row(.transactionReceipt, .propertyList, list, list),
            Row(.transactionReceipt, .base64, text, list),
        ]
        for member in members {
            rows += [
                Row(.receipt, .json, #"{"\#(member)":"\#(base64)"}"#, receipt),
                Row(.jws, .json, #"{"x":[1],"\#(member)":"\#(jws)"}"#, Array(jws.utf8)),
                Row(
                    .jws, .json, #"{"\#(member)":"\#(jws.replacing("e", with: #"\u0065"#))"}"#, Array(jws.utf8)),
                Row(.transactionReceipt, .json, #"{"\#(member)":"\#(text)"}"#, list),
            ]
        }
        return rows
    }

    private static func content(_ received: ReceivedEvidence, in input: [UInt8]) throws -> [UInt8] {
        if received.kind == .receipt { return try received.binary() }
        return [UInt8](copying: try received.text(in: input.span))
    }

    @Test func `the kind, the armor and the content of evidence are known before anything is verified`() throws {
        for row in try Self.rows() {
            let text = String(decoding: row.input.prefix(80), as: UTF8.self)
            let limits = VerificationLimits()
            var all = [
                ReceivedEvidence(row.input, limits), ReceivedEvidence(row.input[...], limits),
                ReceivedEvidence(copying: row.input.span, limits),
            ]
            if let string = String(validating: row.input, as: UTF8.self) {
                all += [
                    ReceivedEvidence(string, limits), ReceivedEvidence("x\(string)x".dropFirst().dropLast(), limits),
                ]
            }
            for received in all {
                #expect(received.kind == row.kind, "\(text)")
                #expect(received.armor == row.armor, "\(text)")
                #expect(try Self.content(received, in: row.input) == row.content, "\(text)")
            }
        }
    }

    @Test func `what is verified can be decoded, and means the same`() throws {
        let verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production]),
            trust: Minted.authority.transactionReceiptTrust)
        for row in try Self.rows() {
            let decoded = try UnverifiedEvidence(decoding: row.input)
            #expect((decoded.jws != nil) == (row.kind == .jws))
            switch row.kind {
            case .jws: #expect(decoded.receipt == nil && decoded.transactionReceipt == nil)
            case .receipt:
                #expect(try verifier.verify(row.input) == .receipt(verifier.verifyReceipt(row.content)))
                #expect(try decoded.receipt?.receipt == verifier.verifyReceipt(row.content).receipt)
            case .transactionReceipt:
                let verified = try verifier.verifyTransactionReceipt(row.content)
                #expect(decoded.transactionReceipt == verified.transactionReceipt)
            }
        }
    }

    @Test func `a receipt is only in receipt-data, if nothing else is accepted`() throws {
        let base64 = Data([0x30, 0x80, 0, 0]).base64EncodedString()
        let text = #"{"signedPayload":"\#(base64)","receipt-data":"\#(base64)","signedTransactionInfo":1}"#
        let received = ReceivedEvidence(text, as: .receipt, VerificationLimits())
        #expect(try received.binary() == [0x30, 0x80, 0, 0])
        #expect(received.otherMembers.isEmpty)
        let all = ReceivedEvidence(text, as: .receipt, VerificationLimits(), keepsOtherMembers: true)
        let others = #"{"signedPayload":"\#(base64)","signedTransactionInfo":1}"#
        #expect(String(decoding: all.otherMembers, as: UTF8.self) == others)
    }

    @Test func `a receipt in an object is no JWS, if nothing else is accepted`() {
        let text = #" {"signedPayload":"MIAAAA=="}"#
        let received = ReceivedEvidence(text, as: .jws, VerificationLimits())
        #expect(throws: VerificationError(.compactJWS(.partCount, offset: 1))) {
            try received.text(in: text.utf8Span.span).count
        }
    }

    @Test func `a JWS that must be of one kind may be in an object, too`() throws {
        let verifier = try Minted.verifier()
        let jws = try Minted.jws(Minted.transaction)
        let body = #"{"signedTransactionInfo":"\#(jws)","environment":"Production"}"#
        #expect(try verifier.verifyTransaction(body) == verifier.verifyTransaction(jws))
        let error = #expect(throws: VerificationError.self) { try verifier.verifyRenewalInfo(body) }
        #expect(error?.code == .missingMember && error?.category == .client)
    }

    @Test func `the other members of an object are kept beside evidence that is refused`() {
        let received = ReceivedEvidence(
            #"{"user":17,"receipt-data":"*","x":[]}"#, VerificationLimits(), keepsOtherMembers: true)
        #expect(String(decoding: received.otherMembers, as: UTF8.self) == #"{"user":17,"x":[]}"#)
        #expect(throws: VerificationError.self) { try received.binary() }
    }
}
