import Foundation
import TestSupport
import Testing

@testable import receipt

@Suite struct SignOfferCommandTests {
    private let folder: TemporaryFolder
    private let key: String

    init() throws {
        folder = try TemporaryFolder()
        key = try folder.write("key.p8", Project.bytes("Bindings/cases/signing/key.p8"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    private func sign(_ words: String...) -> Run {
        run(
            ["sign-offer", "--key", key, "--key-id", "K", "--issuer-id", "I", "--bundle-id", "com.example.app"] + words)
    }

    private func claims(_ jws: String) throws -> [String: Any] {
        let part = String(try #require(jws.split(separator: ".").dropFirst().first))
        let base64 = part.replacing("-", with: "+").replacing("_", with: "/")
        let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
        let object = try JSONSerialization.jsonObject(with: #require(Data(base64Encoded: padded)))
        return object as? [String: Any] ?? [:]
    }

    @Test func `each form is printed on one line`() throws {
        let promotional = sign("promotional", "--product-id", "pro", "--offer-id", "back", "--transaction-id", "12")
        #expect(promotional.status == 0 && promotional.lines.count == 1, "\(promotional.errorOutput)")
        #expect(try claims(promotional.output)["transactionId"] as? String == "12")

        let anyone = sign("promotional", "--product-id", "pro", "--offer-id", "back", "--anyone")
        #expect(anyone.status == 0)
        #expect(try claims(anyone.output)["transactionId"] == nil)

        let introductory = sign(
            "introductory", "--product-id", "pro", "--allow-introductory-offer", "false", "--transaction-id", "12")
        #expect(try claims(introductory.output)["allowIntroductoryOffer"] as? Bool == false)

        let request =
            #"{"operation":"CREATE_SUBSCRIPTION","version":"1","requestInfo":{"requestReferenceId":"7e3fb204-2bbe-4a3f-9a4c-0a2b5a6c7d8e"}}"#
        let commerce = sign("advanced-commerce", "--request", try folder.write("request.json", request))
        #expect(try claims(commerce.output)["request"] as? String == Data(request.utf8).base64EncodedString())

        for words in [
            ["--anyone"], ["--application-username", "Anna"],
            ["--app-account-token", "7e3fb204-2bbe-4a3f-9a4c-0a2b5a6c7d8e"],
        ] {
            let result = run(
                ["sign-offer", "original", "--key", key, "--key-id", "K", "--issuer-id", "I", "--bundle-id", "a"]
                    + ["--product-id", "pro", "--offer-id", "back"] + words)
            #expect(try result.objects().first?["key_id"] as? String == "K", "\(result.errorOutput)")
        }
    }

    @Test(arguments: [
        ([], "promotional|original|introductory|advanced-commerce is needed"),
        (["promotion"], "one argument too many: 'promotion'"),
        (["promotional", "--offer-id", "a", "--anyone"], "--product-id is needed"),
        (["promotional", "--product-id", "a", "--offer-id", "b"], "--transaction-id or --anyone is needed"),
        (
            ["promotional", "--product-id", "a", "--offer-id", "b", "--transaction-id", "1", "--anyone"],
            "--transaction-id and --anyone exclude each other"
        ),
        (
            ["original", "--product-id", "a", "--offer-id", "b"],
            "--app-account-token or --application-username or --anyone is needed"
        ),
        (
            ["original", "--product-id", "a", "--offer-id", "b", "--transaction-id", "1"],
            "original and --transaction-id exclude each other"
        ),
        (["introductory", "--product-id", "a", "--transaction-id", "1"], "--allow-introductory-offer is needed"),
        (
            ["introductory", "--product-id", "a", "--allow-introductory-offer", "true"], "--transaction-id is needed"
        ),
        (["advanced-commerce"], "--request is needed"),
        (["promotional", "--credential", "a"], "--key and --credential exclude each other"),
    ])
    func `nothing has a default`(words: [String], message: String) {
        let result = run(
            ["sign-offer", "--key", key, "--key-id", "K", "--issuer-id", "I", "--bundle-id", "a"] + words)
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errorOutput.contains(message), "\(result.errorOutput)")
    }

    @Test func `a refused argument is status 1, a key that cannot be used 2`() throws {
        let refused = sign("original", "--product-id", "a", "--offer-id", "b", "--app-account-token", "anna")
        #expect(refused.status == 1 && refused.output.isEmpty)
        #expect(refused.errorOutput.contains("app_account_token must be a UUID"))
        let request = try folder.write("request.json", "{}")
        #expect(sign("advanced-commerce", "--request", request).status == 1)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: key)
        let open = sign("promotional", "--product-id", "a", "--offer-id", "b", "--anyone")
        #expect(open.status == 2 && open.errorOutput.contains("chmod 600"))
        let missing = run([
            "sign-offer", "promotional", "--credential", "../key", "--key-id", "K", "--issuer-id", "I", "--bundle-id",
            "a", "--product-id", "a", "--offer-id", "b", "--anyone",
        ])
        #expect(missing.status == 2 && missing.errorOutput.contains("no credential of that name"))
        #expect(sign("advanced-commerce", "--request", "/none").status == 2)
    }
}
