import AppStoreReceiptTesting
import TestSupport
import Testing

@testable import AppStoreReceipt

@Suite struct JWSPayloadTests {
    private func transaction(_ change: (inout JSONValue) -> Void) throws -> Verified<TransactionInfo> {
        var builder = Minted.transaction
        change(&builder.payload)
        return try Minted.verifier().verifyTransaction(builder.signed(by: Minted.ellipticAuthority))
    }

    @Test func `every field of a transaction is read`() throws {
        let payload = """
            {"transactionId":"1","originalTransactionId":"2","previousOriginalTransactionId":"3","webOrderLineItemId":"4",
            "bundleId":"com.example.app","productId":"p\\u00e9","subscriptionGroupIdentifier":"5","purchaseDate":1,
            "originalPurchaseDate":2,"expiresDate":3,"quantity":4,"type":"Auto-Renewable Subscription",
            "appAccountToken":"6","inAppOwnershipType":"FAMILY_SHARED","signedDate":1749988800000,"revocationReason":1,
            "revocationDate":5,"revocationType":"REFUND_PRORATED","revocationPercentage":50000,"isUpgraded":true,
            "offerType":4,"offerIdentifier":"7","offerPeriod":"P1M","offerDiscountType":"PAY_UP_FRONT",
            "environment":"Sandbox","storefront":"AUT","storefrontId":"8","transactionReason":"RENEWAL","currency":"EUR",
            "price":990,"appTransactionId":"9","billingPlanType":"MONTHLY","deviceVerification":"10",
            "deviceVerificationNonce":"11","additionalTransactionReason":"SEAT_ADDITION","multiSeatInfo":{
            "priceTiers":[{"price":12,"quantity":13},{"price":14,"quantity":15}],"invitationManagement":"DEVELOPER",
            "revokedSeatQuantity":16},
            "commitmentInfo":{"billingPeriodNumber":1,"totalBillingPeriods":12,"commitmentExpiresDate":6,"commitmentPrice":7},
            "advancedCommerceInfo":{"descriptors":{"description":"d","displayName":"n"},"estimatedTax":1,"period":"P1M",
            "requestReferenceId":"r","taxCode":"c","taxExclusivePrice":2,"taxRate":"0.2","items":[{"SKU":"s",
            "description":"a","displayName":"b","price":3,"revocationDate":8,"offer":{"period":"P1W","periodCount":2,
            "price":4,"reason":"WIN_BACK"},"refunds":[{"refundAmount":5,"refundDate":9,"refundReason":"LEGAL",
            "refundType":"CUSTOM"}]}]}}
            """
        let verified = try Minted.verifier().verifyTransaction(Minted.jws(payload: payload))
        let info = verified.payload
        #expect(info.object.unknownMembers.isEmpty)
        #expect(info.members.known.count == TransactionInfo.Member.allCases.count)
        #expect(info.transactionID == "1" && info.originalTransactionID == "2")
        #expect(info.previousOriginalTransactionID == "3" && info.webOrderLineItemID == "4")
        #expect(info.productID == "pé" && info.subscriptionGroupID == "5")
        #expect(info.purchaseDate?.millisecondsSince1970 == 1 && info.originalPurchaseDate?.millisecondsSince1970 == 2)
        #expect(info.expiresDate?.millisecondsSince1970 == 3 && info.quantity == 4)
        #expect(info.productType == .autoRenewableSubscription && info.ownershipType == .familyShared)
        #expect(info.appAccountToken?.description == "6" && info.isUpgraded == true)
        #expect(info.isRevoked && info.revocationReason == .appIssue && info.revocationDate?.millisecondsSince1970 == 5)
        #expect(info.revocationType == .proratedRefund && info.revocationPercentage == 50000)
        #expect(info.offerType == .winBack && info.offerID == "7" && info.offerPeriod == "P1M")
        #expect(info.offerDiscountType == .payUpFront && info.environment == .sandbox)
        #expect(info.storefront == "AUT" && info.storefrontID == "8" && info.reason == .renewal)
        #expect(info.currency == "EUR" && info.price == 990 && info.appTransactionID == "9")
        #expect(info.billingPlanType == .monthly && info.commitment?.json(of: "totalBillingPeriods") == "12")
        #expect(info.commitment?.unknownMembers.isEmpty == true)
        #expect(info.deviceVerification == "10" && info.deviceVerificationNonce == "11")
        #expect(info.additionalTransactionReason == .seatAddition)
        let seats = try #require(info.multiSeatInfo)
        #expect(seats.invitationManagement == .developer && seats.revokedSeatQuantity == 16)
        #expect(seats.priceTiers?.map(\.price) == [12, 14] && seats.priceTiers?.map(\.quantity) == [13, 15])
        #expect(seats.object.unknownMembers.isEmpty && seats.object.json(of: "revokedSeatQuantity") == "16")
        #expect(seats.priceTiers?.first?.object.text == #"{"price":12,"quantity":13}"#)
        let commerce = try #require(info.advancedCommerceInfo)
        #expect(commerce.json(of: "taxRate") == #""0.2""# && commerce.json(of: "taxExclusivePrice") == "2")
        #expect(commerce.text.hasPrefix("{\"descriptors\":") && commerce.unknownMembers.isEmpty)
    }

    @Test func `payloads that differ anywhere hash differently`() throws {
        let text = Array(#"{"transactionId":"1000","unknown":["a",1,{"b":null}],"signedDate":1749988800000}"#.utf8)
        var payloads = Set<TransactionInfo>()
        var hashes = Set<Int>()
        for index in text.indices {
            for bit in 0..<8 {
                var other = text
                other[index] ^= 1 << bit
                guard let members = try? JWSMembers<TransactionInfo.Member>(decoding: other) else { continue }
                let payload = TransactionInfo(members: members)
                payloads.insert(payload)
                hashes.insert(payload.hashValue)
            }
        }
        #expect(payloads.count > text.count && hashes.count == payloads.count)
    }

    @Test func `every field of renewal information is read`() throws {
        let payload = """
            {"originalTransactionId":"1","productId":"2","autoRenewProductId":"3","autoRenewStatus":0,"expirationIntent":3,
            "isInBillingRetryPeriod":true,"gracePeriodExpiresDate":4,"renewalDate":5,"recentSubscriptionStartDate":6,
            "signedDate":1749988800000,"environment":"Production","renewalPrice":7,"currency":"USD",
            "priceIncreaseStatus":1,"renewalBillingPlanType":"BILLED_UPFRONT","offerType":1,"offerIdentifier":"8",
            "offerDiscountType":"FREE_TRIAL","offerPeriod":"P3D","eligibleWinBackOfferIds":["a","b"],
            "appTransactionId":"9","appAccountToken":"10","deviceVerification":"11","deviceVerificationNonce":"12",
            "renewalQuantity":20,"multiSeatInfo":{"renewalPriceTiers":[{"price":21,"quantity":22}]},
            "commitmentInfo":{"commitmentAutoRenewProductId":"13","commitmentAutoRenewStatus":1,
            "commitmentRenewalBillingPlanType":"MONTHLY","commitmentRenewalDate":14,"commitmentRenewalPrice":15},
            "advancedCommerceInfo":{"consistencyToken":"16","items":[{"SKU":"17","priceIncreaseInfo":{
            "dependentSKUs":["18"],"price":19,"status":"PENDING"}}]}}
            """
        let info = try Minted.verifier().verifyRenewalInfo(Minted.jws(payload: payload)).payload
        #expect(info.object.unknownMembers.isEmpty)
        #expect(info.members.known.count == RenewalInfo.Member.allCases.count)
        #expect(info.originalTransactionID == "1" && info.productID == "2" && info.autoRenewProductID == "3")
        #expect(info.autoRenewStatus == .off && info.expirationIntent == .priceIncreaseNotAccepted)
        #expect(info.isInBillingRetryPeriod == true && info.gracePeriodExpiresDate?.millisecondsSince1970 == 4)
        #expect(info.eligibleWinBackOfferIDs == ["a", "b"] && info.priceIncreaseStatus == .accepted)
        #expect(
            info.renewalBillingPlanType == .billedUpfront && info.commitment?.json(of: "commitmentRenewalPrice") == "15"
        )
        #expect(info.advancedCommerceInfo?.json(of: "consistencyToken") == #""16""#)
        let tiers = try #require(info.multiSeatInfo?.renewalPriceTiers)
        #expect(info.renewalQuantity == 20 && tiers.map(\.price) == [21] && tiers.map(\.quantity) == [22])
        #expect(info.multiSeatInfo?.object.unknownMembers.isEmpty == true)
    }

    @Test func `every field of an app transaction is read`() throws {
        let payload = """
            {"receiptType":"Sandbox","appAppleId":0,"appTransactionId":"1","bundleId":"com.example.app",
            "applicationVersion":"2","versionExternalIdentifier":3,"receiptCreationDate":1749988800000.9,
            "originalPurchaseDate":-62135769600000,"originalApplicationVersion":"4","originalPlatform":"macOS",
            "preorderDate":5,"requestDate":6,"deviceVerification":"7","deviceVerificationNonce":"8"}
            """
        let info = try Minted.verifier().verifyAppTransaction(Minted.jws(payload: payload)).payload
        #expect(info.object.unknownMembers.isEmpty)
        #expect(info.members.known.count == AppTransaction.Member.allCases.count)
        #expect(info.signedDate?.millisecondsSince1970 == 1_749_988_800_000)
        #expect(info.originalPurchaseDate?.description == "0000-12-30T00:00:00Z")
        #expect(info.originalPlatform == .macOS && info.originalApplicationVersion == "4")
    }

    @Test func `unknown members and unknown values survive`() throws {
        let verified = try transaction {
            $0["transactionReason"] = "TELEPATHY"
            $0["offerType"] = 99
            $0["type"] = "Rental"
            $0.append("newField", ["a": [1, .raw(" 2.50")]])
            $0.append("newField", "twice")
        }
        #expect(verified.payload.reason?.rawValue == "TELEPATHY")
        #expect(verified.payload.offerType == OfferType(rawValue: 99))
        #expect(verified.payload.productType?.rawValue == "Rental")
        let unknown = verified.payload.object.unknownMembers
        #expect(unknown.map(\.name) == ["newField", "newField"])
        #expect(unknown.map(\.json) == [#"{"a":[1, 2.50]}"#, #""twice""#])
        #expect(verified.payload.object.json(of: "price") == "1990")
        #expect(verified.payload.object.text.hasPrefix("{\"transactionId\":\"1000\""))
    }

    @Test func `null counts as absent`() throws {
        let verified = try transaction { $0["revocationDate"] = .null }
        #expect(!verified.payload.isRevoked)
    }

    @Test func `a member that is null is no field, and those after it are`() throws {
        let all = try transaction { _ in }.payload.fields.map(\.name)
        let verified = try transaction {
            for name in ["revocationDate", "offerIdentifier", "multiSeatInfo", "unknown"] { $0.append(name, .null) }
            $0.append("last", 1)
        }
        #expect(verified.payload.fields.map(\.name) == all + ["last"])
    }

    @Test func `a revoked transaction is verified, and says so`() throws {
        let verified = try transaction { $0["revocationDate"] = 1_749_988_000_000 }
        #expect(verified.payload.isRevoked && verified.isRevoked)
        #expect(verified.purchase?.givesAccess(at: JWSBuilder.defaultDate) == false)
    }

    @Test(arguments: [true, false])
    func `a transaction that was upgraded from grants nothing`(isUpgraded: Bool) throws {
        let verified = try transaction {
            $0["isUpgraded"] = .boolean(isUpgraded)
            $0["expiresDate"] = 1_900_000_000_000
        }
        #expect(verified.purchase?.givesAccess(at: JWSBuilder.defaultDate) == !isUpgraded)
    }

    @Test(arguments: [
        ("productId", "1", "unexpected-type"), ("quantity", #""1""#, "unexpected-type"),
        ("quantity", "1.5", "unexpected-value"),
        ("quantity", "9223372036854775808", "number-out-of-range"), ("isUpgraded", "0", "unexpected-type"),
        ("purchaseDate", #""2025-01-01""#, "unexpected-type"), ("expiresDate", "1e3", "unexpected-value"),
        ("price", "1,,", "unexpected-character"), ("price", #""\x""#, "invalid-escape"),
        ("commitmentInfo", "[}", "unexpected-character"),
        ("advancedCommerceInfo", #"{"items":[{"SKU":"a","SKU":"b"}]}"#, "duplicate-member"),
        ("productId", #""\ud800""#, "invalid-escape"), ("productId", "\"a\nb\"", "invalid-string"),
        ("new", "[1,]", "unexpected-character"), ("new", "01", "invalid-number"),
        ("new", String(repeating: "[", count: 65) + String(repeating: "]", count: 65), "nesting-too-deep"),
    ])
    func `a known member of another type, and what is no JSON, is refused with the place`(
        _ name: String, _ value: String, _ code: String
    ) throws {
        var builder = Minted.transaction
        builder.payload[name] = .raw(value)
        let error = try Minted.failure(builder.signed(by: Minted.ellipticAuthority))
        #expect(error?.code.rawValue == code && error?.stage == .payload)
        #expect(error?.offsetBase == .payload && error?.offset ?? 0 > 0)
    }

    @Test(arguments: ["productId", "transactionId", "bundleId", "environment", "revocationDate"])
    func `a member that matters and is there twice is refused`(_ name: String) throws {
        var builder = Minted.transaction
        builder.payload["revocationDate"] = .null
        builder.payload.append(name, name == "revocationDate" ? 1 : "second")
        let error = try Minted.failure(builder.signed(by: Minted.ellipticAuthority))
        #expect(error?.code == .duplicateMember && error?.stage == .payload)
    }

    @Test(arguments: ["[]", "null", "\"a\"", "", "{} {}", "{\"signedDate\":1749988800000}", "{}"])
    func `a payload that is no such object is refused, and a stranger's is his forgery before that`(
        _ payload: String
    ) throws {
        let error = try #require(try Minted.failure(Minted.jws(payload: payload)))
        #expect(error.stage == .payload)
        let stranger = try JWSBuilder(payload: .raw(payload)).signed(by: Minted.ellipticStranger)
        let forgery = try #require(try Minted.failure(stranger))
        #expect(forgery.code == .untrustedChain && forgery.category == .forgery)
    }

    @Test func `whose fault an error is decides its category`() throws {
        let authority = try Minted.ellipticAuthority
        func category(
            _ builder: JWSBuilder, _ authority: TestCertificateAuthority
        ) throws -> VerificationError.Category? {
            let (jws, verifier) = (try builder.signed(by: authority), try Minted.verifier())
            do throws(VerificationError) {
                if builder.payload["notificationType"] != nil {
                    _ = try verifier.verifyNotification(jws)
                } else {
                    _ = try verifier.verifyTransaction(jws)
                }
                return nil
            } catch {
                return error.category
            }
        }
        var other = Minted.transaction
        other.bundleID = "com.example.other"
        var unsigned = Minted.transaction
        unsigned.algorithm = "none"
        let stranger = try Minted.transaction.signed(by: Minted.ellipticStranger)
        let cases: [(String, JWSBuilder, VerificationError.Category?)] = [
            ("genuine", Minted.transaction, nil), ("of another app", other, .client),
            ("alg none", unsigned, .client), ("no JSON", JWSBuilder(payload: .raw("{")), .host),
            (
                "of another kind", .renewalInfo(productID: "pro", originalTransactionID: "1000"), .client
            ),
            ("of a kind with a date of another name", .appTransaction(bundleID: Minted.bundleID), .client),
            (
                "with a part of a stranger's",
                .notification(NotificationType(rawValue: "T"), bundleID: Minted.bundleID, transaction: stranger),
                .host
            ),
            (
                "with a part that is none",
                .notification(NotificationType(rawValue: "T"), bundleID: Minted.bundleID, transaction: "e.e"), .host
            ),
            (
                "with a part about another app",
                .notification(
                    NotificationType(rawValue: "T"), bundleID: Minted.bundleID,
                    transaction: try other.signed(by: authority)), .client
            ),
        ]
        for (name, builder, expected) in cases {
            #expect(try category(builder, authority) == expected, "\(name)")
        }
        #expect(try category(Minted.transaction, Minted.ellipticStranger) == .forgery)
    }

    @Test func `a payload is read as the kind it is, and as no other`() throws {
        let authority = try Minted.ellipticAuthority
        let verifier = try Minted.verifier { $0.appAppleID = "1234567890" }
        let builders: [JWSBuilder] = [
            Minted.transaction, .renewalInfo(productID: "pro", originalTransactionID: "1000"),
            .appTransaction(bundleID: Minted.bundleID), .notification(.test, bundleID: Minted.bundleID),
            .realtimeRequest(productID: "pro", originalTransactionID: "1000"),
        ]
        for (index, builder) in builders.enumerated() {
            let jws = try builder.signed(by: authority)
            let attempts: [() throws -> Void] = [
                { _ = try verifier.verifyTransaction(jws) }, { _ = try verifier.verifyRenewalInfo(jws) },
                { _ = try verifier.verifyAppTransaction(jws) }, { _ = try verifier.verifyNotification(jws) },
                { _ = try verifier.verifyRealtimeRequest(jws) },
            ]
            for (attempt, verify) in attempts.enumerated() {
                if attempt == index { try verify() } else { #expect(throws: VerificationError.self) { try verify() } }
            }
            let evidence = try verifier.verify(Array(jws.utf8))
            let kind =
                switch evidence {
                case .transaction: 0
                case .renewalInfo: 1
                case .appTransaction: 2
                case .notification: 3
                case .realtimeRequest: 4
                case .receipt, .transactionReceipt: 5
                }
            #expect(kind == index)
        }
    }
}
