import AppStoreReceipt
import Foundation

/// 2025-06-20T12:00:00Z, five days after the vectors were signed.
private let later: Int64 = 1_750_420_800_000

extension Case {
    static let all: [Case] =
        verified + refused + configurations + entitlements + answers + decodings + clients + transactionIDs

    /// What `ReceiptUtility` of Apple's library does, of receipts that are verified.
    private static let transactionIDs: [Case] =
        [
            "receipts/10-purchases.der", "receipts/0-purchases.der", "receipts/subscriptions.der",
            "receipts/original-transaction-id-shorter.der", "receipts/empty-strings.der", "requests/base64.txt",
            "requests/json.json", "certificates/stranger.der", "receipts/bundle-id-of-another-app.der",
            "jws/transaction.jws", "transaction-receipts/subscription.txt", "asn1/empty.der",
        ].map { file in
            Case(
                name: "transaction id of an app receipt: \(file)", call: .appReceiptID, options: .all, evidence: [file])
        }
        + [
            "transaction-receipts/subscription.txt", "transaction-receipts/version-2.txt",
            "transaction-receipts/another-app.txt", "receipts/1-purchase.der", "asn1/empty.der",
        ].map { file in
            Case(
                name: "transaction id of a transaction receipt: \(file)", call: .transactionReceiptID, options: .all,
                evidence: [file])
        }

    /// What clients send instead of evidence or around it.
    private static let clients: [Case] = {
        struct Shape: Decodable { let file: String }
        let file = "clients/expectations.json"
        guard let shapes = try? JSONDecoder().decode([Shape].self, from: Data(read(file))) else {
            print("not a list of shapes: \(file)")
            exit(2)
        }
        return shapes.map { shape in
            Case(name: shape.file, json: "brief", options: .all, evidence: [shape.file])
        } + [
            Case(
                name: "refused: strict form", options: .all.with { $0.requiresStrictForm = true },
                evidence: ["clients/unity.json"]),
            entitlements("entitlements of wrapped evidence", .all, "clients/unity.json", "clients/unity-cut.json"),
            Case(
                name: "answer to wrapped evidence", call: .answer, options: .all.with { $0.clock = later },
                evidence: ["clients/receipt-data-in-base64.json"]),
            Case(name: "decode wrapped evidence", call: .decode, evidence: ["clients/unity-in-a-json-string.json"]),
        ]
    }()

    private static let verified: [Case] = [
        Case(name: "receipt", evidence: ["receipts/1-purchase.der"]),
        Case(name: "receipt, brief", json: "brief", evidence: ["receipts/1-purchase.der"]),
        Case(name: "receipt, no JSON", json: "none", evidence: ["receipts/1-purchase.der"]),
        Case(name: "receipt in base64", evidence: ["requests/base64.txt"]),
        Case(name: "receipt in PEM", evidence: ["requests/pem-pkcs7.pem"]),
        Case(name: "receipt in a request", evidence: ["requests/json.json"]),
        Case(
            name: "receipt of the sandbox", options: .receipts.with { $0.environments = ["sandbox"] },
            evidence: ["receipts/sandbox.der"]),
        Case(
            name: "receipt of any app", options: .receipts.with { $0.bundleIDs = [] },
            evidence: ["receipts/bundle-id-of-another-app.der"]),
        Case(
            name: "receipt of Xcode",
            options: .receipts.with {
                $0.roots = ["authority/storekit-testing.der"]
                $0.environments = ["xcode", "local-testing"]
                $0.isStoreKitTesting = true
            }, evidence: ["receipts/xcode.ber"]),
        Case(
            name: "receipt of the maximum age",
            options: .receipts.with {
                $0.maximumAge = 86400
                $0.clock = 1_750_075_200_000
            }, evidence: ["receipts/age-as-allowed.der"]),
        Case(name: "transaction", options: .jws, evidence: ["jws/transaction.jws"]),
        Case(
            name: "transaction of a subscription", options: .jws, evidence: ["jws/transaction-of-a-subscription.jws"]),
        Case(name: "transaction of eight seats", options: .jws, evidence: ["jws/transaction-of-eight-seats.jws"]),
        Case(name: "transaction, brief", json: "brief", options: .jws, evidence: ["jws/transaction.jws"]),
        Case(name: "renewal information", options: .jws, evidence: ["jws/renewal-info.jws"]),
        Case(name: "app transaction", options: .jws, evidence: ["jws/app-transaction.jws"]),
        Case(name: "notification", options: .jws, evidence: ["jws/notification.jws"]),
        Case(
            name: "notification of unclaimed seats", options: .jws,
            evidence: ["jws/notification-of-unclaimed-seats.jws"]),
        Case(name: "notification, brief", json: "brief", options: .jws, evidence: ["jws/notification.jws"]),
        Case(
            name: "real-time request", options: .jws.with { $0.appAppleID = "1234567890" },
            evidence: ["jws/realtime-request.jws"]),
        Case(
            name: "transaction receipt", options: .transactionReceipts,
            evidence: ["transaction-receipts/subscription.txt"]),
        Case(
            name: "transaction receipt, RSA-1024", json: "brief", options: .transactionReceipts,
            evidence: ["transaction-receipts/version-2.txt"]),
    ]

    private static let refused: [Case] = [
        Case(name: "refused: empty", evidence: ["asn1/empty.der"]),
        Case(name: "refused: input", evidence: ["requests/text-of-another-kind.txt"]),
        Case(name: "refused: container", evidence: ["pkcs7/certificate-of-another-type.der"]),
        Case(name: "refused: form", options: .jws, evidence: ["jws/four-parts.jws"]),
        Case(name: "refused: header", options: .jws, evidence: ["jws/alg-none.jws"]),
        Case(name: "refused: signature", evidence: ["pkcs7/signature-of-a-stranger.der"]),
        Case(name: "refused: date", evidence: ["receipts/creation-date-missing.der"]),
        Case(name: "refused: chain", evidence: ["certificates/stranger.der"]),
        Case(name: "refused: chain, brief", json: "brief", evidence: ["certificates/stranger.der"]),
        Case(name: "refused: chain, no JSON", json: "none", evidence: ["certificates/stranger.der"]),
        Case(
            name: "refused: Apple's roots alone", options: .receipts.with { $0.roots = [] },
            evidence: ["receipts/1-purchase.der"]),
        Case(name: "refused: payload", evidence: ["receipts/attribute-truncated.der"]),
        Case(name: "refused: app", evidence: ["receipts/bundle-id-of-another-app.der"]),
        Case(name: "refused: environment", evidence: ["receipts/sandbox-in-production.der"]),
        Case(
            name: "refused: age",
            options: .receipts.with {
                $0.maximumAge = 86400
                $0.clock = 1_750_075_200_000
            }, evidence: ["receipts/age-exceeded.der"]),
        Case(
            name: "refused: certificates expired at the validation date",
            options: .receipts.with { $0.validationDate = .date(4_102_444_800_000) },
            evidence: ["receipts/1-purchase.der"]),
        Case(
            name: "refused: certificates expired at present",
            options: .receipts.with {
                $0.validationDate = .now
                $0.clock = 4_102_444_800_000
            }, evidence: ["receipts/1-purchase.der"]),
        Case(
            name: "refused: app's Apple id", options: .jws.with { $0.appAppleID = "1234567890" },
            evidence: ["jws/another-apps-id.jws"]),
        Case(name: "refused: part of a notification", options: .jws, evidence: ["jws/part-by-a-stranger.jws"]),
        Case(
            name: "refused: RSA-1024", options: .transactionReceipts.with { $0.allowsRSA1024 = false },
            evidence: ["transaction-receipts/version-2-not-allowed.txt"]),
        Case(
            name: "refused: transaction receipt of another app", options: .transactionReceipts,
            evidence: ["transaction-receipts/another-app.txt"]),
    ]

    private static let configurations: [Case] = [
        Case(name: "configuration: fine", call: .new),
        Case(name: "configuration: no environment", call: .new, options: .receipts.with { $0.environments = [] }),
        Case(name: "configuration: an empty bundle id", call: .new, options: .receipts.with { $0.bundleIDs = [""] }),
        Case(
            name: "configuration: a root that is none", call: .new,
            options: .receipts.with { $0.roots = ["authority/leaf.der"] }),
        Case(
            name: "configuration: Xcode under Apple", call: .new,
            options: .receipts.with { $0.environments = ["xcode"] }),
        Case(
            name: "configuration: no app Apple id", options: .jws,
            evidence: ["jws/realtime-request-without-an-apple-id.jws"]),
    ]

    private static let entitlements: [Case] = [
        entitlements("entitlements", .all, "receipts/10-purchases.der"),
        entitlements(
            "entitlements of all kinds", .all, "receipts/1-purchase.der", "jws/transaction-of-a-subscription.jws",
            "jws/renewal-info.jws", "transaction-receipts/subscription.txt", "jws/transaction-revoked.jws"),
        entitlements(
            "entitlements, two of them refused", .all, "certificates/stranger.der", "receipts/1-purchase.der",
            "asn1/empty.der"),
        entitlements(
            "entitlements, one of them not readable by this version", .all, "certificates/stranger.der",
            "receipts/attribute-truncated.der", "receipts/1-purchase.der"),
        entitlements(
            "entitlements: a subscription with renewal information", .jws, "jws/transaction-of-a-subscription.jws",
            "jws/renewal-info.jws"),
        entitlements(
            "entitlements: a subscription that will not renew", .jws, "jws/renewal-info-of-a-cancellation.jws",
            "jws/renewal-info.jws", "jws/transaction-of-a-subscription.jws"),
        entitlements(
            "entitlements: assigned, with renewal information", .jws, "jws/transaction-assigned.jws",
            "jws/renewal-info.jws"),
        entitlements("entitlements: consumable", .jws, "jws/consumable.jws"),
        entitlements("entitlements: consumable, refunded", .jws, "jws/consumable-refunded.jws"),
        entitlements("entitlements: consumable, refunded in part", .jws, "jws/consumable-refunded-in-part.jws"),
        entitlements("entitlements: consumable of quantity 0", .jws, "jws/consumable-of-none.jws"),
        entitlements("entitlements: family-shared", .jws, "jws/transaction-family-shared.jws"),
        entitlements("entitlements: assigned", .jws, "jws/transaction-assigned.jws"),
        entitlements("entitlements: no longer assigned", .jws, "jws/transaction-no-longer-assigned.jws"),
        entitlements("entitlements: eight seats", .jws, "jws/transaction-of-eight-seats.jws"),
        entitlements(
            "entitlements: a period of nine seats", .jws, "jws/period-of-nine-seats-added.jws",
            "jws/period-of-nine-seats-bought-first.jws"),
        entitlements("entitlements: length unknown", .jws, "jws/transaction-non-renewing.jws"),
        entitlements(
            "entitlements: length stated", .jws.with { $0.productTypes = ["season": .nonRenewing(days: 90)] },
            "jws/transaction-non-renewing.jws"),
        entitlements("entitlements: type not known", .transactionReceipts, "transaction-receipts/version-2.txt"),
        entitlements(
            "entitlements: type stated",
            .transactionReceipts.with { $0.productTypes = ["pro": .consumable, "other": .nonConsumable] },
            "transaction-receipts/version-2.txt"),
        entitlements(
            "entitlements: type stated and contradicted", .jws.with { $0.productTypes = ["coins": .nonConsumable] },
            "jws/consumable.jws"),
        entitlements(
            "entitlements, a real-time request of any app first", .all.with { $0.bundleIDs = ["com.example.app"] },
            "jws/realtime-request.jws", "receipts/1-purchase.der"),
        entitlements(
            "entitlements, signed members that are repeated or too large", .all, "jws/product-id-twice.jws",
            "jws/quantity-2-to-the-63.jws", "receipts/1-purchase.der"),
        entitlements("entitlements until the year 10000", .all, "jws/transaction-until-the-year-10000.jws"),
        entitlements("entitlements of nothing", .all),
        entitlements(
            "entitlements in the sandbox, of both environments", .all, in: .sandbox, "receipts/1-purchase.der",
            "receipts/sandbox.der"),
        Case(
            name: "entitlements in no environment of two", call: .entitlements, options: .all,
            evidence: ["receipts/1-purchase.der"], date: later),
    ]

    private static func entitlements(
        _ name: String, _ options: Case.Options, in environment: AppStoreEnvironment = .production,
        _ evidence: String...
    ) -> Case {
        Case(
            name: name, call: .entitlements, options: options, evidence: evidence, date: later,
            environment: options.environments.count > 1 ? environment : nil)
    }

    private static let answers: [Case] = [
        Case(
            name: "answer", call: .answer, options: .receipts.with { $0.clock = later },
            evidence: ["requests/json.json"]),
        Case(
            name: "answer with latest_receipt_info", call: .answer, options: .receipts.with { $0.clock = later },
            evidence: ["requests/json.json"], fillsLatestReceiptInfo: true),
        Case(
            name: "answer to a receipt of the other environment", call: .answer,
            options: .receipts.with { $0.environments = ["sandbox"] }, evidence: ["requests/json.json"]),
        Case(
            name: "answer to a malformed request", call: .answer, evidence: ["requests/json-without-receipt-data.json"]
        ),
        Case(
            name: "answer for an app that is not ours", call: .answer,
            options: .receipts.with { $0.bundleIDs = ["com.example.other"] }, evidence: ["requests/json.json"]),
    ]

    private static let decodings: [Case] = [
        Case(name: "decode", call: .decode, evidence: ["certificates/stranger.der"]),
        Case(name: "decode a JWS", call: .decode, evidence: ["jws/notification.jws"]),
        Case(
            name: "decode a transaction receipt", call: .decode,
            evidence: ["transaction-receipts/version-4.txt"]),
        Case(name: "decode: malformed", call: .decode, evidence: ["requests/text-of-another-kind.txt"]),
    ]
}
