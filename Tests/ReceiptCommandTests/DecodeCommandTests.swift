import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

@Suite struct DecodeCommandTests {
    private let folder: TemporaryFolder
    private let receipt: String

    init() throws {
        folder = try TemporaryFolder()
        var purchase = ReceiptBuilder.Purchase.nonConsumable("pro", transactionID: "007")
        purchase.revocationDate = purchase.purchaseDate
        purchase.revocationReason = .appIssue
        var builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [purchase])
        builder.writesEmptyAttributes = false
        builder.additionalAttributes = [
            .integer(AttributeType(rawValue: 14), 1), .utf8String(AttributeType(rawValue: 77), "x"),
            .integer(AttributeType(rawValue: 14), -2),
            .init(AttributeType(rawValue: 78), version: 3, value: [1, 2, 0xFF]),
        ]
        builder.attributeOrder = .asGiven
        receipt = try folder.write("receipt.der", try builder.signed(by: Minted.authority))
    }

    @Test func `what is not verified begins with UNVERIFIED`() {
        let result = run("decode", receipt)
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("UNVERIFIED  \(receipt): anyone can have written this\n"))
        #expect(result.output.contains("CANCELLED 2") && result.output.contains("(problem with the app)"))
        #expect(!result.output.contains("Not checked"))
    }

    @Test func `as JSON it says that it is not verified, and names no trust`() throws {
        let object = try #require(try run("decode", "--format", "json", receipt).objects().first)
        #expect(object["verified"] as? Bool == false)
        #expect(object["trust"] == nil)
        let contents = try #require(object["receipt"] as? NSDictionary)
        #expect(contents["bundle_id"] as? String == "com.example.app")
        #expect(
            contents["unknown_attributes"] as? NSArray == [
                ["type": 14, "version": 1, "value": "020101"], ["type": 77, "version": 1, "value": "0c0178"],
                ["type": 14, "version": 1, "value": "0201fe"], ["type": 78, "version": 3, "value": "0102ff"],
            ])
        let purchase = (contents["in_app"] as? [NSDictionary])?.first
        #expect(purchase?["transaction_id"] as? String == "007")
        #expect(purchase?["cancellation_reason"] as? Int == 1)
        #expect(purchase?["expires_date"] == nil)
    }

    @Test func `attributes are listed by number, repeated ones as an array`() throws {
        let object = try #require(try run("decode", "--format", "attributes", receipt).objects().first)
        #expect(Set(object.allKeys as? [String] ?? []) == ["file", "outer", "in_app", "content_bytes"])
        let outer = try #require(object["outer"] as? NSDictionary)
        #expect(outer["14"] as? [Int] == [1, -2])
        #expect(outer["77"] as? String == "x")
        #expect(outer["78"] as? String == "hex:0102ff")
        #expect((outer["4"] as? String)?.hasPrefix("hex:") == true)
        #expect(outer["17"] == nil)
        let purchase = (object["in_app"] as? [NSDictionary])?.first
        #expect(purchase?["1703"] as? String == "007")
        #expect(purchase?["1720"] as? Int == 1)
    }

    @Test(arguments: ["text", "json", "attributes"])
    func `what cannot be decoded is refused, what cannot be read is unusable`(format: String) throws {
        let broken = try folder.write("broken.der", [0x30, 0x88] + [UInt8](repeating: 0xFF, count: 8))
        let refused = run("decode", "--format", format, broken)
        #expect(refused.status == 1)
        #expect(refused.output.contains("length-overflow"))
        let unreadable = run("decode", "--format", format, broken, folder.url.path(percentEncoded: false))
        #expect(unreadable.status == 2)
        #expect(unreadable.errorOutput.hasSuffix(": Is a directory\n"))
        if format != "text" { #expect(try unreadable.objects().count == 2) }
    }
}
