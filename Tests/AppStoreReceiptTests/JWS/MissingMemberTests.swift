import AppStoreReceiptTesting
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// What Apple signed before it wrote all the members that it writes today.
@Suite struct MissingMemberTests {
    private static let anything = Result {
        try Minted.verifier { ($0.bundleIDs, $0.environments) = (nil, nil) }
    }

    private func builder(_ type: ProductType, without names: String..., quantity: JSONValue? = 1) -> JWSBuilder {
        var builder = Minted.transaction
        builder.productType = type
        builder.expiresDate = type.renews ? JWSBuilder.defaultDate + .seconds(86_400) : nil
        builder.payload["quantity"] = quantity
        for name in names { builder.payload[name] = nil }
        return builder
    }

    private func failure(_ jws: String, _ verifier: AppStoreVerifier) throws -> VerificationError? {
        do throws(VerificationError) {
            _ = try verifier.verify(jws)
            return nil
        } catch {
            return error
        }
    }

    private func item(_ builder: JWSBuilder) throws -> Entitlements.Item {
        let evidence = try Self.anything.get().verify(Minted.jws(builder))
        return try #require(Entitlements([evidence], at: JWSBuilder.defaultDate).items.first)
    }

    // MARK: App and environment

    @Test(arguments: [("environment", "environment-missing"), ("bundleId", "bundle-id-missing")])
    func `what Apple did not sign is refused where it is asked for, and otherwise left undetermined`(
        member: String, code: String
    ) throws {
        for value in [nil, .null] + (member == "bundleId" ? [""] : []) as [JSONValue?] {
            for original in [Minted.transaction, .appTransaction(bundleID: Minted.bundleID)] {
                var builder = original
                guard builder.payload[member] != nil else { continue }
                builder.payload[member] = value
                let jws = try Minted.jws(builder)
                let error = try #require(try failure(jws, Minted.verifier()))
                #expect(error.code.rawValue == code && error.stage == .policy && error.category == .client)
                #expect(error.advice.contains("/v1/recover") && error.expected != nil)
                _ = try Self.anything.get().verify(jws)
            }
            for type in [ProductType.consumable, .nonConsumable, .autoRenewableSubscription] {
                var builder = builder(type)
                builder.payload[member] = value
                let item = try item(builder)
                #expect(item.access == .undetermined && item.reason?.rawValue == code)
                #expect(!item.access.isGrantable && item.ownedQuantity == nil)
                // Nothing is defaulted.
                #expect(member == "bundleId" || item.environment == nil)
            }
        }
    }

    @Test func `what is not asked can be every environment of the roots, and no unknown one`() throws {
        for (name, code) in [
            ("Production", nil), ("Sandbox", nil), ("Xcode", "environment-mismatch"), ("Moon", "unknown-environment"),
            ("", "unknown-environment"),
        ] as [(JSONValue, String?)] {
            var builder = Minted.transaction
            builder.payload["environment"] = name
            #expect(try failure(Minted.jws(builder), Self.anything.get())?.code.rawValue == code)
        }
        let verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: nil),
            trust: .storeKitTesting([Minted.ellipticStoreKit.trustAnchor]))
        for (name, code) in [("Xcode", nil), (nil, nil), ("Production", "environment-mismatch")]
            as [(
                JSONValue?, String?
            )]
        {
            var builder = Minted.transaction
            builder.payload["environment"] = name
            #expect(try failure(builder.signed(by: Minted.ellipticStoreKit), verifier)?.code.rawValue == code)
        }
    }

    @Test func `a refund without an environment still takes back`() throws {
        var builder = builder(.nonConsumable, without: "environment")
        builder.revocationDate = JWSBuilder.defaultDate
        let item = try item(builder)
        #expect(item.access == .revoked(at: JWSBuilder.defaultDate) && item.reason == .revoked && item.quantity == 0)
    }

    @Test func `the parts of a notification are about the app and in the environment that its data names`() throws {
        let transaction = try Minted.jws(builder(.nonConsumable, without: "environment", "bundleId"))
        var renewal = JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1000")
        renewal.payload["environment"] = nil
        for environment in [AppStoreEnvironment.production, .sandbox] {
            let jws = try Minted.jws(
                .notification(
                    .refund, bundleID: Minted.bundleID, environment: environment, transaction: transaction,
                    renewalInfo: Minted.jws(renewal)))
            for verifier in [try Minted.verifier(environments: [environment]), try Self.anything.get()] {
                let evidence = try verifier.verify(jws)
                let purchase = try #require(evidence.purchases.first)
                #expect(purchase.environment == environment && purchase.bundleID == Minted.bundleID)
                #expect(try #require(evidence.renewals.first).renewal.environment == environment)
                let item = try #require(Entitlements([evidence], at: JWSBuilder.defaultDate).items.first)
                #expect(item.access == .owned && item.reason == nil)
            }
            let other = try Minted.verifier(environments: environment == .sandbox ? [.production] : [.sandbox])
            #expect(try failure(jws, other)?.code == .environmentMismatch)
        }
        // The part alone does not have it.
        #expect(try failure(transaction, Minted.verifier())?.code == .bundleIDMissing)
        // What a part names is compared with the data.
        let sandbox = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "1000", environment: .sandbox)
        let mixed = try Minted.jws(
            .notification(.refund, bundleID: Minted.bundleID, transaction: Minted.jws(sandbox)))
        #expect(try failure(mixed, Self.anything.get())?.code == .partMismatch)
        // Data that names nothing lends nothing.
        var bare = JWSBuilder.notification(.refund, bundleID: Minted.bundleID, transaction: transaction)
        bare.payload["data"]?["environment"] = nil
        #expect(try failure(Minted.jws(bare), Minted.verifier())?.code == .environmentMissing)
        let evidence = try Self.anything.get().verify(Minted.jws(bare))
        // Of no environment, it is in no purchase that an app can take, but decided with all that it proves.
        #expect(evidence.purchases.isEmpty)
        #expect(Entitlements([evidence], at: JWSBuilder.defaultDate).items.map(\.environment) == [nil])
    }

    @Test func `an Apple id that is asked for is required where the environment is not known to be the sandbox`() throws
    {
        var builder = JWSBuilder.notification(.test, bundleID: Minted.bundleID)
        builder.payload["data"]?["appAppleId"] = nil
        let verifier = try Minted.verifier { ($0.appAppleID, $0.environments) = ("1234567890", nil) }
        for (name, code) in [("Sandbox", nil), (nil, "app-apple-id-mismatch")] as [(JSONValue?, String?)] {
            builder.payload["data"]?["environment"] = name
            #expect(try failure(Minted.jws(builder), verifier)?.code.rawValue == code)
        }
    }

    @Test func `a transaction receipt whose ids name no environment is undetermined if none is asked for`() throws {
        var builder = TransactionReceiptBuilder(bundleID: Minted.bundleID, productID: "pro", transactionID: "33993399")
        builder.originalTransactionID = "33993399"
        let text = try builder.signed(by: Minted.authority)
        let trust = try Minted.authority.transactionReceiptTrust
        func verifier(_ environments: Set<AppStoreEnvironment>?) throws -> AppStoreVerifier {
            try AppStoreVerifier(policy: .init(bundleIDs: nil, environments: environments), trust: trust)
        }
        #expect(throws: VerificationError.policy(.unknownEnvironment, found: "33993399")) {
            try verifier([.production]).verify(text)
        }
        let items = Entitlements([try verifier(nil).verify(text)], at: .now, productTypes: ["pro": .consumable]).items
        #expect(items.map(\.reason) == [.environmentMissing])
    }

    // MARK: Quantity

    @Test(
        arguments: [
            (.consumable, nil, "undetermined quantity-missing 0"), (.nonConsumable, nil, "owned - 1"),
            (.autoRenewableSubscription, nil, "active - 1"), (.consumable, 3, "consumable - 3"),
            (.consumable, 0, "undetermined quantity-invalid 0"), (.consumable, -1, "undetermined quantity-invalid 0"),
            (.nonConsumable, 0, "undetermined quantity-invalid 0"),
            (.autoRenewableSubscription, 0, "undetermined quantity-invalid 0"),
            (.consumable, .integer(.min), "undetermined quantity-invalid 0"),
        ] as [(ProductType, JSONValue?, String)])
    func `no quantity counts as one, unless it is a consumable's, and none below one counts`(
        type: ProductType, quantity: JSONValue?, expected: String
    ) throws {
        let item = try item(builder(type, quantity: quantity))
        #expect("\(item.access.code) \(item.reason?.rawValue ?? "-") \(item.quantity)" == expected)
        #expect(
            item.purchasedQuantity == item.purchase.quantity && (item.purchasedQuantity == nil) == (quantity == nil))
    }

    @Test func `a quantity that is known is not undone by evidence without one`() throws {
        let verifier = try Self.anything.get()
        let evidence = try ([nil, 3] as [JSONValue?]).map { (quantity) throws in
            var builder = builder(.consumable, quantity: quantity)
            builder.payload["signedDate"] = .integer(
                JWSBuilder.defaultDate.millisecondsSince1970 + (quantity == nil ? 1000 : 0))
            return try verifier.verify(Minted.jws(builder))
        }
        for evidence in [evidence, evidence.reversed()] {
            let items = Entitlements(evidence, at: JWSBuilder.defaultDate).items
            #expect(items.map(\.access) == [.consumable(quantity: 3)])
        }
    }

    // MARK: Kinds

    @Test func `no payload of one kind has all that another kind requires`() throws {
        let kinds: [JWSKind: (required: [String], all: [String])] = [
            .transaction: (names(TransactionInfo.required), names(TransactionInfo.Member.allCases)),
            .renewalInfo: (names(RenewalInfo.required), names(RenewalInfo.Member.allCases)),
            .appTransaction: (names(AppTransaction.required), names(AppTransaction.Member.allCases)),
            .notification: (names(AppStoreNotification.required), names(AppStoreNotification.Member.allCases)),
            .realtimeRequest: (names(RealtimeRequest.required), names(RealtimeRequest.Member.allCases)),
        ]
        #expect(kinds.count == JWSKind.allCases.count)
        for (kind, own) in kinds {
            for (other, its) in kinds where other != kind {
                #expect(!Set(own.required).isSubset(of: its.all), "\(other) can be \(kind)")
            }
        }
    }

    private func names(_ members: [some RawRepresentable<String>]) -> [String] { members.map(\.rawValue) }

    @Test(arguments: ["transactionId", "originalTransactionId", "productId"])
    func `an error names the member without which nothing can be decided`(member: String) throws {
        var builder = Minted.transaction
        builder.payload[member] = nil
        let jws = try Minted.jws(builder)
        for policy in [VerificationPolicy.ValidationDate.whenSigned, .at(JWSBuilder.defaultDate)] {
            let verifier = try Minted.verifier { $0.validationDate = policy }
            let any = #expect(throws: VerificationError.self) { try verifier.verify(jws) }
            let one = #expect(throws: VerificationError.self) { try verifier.verifyTransaction(jws) }
            for error in [any, one] {
                #expect(error?.code == .missingMember && error?.member == member)
                #expect(error?.json.contains(#""member":"\#(member)""#) == true)
                #expect(error?.description.contains("is missing: \(member)") == true)
            }
        }
        builder.payload["signedDate"] = "x"
        #expect(try failure(Minted.jws(builder), Minted.verifier())?.member == nil)
    }
}
