#if !FUZZ
import AppStoreReceiptTesting
import FuzzSupport

/// The first inputs: a JWS of every kind, with digits in place of certificates and without signatures. `JWSSigner` adds
/// both.
enum Seeds {
    static let all: [(name: String, bytes: [UInt8])] = {
        let bundleID = "com.example.app"
        let transaction = JWSBuilder.transaction(bundleID: bundleID, productID: "pro", transactionID: "1000")
        let renewal = JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1000")
        var sandbox = transaction
        sandbox.environment = .sandbox
        var commerce = transaction
        commerce.payload["advancedCommerceInfo"] = .raw(
            #"{"descriptors":{"description":"d","displayName":"n"},"items":[{"SKU":"s","price":1,"refunds":[{"refundAmount":1}],"offer":{"period":"P1M"}}]}"#
        )
        commerce.payload["commitmentInfo"] = .raw(#"{"billingPeriodNumber":1,"commitmentPrice":2}"#)
        var seats = transaction
        seats.payload["quantity"] = 8
        seats.payload["additionalTransactionReason"] = "SEAT_ADDITION"
        seats.payload["multiSeatInfo"] = .raw(
            #"{"priceTiers":[{"price":1,"quantity":8}],"invitationManagement":"APPLE","revokedSeatQuantity":2}"#)
        var spaced = renewal
        spaced.payload = .raw(
            " { \"originalTransactionId\" : \"1\" , \"autoRenewStatus\" : 1 , \"productId\" : \"\\u0070\\ud83d\\ude00\" , \"autoRenewProductId\" : \"é\" , \"environment\" : \"Production\" , \"signedDate\" : 1749988800000.5 , \"eligibleWinBackOfferIds\" : [ \"a\" , \"b\" ] } "
        )
        let notification = JWSBuilder.notification(
            .didRenew, subtype: .billingRecovery, bundleID: bundleID, transaction: text(transaction),
            renewalInfo: text(renewal))
        let app = JWSBuilder.appTransaction(bundleID: bundleID)
        let appData = JWSBuilder.notification(
            .rescindConsent, about: "appData",
            [
                "bundleId": .string(bundleID), "appAppleId": 1_234_567_890, "environment": "Production",
                "signedAppTransactionInfo": .string(text(app)),
            ])
        let summary = JWSBuilder.notification(
            .renewalExtension, about: "summary",
            [
                "bundleId": .string(bundleID), "appAppleId": 1_234_567_890, "environment": "Production",
                "requestIdentifier": "1", "productId": "pro", "succeededCount": 5, "failedCount": 0,
                "storefrontCountryCodes": ["USA"],
            ])
        let token = JWSBuilder.notification(
            .externalPurchaseToken, about: "externalPurchaseToken",
            [
                "bundleId": .string(bundleID), "appAppleId": 1_234_567_890, "environment": "Production",
                "externalPurchaseId": "1", "tokenCreationDate": 1,
            ])
        let request = JWSBuilder.realtimeRequest(productID: "pro", originalTransactionID: "1000")
        var xcode = transaction
        xcode.environment = .xcode
        let builders = [
            ("transaction", transaction), ("sandbox", sandbox), ("commerce", commerce), ("seats", seats),
            ("renewal", renewal), ("spaced", spaced), ("notification", notification),
            ("app-transaction", app), ("app-data", appData), ("summary", summary), ("token", token),
            ("request", request),
        ]
        var seeds = builders.map { ($0.0, Array(text($0.1).utf8)) }
        seeds.append(("xcode", Array(text(xcode, chain: ["6"]).utf8)))
        for (name, chain) in [
            ("bare-leaf", ["3", "1", "2"]), ("bare-intermediate", ["0", "4", "2"]), ("expired", ["5", "1", "2"]),
        ] {
            seeds.append((name, Array(text(transaction, chain: chain).utf8)))
        }
        seeds.append(("header", Array(text(transaction, header: [.init("kid", "a"), .init("typ", "JWT")]).utf8)))
        seeds.append(("critical", Array(text(transaction, header: [.init("crit", ["exp"])]).utf8)))
        seeds.append(("whitespace", Array((" \n" + text(transaction) + "\r\n").utf8)))
        let piece = JSONValue.object([
            .init("user", 17), .init("tags", ["a", "b"]), .init("signedTransactionInfo", .string(text(transaction))),
        ])
        seeds.append(("batch", piece.bytes))
        return seeds
    }()

    private static func text(
        _ builder: JWSBuilder, chain: [String] = ["0", "1", "2"], header: [JSONValue.Member] = []
    ) -> String {
        var fields: [JSONValue.Member] = [.init("alg", "ES256"), .init("x5c", .array(chain.map { .string($0) }))]
        fields += header
        return JWSBuilder.base64URL(JSONValue.object(fields).bytes) + "." + JWSBuilder.base64URL(builder.payload.bytes)
            + "."
    }
}
#endif
