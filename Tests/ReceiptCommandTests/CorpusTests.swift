import AppStoreReceipt
import Foundation
import TestSupport
import Testing

@testable import receipt

@Suite(.enabled(if: Corpus.isPresent, "RECEIPT_CORPUS names no folder of receipts"))
struct CorpusTests {
    private func paths(_ files: [URL]) -> [String] { files.map { $0.path(percentEncoded: false) } }

    private func code(_ object: NSDictionary) -> String? { (object["error"] as? NSDictionary)?["code"] as? String }

    @Test func `all receipts that Apple signed are verified`() throws {
        let receipts = paths(Corpus.apple)
        let result = run(["verify", "--format", "json"] + receipts)
        #expect(result.status == 0)
        let objects = try result.objects()
        #expect(objects.count == receipts.count && objects.allSatisfy { $0["verified"] as? Bool == true })
        #expect(objects.allSatisfy { ($0["trust"] as? NSDictionary)?["authority"] as? String == "apple" })
        for receipt in receipts { #expect(run("verify", receipt).status == 0) }
        print("corpus: \(objects.count) receipts signed by Apple: all verified")
    }

    @Test func `Xcode's receipts are refused, and verified with their own certificate as the root`() throws {
        let receipts = paths(Corpus.xcode)
        let folder = try TemporaryFolder()
        for receipt in receipts {
            let refused = run("verify", "--format", "json", receipt)
            #expect(refused.status == 1)
            #expect(try refused.objects().map(code) == ["untrusted-chain"])

            let certificate = try Corpus.certificate(in: Corpus.bytes(URL(filePath: receipt)))
            let root = try folder.write("root.der", certificate.der)
            let verified = run("verify", "--xcode-root", root, "--format", "json", receipt)
            #expect(verified.status == 0)
            let trust = try verified.objects().first?["trust"] as? NSDictionary
            #expect(trust?["authority"] as? String == "storekit-testing")
        }
        print("corpus: \(receipts.count) receipts of Xcode: untrusted-chain; verified with their own certificate")
    }

    @Test func `what was truncated is refused, with the place`() throws {
        let receipts = paths(Corpus.malformed)
        for receipt in receipts {
            for command in ["verify", "decode"] {
                let result = run(command, "--format", "json", receipt)
                #expect(result.status == 1)
                let error = try result.objects().first?["error"] as? NSDictionary
                #expect(error?["code"] as? String == "truncated")
                #expect(error?["offset"] as? Int == 0)
            }
            let listing = run("asn1", receipt)
            #expect(listing.status == 1 && listing.lines.count > 8)
        }
        print("corpus: \(receipts.count) truncated receipts: refused with code and offset")
    }

    @Test func `every attribute is what an independent decoder says`() throws {
        let expected = try Corpus.expectedObjects()
        let folder = try #require(Corpus.folder)
        let paths = try expected.map {
            folder.appending(path: "receipts/\(try #require($0["file"] as? String))").path(percentEncoded: false)
        }
        let result = run(["decode", "--format", "attributes"] + paths)
        #expect(result.status == 0)
        let objects = try result.objects()
        #expect(objects.count == expected.count)
        var count = 0
        for (object, expected) in zip(objects, expected) {
            #expect((object["file"] as? String)?.hasSuffix(expected["file"] as? String ?? "?") == true)
            #expect(object["content_bytes"] as? Int == expected["content_bytes"] as? Int)
            count += try compare(object["outer"], expected["outer"])
            let (ours, theirs) = (object["in_app"] as? NSArray ?? [], expected["in_app"] as? NSArray ?? [])
            #expect(ours.count == theirs.count)
            for (ours, theirs) in zip(ours, theirs) { count += try compare(ours, theirs) }
            #expect(object.count == 4)
        }
        print("corpus: \(objects.count) receipts: all \(count) attributes equal")
    }

    /// Compares two objects field by field and gives the number of fields.
    private func compare(_ ours: Any?, _ theirs: Any?) throws -> Int {
        let ours = try #require(ours as? NSDictionary)
        let theirs = try #require(theirs as? [String: NSObject])
        #expect(Set(ours.allKeys as? [String] ?? []) == Set(theirs.keys))
        for (key, value) in theirs { #expect((ours[key] as? NSObject) == value, "attribute \(key)") }
        return theirs.count
    }
}
