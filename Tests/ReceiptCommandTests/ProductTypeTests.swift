import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@_spi(Surfaces) @testable import AppStoreReceipt
@testable import receipt

/// What an app states of its products with `--product-type`, and what the command did not check.
struct ProductTypeTests {
    private let folder: TemporaryFolder
    private let file: String
    private let trust: [String]

    init() throws {
        folder = try TemporaryFolder()
        let authority = try Minted.authority
        let builder = TransactionReceiptBuilder(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "10000000000001")
        file = try folder.write("receipt.txt", builder.signedBase64(by: authority))
        trust = try [
            "--root", folder.write("root.der", authority.root.certificate),
            "--root", folder.write("issuer.der", authority.intermediate.certificate),
        ]
    }

    private func entitlements(_ words: [String]) -> Run {
        run(["entitlements"] + trust + words + [file])
    }

    @Test(
        arguments: [
            ([], "undetermined", nil), (["pro=consumable"], "consumable", "setting"),
            (["other=consumable", "pro=non-consumable"], "owned", "setting"),
            (["pro=non-renewing:36500"], "active", "setting"), (["pro=non-renewing:1"], "expired", "setting"),
            (["pro=auto-renewable"], "undetermined", "setting"), (["other=consumable"], "undetermined", nil),
        ] as [([String], String, String?)])
    func `a transaction receipt is decided by the type of its product`(
        types: [String], access: String, source: String?
    ) throws {
        let words = types.flatMap { ["--product-type", $0] }
        let result = entitlements(["--format", "json"] + words)
        #expect(result.status == 0)
        let items = try #require(result.objects()[0]["items"] as? [[String: Any]])
        #expect(items.map { $0["access"] as? String } == [access])
        #expect(items[0]["product_type_source"] as? String == source)
        let text = entitlements(words)
        #expect(text.output.contains("  \(access)  pro"))
        #expect(text.output.contains("by --product-type ") == (source != nil))
    }

    @Test(arguments: ["pro", "pro=", "=consumable", "pro=gold", "pro=non-renewing", "pro=non-renewing:0"])
    func `a type that cannot be read is refused with examples`(value: String) {
        let result = entitlements(["--product-type", value])
        #expect(result.status == 2)
        #expect(
            result.errorOutput.contains("--product-type cannot be '\(value)'; expected: such as com.example.coins="))
    }

    @Test func `one product has one type`() {
        let result = entitlements(["--product-type", "pro=consumable", "--product-type", "pro=non-consumable"])
        #expect(result.status == 2 && result.errorOutput.contains("each id once"))
    }

    @Test func `without options, both environments and every app are accepted, and the output says so`() {
        let unchecked = "Not checked: bundle id (--bundle-id), environment (--environment)."
        #expect(entitlements([]).output.contains(unchecked))
        #expect(run(["verify"] + trust + [file]).output.contains(unchecked))
        let batch = run(["batch", "--summary"] + trust + [file])
        #expect(batch.errorOutput.contains("not checked: bundle id (--bundle-id), environment (--environment)"))
        let all = ["--bundle-id", Minted.bundleID, "--environment", "production"]
        #expect(!entitlements(all).output.contains("Not checked"))
        let one = entitlements(["--bundle-id", Minted.bundleID]).output
        #expect(one.contains("Not checked: environment (--environment)."))
    }

    @Test func `every setting with a word is an option of the commands that verify`() throws {
        for setting in VerifierSetting.onCommandLine(of: .command) {
            let name = try #require(setting.name(on: .command))
            #expect(EntitlementsCommand.syntax.options.contains { $0.name == name }, "\(name)")
            #expect(
                VerifyCommand.syntax.options.contains { $0.name == name } == !setting.row.isAboutDecisions, "\(name)")
        }
    }
}
