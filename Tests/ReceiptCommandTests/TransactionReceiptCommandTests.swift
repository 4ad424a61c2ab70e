import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

/// Transaction receipts of iOS 3 to 6 in the commands that take evidence.
@Suite struct TransactionReceiptCommandTests {
    private let authority: TestCertificateAuthority
    private let folder: TemporaryFolder
    private let root: String
    private let intermediate: String
    private let receipt: String

    init() throws {
        authority = try Minted.authority
        folder = try TemporaryFolder()
        root = try folder.write("root.der", authority.root.certificate)
        intermediate = try folder.write("intermediate.der", authority.intermediate.certificate)
        let builder = TransactionReceiptBuilder(
            bundleID: "com.example.app", productID: "pro", transactionID: "10000000000001")
        receipt = try folder.write("receipt.txt", builder.signedBase64(by: authority) + "\n")
    }

    @Test func `a transaction receipt is shown, with an inferred environment`() {
        let result = run("verify", "--root", root, "--root", intermediate, receipt)
        #expect(result.status == 0 && result.errorOutput.isEmpty)
        #expect(result.output.hasPrefix("VERIFIED  \(receipt), transaction receipt signed under the given root\n"))
        #expect(result.lines.contains { $0.hasPrefix("  environment_is_inferred ") && $0.hasSuffix(" true") })
        #expect(run("verify", "--root", root, receipt).output.contains(": unpinned-issuer\n"))
        #expect(run("verify", receipt).status == 1)
    }

    @Test func `each line of JSON has the transaction receipt`() throws {
        let trust = ["--root", root, "--root", intermediate]
        for arguments in [["verify", "--format", "json"] + trust, ["batch"] + trust] {
            let object = try #require(try run(arguments + [receipt]).objects().first)
            #expect(object["verified"] as? Bool == true)
            #expect((object["transaction_receipt"] as? NSDictionary)?["product_id"] as? String == "pro")
        }
        let answer = try #require(
            try run(["verify", "--format", "verify-receipt"] + trust + [receipt]).objects().first)
        #expect(
            (answer["receipt"] as? NSDictionary)?["product_id"] as? String == "pro" && answer["status"] as? Int == 0)
    }

    @Test func `decode shows what is not verified, and its faults`() throws {
        #expect(run("decode", receipt).output.hasPrefix("UNVERIFIED  \(receipt): anyone can have written this\n"))
        let object = try #require(try run("decode", "--format", "json", receipt).objects().first)
        #expect(object["verified"] as? Bool == false && object["transaction_receipt"] is NSDictionary)
        let faulty = try folder.write("faulty.txt", #"{"signature" = "";}"#)
        let refused = run("decode", faulty)
        #expect(refused.status == 1 && refused.output.contains(": missing-key\n"))
        let error = try run("decode", "--format", "json", faulty).objects().first?["error"] as? NSDictionary
        #expect(error?["code"] as? String == "missing-key" && error?["offset_in"] as? String == "property-list")
    }

    @Test func `RSA-1024 is an option, and the advice names it`() throws {
        let authority = try TestCertificateAuthority(.transactionReceiptsOfVersion2)
        let builder = TransactionReceiptBuilder(
            bundleID: "com.example.app", productID: "pro", transactionID: "10000000000001", version: .version2)
        let file = try folder.write("version-2.txt", builder.signedBase64(by: authority))
        let chain = try folder.write("root-2.der", authority.root.certificate)
        let issuer = try folder.write("issuer-2.der", authority.intermediate.certificate)
        let refused = run("verify", "--root", chain, "--root", issuer, file)
        #expect(refused.status == 1 && refused.output.contains(": rsa-1024-not-allowed\n"))
        #expect(refused.output.contains("use --allow-rsa-1024."))
        #expect(run("verify", "--root", chain, "--root", issuer, "--allow-rsa-1024", file).status == 0)
    }

    @Test func `mint makes one from its specification, which verify accepts`() throws {
        let directory = folder.url.appending(path: "authority").path
        #expect(run("ca", "--out", directory).status == 0)
        let specification = try folder.write(
            "spec.json",
            #"{"transaction_receipt":{"version":3,"bundle_id":"com.example.app","product_id":"pro","transaction_id":"1000000046178817"}}"#
        )
        let minted = run("mint", "--ca", directory, specification)
        #expect(minted.status == 0)
        let file = try folder.write("minted.txt", minted.output)
        let trust = ["--root", directory + "/root.der", "--root", directory + "/intermediate.der"]
        #expect(run(["verify", "--environment", "sandbox"] + trust + [file]).status == 0)
        let weak = try folder.write(
            "weak.json", #"{"transaction_receipt":{"version":2,"bundle_id":"a","product_id":"b","transaction_id":"1"}}"#
        )
        let refused = run("mint", "--ca", directory, weak)
        #expect(refused.status == 2 && refused.errorOutput.contains("unsuitable-key"))
    }
}
