import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

@Suite struct MintCommandJWSTests {
    private let folder: TemporaryFolder
    private var authority: String { folder.url.appending(path: "ec").path(percentEncoded: false) }
    private var root: String { authority + "/root.der" }

    init() throws {
        folder = try TemporaryFolder()
        let made = run("ca", "--key", "ec", "--out", authority)
        #expect(made.status == 0 && made.output == "\(authority)/root.der is the root to trust in tests.\n")
    }

    private func mint(_ specification: String, _ options: String...) throws -> Run {
        run(["mint", "--ca", authority] + options + [try folder.write("spec.json", specification)])
    }

    /// The file of a JWS that is minted.
    private func minted(_ specification: String, _ options: String...) throws -> String {
        let result = run(["mint", "--ca", authority] + options + [try folder.write("spec.json", specification)])
        #expect(result.status == 0 && result.errorOutput.isEmpty, "\(result.errorOutput)")
        return try folder.write("\(UUID().uuidString).jws", result.output)
    }

    private func verified(_ file: String) throws -> NSDictionary {
        let result = run("verify", "--format", "json", "--root", root, "--app-apple-id", "1234567890", file)
        #expect(result.status == 0, "\(result.output)")
        return try result.objects().first ?? [:]
    }

    @Test func `an authority with EC keys signs receipts and JWS`() throws {
        let receipt = try folder.write("r", run("mint", "--ca", authority, "--purchases", "2").output)
        let transaction = try minted(#"{"transaction":{}}"#)
        #expect(run("verify", "--root", root, receipt, transaction).status == 0)
        let certificate = run("asn1", root).output
        #expect(certificate.contains("P-384"))
    }

    @Test(arguments: ["transaction", "renewal_info", "app_transaction", "notification", "realtime_request"])
    func `an empty specification of each kind is verified`(kind: String) throws {
        let object = try verified(minted("{\"\(kind)\":{}}"))
        #expect(object[kind] is NSDictionary)
    }

    @Test func `members are Apple's, with dates in RFC 3339 or milliseconds, and null leaves one out`() throws {
        let file = try minted(
            #"""
            {"transaction":{"productId":"pro","transactionId":"7","purchaseDate":"2025-06-15T12:00:00Z","price":null,
             "revocationDate":1749988800000,"commitmentInfo":{"commitmentExpiresDate":"2025-06-15T12:00:00Z"},
             "advancedCommerceInfo":{"items":[{"SKU":"a","revocationDate":"2025-06-15T12:00:00Z"}]}}}
            """#)
        let jws = try String(contentsOf: URL(filePath: file), encoding: .utf8).split(separator: ".")
        var base64 = jws[1].replacing("-", with: "+").replacing("_", with: "/")
        while base64.count % 4 != 0 { base64 += "=" }
        let bytes = try #require(Data(base64Encoded: String(base64)))
        let payload = try #require(try JSONSerialization.jsonObject(with: bytes) as? NSDictionary)
        #expect(payload["purchaseDate"] as? Int == 1_749_988_800_000)
        #expect(payload["revocationDate"] as? Int == 1_749_988_800_000)
        #expect(payload["price"] == nil && payload["originalTransactionId"] as? String == "7")
        let commitment = payload["commitmentInfo"] as? NSDictionary
        #expect(commitment?["commitmentExpiresDate"] as? Int == 1_749_988_800_000)
        let items = (payload["advancedCommerceInfo"] as? NSDictionary)?["items"] as? [NSDictionary]
        #expect(items?.first?["revocationDate"] as? Int == 1_749_988_800_000)
        #expect((try verified(file)["transaction"] as? NSDictionary)?["productId"] as? String == "pro")
    }

    @Test(arguments: [
        #"{"transaction":{"quantity":8,"multiSeatInfo":{"priceTiers":[{"price":990,"quantity":8}]}}}"#,
        #"{"transaction":{"multiSeatInfo":{"invitationManagement":"APPLE","revokedSeatQuantity":2}}}"#,
        #"{"transaction":{"additionalTransactionReason":"SEAT_ADDITION"}}"#,
        #"{"transaction":{"inAppOwnershipType":"ASSIGNED","revocationType":"ASSIGNMENT_REVOKE","offerType":5}}"#,
        #"{"renewal_info":{"renewalQuantity":9,"multiSeatInfo":{"renewalPriceTiers":[{"price":990,"quantity":9}]}}}"#,
        #"{"notification":{"notificationType":"UNCLAIM_SEATS","unclaimInfo":{"unclaimSeatIds":["a"]}}}"#,
        #"{"notification":{"notificationType":"REFUND","subtype":"SEATS"}}"#,
        #"{"notification":{"notificationType":"MIGRATE"}}"#,
    ])
    func `what Apple signs of seats is minted, verified and decoded as it was written`(specification: String) throws {
        let file = try minted(specification)
        let wanted = try JSONSerialization.jsonObject(with: Data(specification.utf8)) as? NSDictionary ?? [:]
        let decoded = try #require(run("decode", "--format", "json", file).objects().first)
        for (kind, members) in wanted as? [String: NSDictionary] ?? [:] {
            for case let (name as String, value as NSObject) in members {
                for object in [try verified(file), decoded] {
                    #expect((object[kind] as? NSDictionary)?[name] as? NSObject == value, "\(name)")
                }
            }
        }
    }

    /// Only `data` has a version of the app; a token names its environment by its id, and claims that ended name no
    /// app.
    @Test(arguments: [
        (
            "externalPurchaseToken", #"{"externalPurchaseId":"SANDBOX_1"}"#,
            ["appAppleId", "bundleId", "externalPurchaseId"]
        ),
        (
            "externalPurchaseToken", #"{"externalPurchaseId":"7","tokenType":"SERVICES","bundleId":"a.b"}"#,
            ["appAppleId", "bundleId", "externalPurchaseId", "tokenType"]
        ),
        ("summary", #"{"succeededCount":7}"#, ["appAppleId", "bundleId", "environment", "succeededCount"]),
        ("appData", "{}", ["appAppleId", "bundleId", "environment"]),
        ("unclaimInfo", #"{"unclaimSeatIds":["b"]}"#, ["unclaimSeatIds"]),
        ("data", "{}", ["appAppleId", "bundleId", "bundleVersion", "environment"]),
    ])
    func `a notification has no members that Apple does not write`(
        subject: String, members: String, names: [String]
    ) throws {
        let file = try minted(#"{"notification":{"notificationType":"TEST","\#(subject)":\#(members)}}"#)
        let decoded = try #require(run("decode", "--format", "json", file).objects().first)
        let notification = try #require(decoded["notification"] as? [String: Any])
        let subjects = ["data", "appData", "summary", "externalPurchaseToken", "unclaimInfo"]
        #expect(subjects.filter { notification[$0] != nil } == [subject])
        #expect((notification[subject] as? [String: Any])?.keys.sorted() == names)
    }

    @Test(arguments: [
        #"{"notification":{"notificationType":"REFUND"},"transaction":{"bundleId":"com.example.other"}}"#,
        #"{"transaction":{"environment":"Sandbox"},"renewal_info":{},"notification":{"data":{"bundleVersion":"9"}}}"#,
        #"{"notification":{"data":{"bundleId":"a.b","environment":"Sandbox"}},"transaction":{},"renewal_info":{}}"#,
        #"{"notification":{},"app_transaction":{"bundleId":"a.b"}}"#,
    ])
    func `the parts of a notification are signed, and agree with it`(specification: String) throws {
        let object = try verified(minted(specification))
        let kinds = ["transaction", "renewal_info", "app_transaction"].filter { specification.contains("\"\($0)\"") }
        for kind in ["notification"] + kinds { #expect(object[kind] is NSDictionary, "\(kind)") }
    }

    @Test(arguments: [
        #"{"transaction":{"productId":"pro","expiresDate":"2030-01-01T00:00:00Z"}}"#,
        #"{"notification":{"notificationType":"DID_RENEW"},"transaction":{},"renewal_info":{}}"#,
        #"{"app_transaction":{}}"#,
    ])
    func `what decode and verify print is minted again`(specification: String) throws {
        let file = try minted(specification)
        let decoded = run("decode", "--format", "json", file)
        let again = try minted(decoded.output)
        #expect(run("decode", "--format", "json", again).output.replacing(again, with: file).utf8.count > 100)
        let (first, second) = (try verified(file), try verified(again))
        for kind in ["transaction", "renewal_info", "app_transaction", "notification"] {
            #expect(first[kind] as? NSDictionary == second[kind] as? NSDictionary)
        }
        _ = try minted(run("verify", "--format", "json", "--root", root, file).output)
    }

    @Test func `evidence is signed after what it says has happened, unless it says when`() throws {
        func dates(_ specification: String) throws -> [String?] {
            let object = try verified(minted(specification))
            return ["transaction", "notification", "app_transaction"].map { name in
                let part = object[name] as? NSDictionary
                return (part?["signedDate"] ?? part?["receiptCreationDate"]) as? String
            }
        }
        let refund = #"{"notification":{"notificationType":"REFUND"},"transaction":{"revocationDate":"2025-07-01"}}"#
        #expect(try dates(refund) == ["2025-07-01T00:00:00Z", "2025-07-01T00:00:00Z", nil])
        let period = #"{"transaction":{"purchaseDate":"2020-01-01","expiresDate":"2030-01-01"}}"#
        #expect(try dates(period) == ["2025-06-15T12:00:00Z", nil, nil])
        let said = #"{"transaction":{"revocationDate":"2025-07-01","signedDate":"2025-06-20"}}"#
        #expect(try dates(said) == ["2025-06-20T00:00:00Z", nil, nil])
        #expect(try dates(#"{"app_transaction":{"originalPurchaseDate":"2025-07-01"}}"#)[2] == "2025-07-01T00:00:00Z")
    }

    @Test(arguments: ["", #","signedDate":"2025-06-20""#])
    func `what was refunded was bought before`(_ signedDate: String) throws {
        let object = try verified(minted("{\"transaction\":{\"revocationDate\":\"2025-01-01\"\(signedDate)}}"))
        let transaction = try #require(object["transaction"] as? NSDictionary)
        for name in ["purchaseDate", "originalPurchaseDate"] {
            #expect(transaction[name] as? String == "2024-12-31T23:59:59Z")
        }
    }

    @Test func `a minted refund takes back what was minted before it`() throws {
        let bought = try minted(#"{"transaction":{"transactionId":"7"}}"#)
        let refund = try minted(
            #"{"notification":{"notificationType":"REFUND"},"transaction":{"transactionId":"7","revocationDate":"2025-07-01"}}"#
        )
        let result = run("entitlements", "--root", root, "--at", "2026-01-01", "--format", "json", refund, bought)
        let items = try result.objects().first?["items"] as? [NSDictionary]
        #expect(items?.map { $0["access"] as? String } == ["revoked"])
    }

    private func lineItem(_ members: String) throws -> String? {
        let common = #""originalTransactionId":"1","type":"Auto-Renewable Subscription","expiresDate":"2030-01-01""#
        let object = try verified(minted("{\"transaction\":{\(members),\(common)}}"))
        return (object["transaction"] as? NSDictionary)?["webOrderLineItemId"] as? String
    }

    @Test func `a period has a web order line item, and a restored copy has the same`() throws {
        let first = try #require(try lineItem(#""transactionId":"1","productId":"pro""#))
        #expect(first.utf8.count == 15 && Int64(first) != nil)
        #expect(try lineItem(#""transactionId":"2","productId":"pro""#) == first)
        #expect(try lineItem(#""transactionId":"2","productId":"pro","signedDate":"2026-01-01""#) == first)
        #expect(try lineItem(#""transactionId":"3","productId":"gold""#) != first)
        #expect(try lineItem(#""transactionId":"4","webOrderLineItemId":"7""#) == "7")
        #expect(try lineItem(#""transactionId":"5","webOrderLineItemId":null"#) == nil)
    }

    @Test(arguments: ["Non-Consumable", "Consumable", "Non-Renewing Subscription"])
    func `no other purchase has a web order line item`(type: String) throws {
        let file = try minted(#"{"transaction":{"type":"\#(type)","expiresDate":"2030-01-01"}}"#)
        #expect((try verified(file)["transaction"] as? NSDictionary)?["webOrderLineItemId"] == nil)
    }

    @Test func `a refund of a period reaches its restored copies in every kind of evidence`() throws {
        func jws(_ id: Int, _ members: String = "") throws -> String {
            try minted(
                """
                {"transaction":{"transactionId":"\(id)","originalTransactionId":"1","productId":"pro",\(members)
                 "type":"Auto-Renewable Subscription","purchaseDate":"2025-06-15","expiresDate":"2035-06-15"}}
                """)
        }
        let specification = try folder.write(
            "receipt.json",
            """
            {"in_app":[{"product_id":"pro","transaction_id":"3","original_transaction_id":"1","quantity":1,
             "product_type":"auto-renewable","purchase_date":"2025-06-15","expires_date":"2035-06-15"}]}
            """)
        let receipt = try folder.write("receipt", run("mint", "--ca", authority, specification).output)
        func access(_ files: String...) throws -> [String: String] {
            let result = run(["entitlements", "--root", root, "--at", "2026-01-01", "--format", "json"] + files)
            let items = try #require(try result.objects().first?["items"] as? [NSDictionary])
            return Dictionary(
                uniqueKeysWithValues: items.map { ("\($0["transaction_id"] ?? "")", "\($0["access"] ?? "")") })
        }
        let (first, copy) = (try jws(1), try jws(2))
        #expect(try access(first, copy, receipt) == ["1": "active", "2": "active", "3": "active"])
        let refund = try jws(1, #""revocationDate":"2025-12-01","#)
        #expect(try access(copy, receipt, refund) == ["1": "revoked", "2": "revoked", "3": "revoked"])
    }

    @Test func `each notification has a UUID of its own, and the same one each time`() throws {
        func uuid(_ specification: String) throws -> String? {
            (try verified(minted(specification))["notification"] as? NSDictionary)?["notificationUUID"] as? String
        }
        let test = #"{"notification":{}}"#
        let first = try #require(try uuid(test))
        #expect(UUID(uuidString: first) != nil && first.utf8.count == 36)
        #expect(try uuid(test) == first)
        #expect(try uuid(#"{"notification":{"notificationType":"REFUND"}}"#) != first)
        #expect(try uuid(#"{"notification":{"notificationUUID":"x"}}"#) == "x")
    }

    @Test func `a bundle id replaces that of every part`() throws {
        let file = try minted(
            #"{"notification":{"data":{"bundleId":"a.b"}},"transaction":{"bundleId":"c.d"}}"#, "--bundle-id", "x.y")
        let object = try verified(file)
        #expect((object["transaction"] as? NSDictionary)?["bundleId"] as? String == "x.y")
        let data = (object["notification"] as? NSDictionary)?["data"] as? NSDictionary
        #expect(data?["bundleId"] as? String == "x.y")
    }

    @Test func `a member that Apple does not document is written, and told`() throws {
        let result = try mint(#"{"transaction":{"bundelId":"x"}}"#, "--out", folder.url.path + "/t.jws")
        #expect(result.status == 0)
        #expect(
            result.errorOutput.contains(
                "written as it is, but Apple documents no such member: 'bundelId' at byte 16"))
        let object = try verified(folder.url.path + "/t.jws")["transaction"] as? NSDictionary
        #expect(object?["bundelId"] as? String == "x" && object?["bundleId"] as? String == "com.example.app")
    }

    @Test(arguments: [
        (
            #"{"transaction":{"productId":1}}"#,
            "a value that this key cannot have (it must be a string) at byte 28: 1}}"
        ),
        (#"{"transaction":{"purchaseDate":"yesterday"}}"#, "at byte 31"),
        (#"{"transaction":{"quantity":"1"}}"#, "at byte 27"),
        (#"{"transaction":{"price":1,"price":2}}"#, "a key that is repeated at byte 26"),
        (#"{"transaction":{},"transaction":{}}"#, "a key that is repeated at byte 18"),
        (#"{"transaction":{},"renewal_info":{}}"#, "a value that this key cannot have at byte 18"),
        (#"{"transaction":{},"renewel_info":{}}"#, "no receipt has this key at byte 18"),
        (#"{"transaction":[]}"#, "at byte 15"),
        (#"{"transaction":{}"#, "the JSON is malformed at byte 17"),
        ("", "the specification is empty"), (" \n", "the specification is empty"),
    ])
    func `what is wrong is said with its place`(specification: String, message: String) throws {
        let result = try mint(specification)
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errorOutput.contains(message), "\(result.errorOutput)")
    }

    @Test func `what does not go with a JWS is said`() throws {
        let format = try mint(#"{"transaction":{}}"#, "--format", "der")
        #expect(format.status == 2 && format.errorOutput == "receipt: --format is for receipts: a JWS has one format\n")
        let rsa = folder.url.path + "/rsa"
        #expect(run("ca", "--key", "rsa", "--out", rsa).status == 0)
        let result = run("mint", "--ca", rsa, try folder.write("s.json", #"{"transaction":{}}"#))
        #expect(result.status == 2)
        #expect(
            result.errorOutput
                == "receipt: cannot mint: unsuitable-key. 'receipt ca --key ec' makes an authority for JWS.\n")
    }
}
