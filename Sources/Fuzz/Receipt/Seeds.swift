#if !FUZZ
import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import StrictText

/// Small receipts of every kind, and some of up to 64 KiB, signed by the fuzzers' authority, to begin with.
enum Seeds {
    static let all: [(name: String, bytes: [UInt8])] = FuzzAuthority.made {
        let authority = FuzzAuthority.authority
        var seeds: [(String, [UInt8])] = []
        func add(_ name: String, _ builder: ReceiptBuilder, _ change: (inout SignedDataBuilder) -> Void = { _ in })
            throws
        {
            var signedData = try builder.signedData(by: authority)
            change(&signedData)
            seeds.append((name, try signedData.encoded()))
        }
        try add("production", small())
        try add("sha1", small { $0.digest = .sha1 })
        try add("purchases", small(purchases: purchases))
        try add("sandbox", small(.sandbox, purchases: [purchases[0]]))
        try add(
            "vpp", small(.productionVPP) { $0.expirationDate = Instant(millisecondsSince1970: 1_800_000_000_000) })
        try add("xcode", small(.xcode, purchases: [purchases[1]]))
        try add("ber", small(purchases: [purchases[0]]) { $0.encoding = .ber() })
        try add("segments", small { $0.encoding = .ber(segmentSize: 50) })
        try add("attributes", small { $0.signedAttributes = SignedDataBuilder.SignedAttribute.required })
        try add(
            "signing-time",
            small { builder in
                builder.encoding = .ber(segmentSize: 100)
                builder.signedAttributes = [
                    .contentType(nil), .messageDigest(nil), .signingTime(ReceiptBuilder.defaultCreationDate),
                ]
            })
        try add("no-root", small { $0.embedsRoot = false })
        try add("reordered", small()) { $0.certificates = [2, 0, 1, 1].map { authority.certificates[$0] } }
        try add("key-identifier", small()) { $0.signers[0].identifier = .subjectKeyIdentifier }
        try add("named-algorithm", small()) { $0.signers[0].signatureAlgorithm = nil }
        try add("two-signers", small()) { $0.signers.append($0.signers[0]) }
        try add("all", full(), { _ in })
        try add("large-9k", small(purchases: many(35)))
        try add("large-64k", small(purchases: many(305)))
        try add("large-64k-ber", small(purchases: many(305)) { $0.encoding = .ber(segmentSize: 4096) })
        let receipt = seeds[0].1
        let base64 = Base64.encode(receipt.span)
        seeds.append(("base64", Array(base64.utf8)))
        seeds.append(("json", Array("{\"receipt-data\":\"\(base64)\"}".utf8)))
        seeds.append(("pem", Array("-----BEGIN PKCS7-----\n\(base64)\n-----END PKCS7-----\n".utf8)))
        return seeds
    }

    private static let purchases: [ReceiptBuilder.Purchase] = [
        .nonConsumable("pro", transactionID: "1"),
        .consumable("coins", transactionID: "2"),
    ]

    private static func many(_ count: Int) -> [ReceiptBuilder.Purchase] {
        (0..<count).map { .consumable("coins", transactionID: String(1000 + $0)) }
    }

    /// Without what says nothing: the smaller the receipt, the faster the fuzzer.
    private static func small(
        _ environment: ReceiptBuilder.ReceiptType = .production, purchases: [ReceiptBuilder.Purchase] = [],
        _ change: (inout ReceiptBuilder) -> Void = { _ in }
    ) -> ReceiptBuilder {
        var builder = ReceiptBuilder(bundleID: "a.b", environment: environment, purchases: purchases)
        builder.encoding = .der
        builder.writesEmptyAttributes = false
        (builder.serverBuild, builder.ageRating, builder.sellerID, builder.clientVersion) = (nil, nil, nil, nil)
        (builder.downloadID, builder.versionExternalIdentifier, builder.platform, builder.appItemID) = (
            nil, nil, nil, nil
        )
        change(&builder)
        return builder
    }

    private static func full() -> ReceiptBuilder {
        ReceiptBuilder(bundleID: "com.example.app", purchases: purchases)
    }
}
#endif
