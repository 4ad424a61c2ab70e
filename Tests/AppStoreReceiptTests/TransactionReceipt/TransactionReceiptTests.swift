import AppStoreReceiptTesting
import Foundation
import SignatureTrust
import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt

struct TransactionReceiptTests {
    private static let version2 = Result { () throws(MintingError) in
        try TestCertificateAuthority(.transactionReceiptsOfVersion2)
    }

    private static func authority(_ version: TransactionReceipt.Version) throws -> TestCertificateAuthority {
        version == .version2 ? try version2.get() : try Minted.authority
    }

    private static func builder(
        _ version: TransactionReceipt.Version = .version4,
        _ change: (inout TransactionReceiptBuilder) -> Void = { _ in }
    ) -> TransactionReceiptBuilder {
        var builder = TransactionReceiptBuilder(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "10000000000001", version: version)
        change(&builder)
        return builder
    }

    private static func verifier(
        _ version: TransactionReceipt.Version = .version4, _ change: (inout VerificationPolicy) -> Void = { _ in }
    ) throws -> AppStoreVerifier {
        var policy = VerificationPolicy(bundleIDs: [Minted.bundleID], environments: [.production])
        policy.allowsRSA1024TransactionReceipts = version == .version2
        change(&policy)
        return try AppStoreVerifier(policy: policy, trust: authority(version).transactionReceiptTrust)
    }

    /// The error of a transaction receipt that is refused; `nil` if it is verified.
    private static func failure(_ text: [UInt8], _ verifier: AppStoreVerifier) -> VerificationError? {
        do throws(VerificationError) {
            _ = try verifier.verifyTransactionReceipt(text)
            return nil
        } catch {
            return error
        }
    }

    private static func failure(
        _ version: TransactionReceipt.Version = .version4, _ change: (inout TransactionReceiptBuilder) -> Void
    ) throws -> VerificationError? {
        failure(try builder(version, change).signed(by: authority(version)), try verifier(version))
    }

    // MARK: Forms

    @Test(arguments: TransactionReceipt.Version.allCases)
    func `every version is verified, alone and as any evidence, as a list and in base64`(
        version: TransactionReceipt.Version
    ) throws {
        let list = try Self.builder(version).signed(by: Self.authority(version))
        let base64 = Base64.encode(list.span)
        var wrapped = Array(base64.utf8)
        for index in stride(from: 76, to: wrapped.count, by: 78) {
            wrapped.insert(contentsOf: [0x0D, 0x0A], at: index)
        }
        let unpadded = Array(base64.utf8.prefix { $0 != UInt8(ascii: "=") })
        let json = Array("{\"id\":1,\"receipt-data\":\"\(base64)\"}".utf8)
        let verifier = try Self.verifier(version)
        let receipt = try verifier.verifyTransactionReceipt(list)
        #expect(receipt.version == version && receipt.productID == "pro")
        #expect(receipt.verification.digest == (version == .version4 ? .sha256 : .sha1))
        for form in [list, Array(base64.utf8), wrapped, unpadded, Array("\n".utf8) + unpadded, list + [0x0A]] {
            #expect(try verifier.verifyTransactionReceipt(form) == receipt)
            #expect(try verifier.verify(form) == .transactionReceipt(receipt))
        }
        #expect(try verifier.verify(json) == .transactionReceipt(receipt))
        #expect(try verifier.verdict(on: json).result.get() == .transactionReceipt(receipt))
        #expect(verifier.verdict(on: json).otherMembers?.text == #"{"id":1}"#)
    }

    @Test func `one line, without tabs, and other values that are not signed change nothing`() throws {
        let builder = Self.builder()
        let list = String(decoding: try builder.signed(by: Minted.authority), as: UTF8.self)
        let receipt = try Self.verifier().verifyTransactionReceipt(list)
        let oneLine = list.replacing("\n", with: "").replacing("\t", with: "")
        #expect(try Self.verifier().verifyTransactionReceipt(oneLine) == receipt)
        #expect(try Self.verifier().verify(oneLine) == .transactionReceipt(receipt))
        #expect(try Self.verifier().verify(Base64.encode(oneLine.utf8Span.span)) == .transactionReceipt(receipt))
        let lying = list.replacing("\"pod\" = \"7\"", with: "\"environment\" = \"Sandbox\";\n\t\"pod\" = \"100\"")
        #expect(try Self.verifier().verifyTransactionReceipt(lying) == receipt)
    }

    @Test func `a JWS without its dots is a JWS, and JSON is no property list`() throws {
        let verifier = try Self.verifier()
        let codes = [
            #"eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUkiXX0"#: "truncated",
            #"{"receipt-data":"eyJhbGciOiJFUzI1NiJ9"}"#: "truncated",
            #"{"signature" : "a"}"#: "missing-receipt-data", "{}": "missing-receipt-data",
            #"{"signature" = "a"}"#: "unexpected-character", "{ /* a */ }": "unsupported-comment",
        ]
        for (text, code) in codes {
            do throws(VerificationError) {
                _ = try verifier.verify(text)
                Issue.record("\(text) is verified")
            } catch {
                #expect(error.code.rawValue == code, "\(text)")
            }
        }
    }

    // MARK: Who signs

    @Test func `version 2 is refused unless the policy allows it, and the error says how and what that means`() throws {
        let text = try Self.builder(.version2).signed(by: Self.authority(.version2))
        let verifier = try Self.verifier(.version2) { $0.allowsRSA1024TransactionReceipts = false }
        let error = try #require(Self.failure(text, verifier))
        #expect(error.code == .rsa1024NotAllowed && error.stage == .signature && error.category == .client)
        #expect(error.advice.contains("`VerificationPolicy.allowsRSA1024TransactionReceipts`"))
        #expect(error.advice.contains("forge"))
    }

    @Test func `RSA-1024 is for the leaf of version 2 alone`() throws {
        var shape = TestCertificateAuthority.Shape.transactionReceiptsOfVersion2
        shape.intermediate.keyKind = .rsa(bits: 1024)
        let authority = try TestCertificateAuthority(shape)
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        policy.allowsRSA1024TransactionReceipts = true
        #expect {
            _ = try AppStoreVerifier(policy: policy, trust: authority.transactionReceiptTrust)
        } throws: {
            ($0 as? VerificationError)?.code == .unusableTrustAnchor
        }
        // A receipt of PKCS#7 by an RSA-1024 leaf.
        var receiptShape = TestCertificateAuthority.Shape()
        receiptShape.leaf.keyKind = .rsa(bits: 1024)
        let weak = try TestCertificateAuthority(receiptShape)
        let verifier = try AppStoreVerifier(policy: policy, trust: weak.transactionReceiptTrust)
        let receipt = try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: weak)
        #expect { _ = try verifier.verify(receipt) } throws: { ($0 as? VerificationError)?.code == .weakKey }
    }

    /// Version 2 allows smaller keys for leaves, and not for what issues them. Without the check, whoever factors the
    /// RSA-2048 key of Apple's intermediate could sign for a policy that requires larger keys.
    @Test func `Apple's intermediates are not used if the policy refuses their keys`() throws {
        var shape = TestCertificateAuthority.Shape.transactionReceiptsOfVersion2
        shape.intermediate.subject = DistinguishedName(
            .country("US"), .organization("Apple Inc."), .organizationalUnit("Apple Certification Authority"),
            .commonName("Apple iTunes Store Certification Authority"))
        let text = try Self.builder(.version2).signed(by: TestCertificateAuthority(shape))
        for (sizes, code) in [(2048...4096, "untrusted-chain"), (3072...4096, "unpinned-issuer")] {
            var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
            policy.allowsRSA1024TransactionReceipts = true
            policy.algorithms.rsaKeySizes = sizes
            #expect(Self.failure(text, try AppStoreVerifier(policy: policy, trust: .apple))?.code.rawValue == code)
        }
    }

    @Test func `an added intermediate counts for the versions that it is added for, and only below the roots`() throws {
        let authority = try Minted.authority
        let text = try Self.builder(.version3).signed(by: authority)
        let policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        func code(_ versions: Set<TransactionReceipt.Version>?, _ base: AppStoreTrust) throws -> String? {
            let issuer = try TransactionReceiptIssuer(der: authority.intermediate.certificate, versions: versions)
            return Self.failure(text, try AppStoreVerifier(policy: policy, trust: base.adding([issuer])))?.code.rawValue
        }
        let roots = AppStoreTrust.roots([try authority.trustAnchor])
        #expect(try code(nil, roots) == nil)
        #expect(try code([.version3], roots) == nil)
        #expect(try code([.version4], roots) == "unpinned-issuer")
        #expect(try code(nil, roots.adding([])) == nil)
        #expect(try code(nil, .apple) == "untrusted-chain")
        #expect(Self.failure(text, try AppStoreVerifier(policy: policy, trust: roots))?.code == .unpinnedIssuer)
    }

    @Test func `Apple's intermediates are those of the document`() throws {
        let fingerprints = try TransactionReceiptIssuer.apple.map { try Fingerprint(of: $0.der.span).description }
        #expect(
            fingerprints == [
                "447ad65484610f20fdc33804c8597a1e208fbe4ef9c5653485cc7d3df730c016",
                "ce057691d730f89ca25e916f7335f4c8a15713dcd273a658c024023f8eb809c2",
                "53fd008278e5a595fe1e908ae9c5e5675f26243264a5a6438c023e3ce2870760",
            ])
        #expect(TransactionReceiptIssuer.apple.map(\.versions) == [[.version2], [.version3], [.version4]])
        for issuer in TransactionReceiptIssuer.apple {
            #expect(try TransactionReceiptIssuer(der: issuer.der).versions.isSuperset(of: issuer.versions))
        }
    }

    @Test func `a distrusted signer is refused, and StoreKit Testing signs none`() throws {
        let authority = try Minted.authority
        let text = try Self.builder().signed(by: authority)
        let leaf = try Fingerprint(of: authority.leaf.certificate.span)
        #expect(Self.failure(text, try Self.verifier { $0.distrusted = [leaf] })?.code == .distrustedCertificate)
        let xcode = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.xcode]),
            trust: .storeKitTesting([Minted.storeKit.trustAnchor]))
        #expect(Self.failure(text, xcode)?.code == .untrustedChain)
    }

    @Test func `a signer is no authority, whether its certificate says so or says nothing`() throws {
        let rows: [(CertificateSpecification.Extension?, String?)] = [
            (nil, nil), (.basicConstraints(isAuthority: false), nil),
            (.basicConstraints(isAuthority: true), "invalid-key-usage"),
        ]
        for (constraints, code) in rows {
            let authority = try MintedChain.authority {
                $0.shape.leaf.removeExtensions(.basicConstraints)
                if let constraints { $0.shape.leaf.extensions.append(constraints) }
            }
            let text = try Self.builder().signed(by: authority)
            #expect(Self.failure(text, try Self.verifier())?.code.rawValue == code)
        }
    }

    @Test func `SHA-1 is refused where the policy refuses it`() throws {
        let text = try Self.builder(.version3).signed(by: Minted.authority)
        let verifier = try Self.verifier { $0.algorithms.allowsSHA1 = false }
        #expect(Self.failure(text, verifier)?.code == .weakAlgorithm)
        #expect(Self.failure(try Self.builder().signed(by: Minted.authority), verifier) == nil)
    }

    @Test func `the chain is validated at the purchase date, or at the start of a leaf that is younger`() throws {
        var shape = TestCertificateAuthority.Shape()
        shape.leaf.notBefore = day(10)
        shape.leaf.notAfter = day(20)
        let authority = try Minted.authority.reissued(shape)
        let verifier = try Self.verifier()
        func verification(_ date: Instant) throws -> Result<Instant, VerificationError> {
            let text = try Self.builder { ($0.purchaseDate, $0.originalPurchaseDate) = (date, date) }.signed(
                by: authority)
            return Result { () throws(VerificationError) in
                try verifier.verifyTransactionReceipt(text).verification.validationDate
            }
        }
        #expect(try verification(day(15)).get() == day(15))
        #expect(try verification(day(5)).get() == day(10))
        #expect { _ = try verification(day(25)).get() } throws: {
            ($0 as? VerificationError)?.code == .certificateExpired
        }
    }

    // MARK: Dates

    /// 2025: daylight saving from 9 March, 10:00 UTC, to 2 November, 09:00 UTC.
    @Test(arguments: [
        ("2025-03-09T09:59:59Z", "2025-03-09 01:59:59"), ("2025-03-09T10:00:00Z", "2025-03-09 03:00:00"),
        ("2025-11-02T08:30:00Z", "2025-11-02 01:30:00"), ("2025-11-02T09:30:00Z", "2025-11-02 01:30:00"),
        ("2025-01-01T07:00:00Z", "2024-12-31 23:00:00"), ("2012-04-30T15:05:55.868Z", "2012-04-30 08:05:55"),
    ])
    func `the three forms of a date agree, also when daylight saving begins and ends`(
        date: String, pacific: String
    ) throws {
        let date = try #require(Instant(rfc3339: date))
        #expect(date.pacificText == pacific)
        let text = try Self.builder { ($0.purchaseDate, $0.originalPurchaseDate) = (date, date) }
            .signed(by: Minted.authority)
        let receipt = try Self.verifier().verifyTransactionReceipt(text)
        #expect(receipt.purchaseDate == date && receipt.originalPurchaseDate == date)
    }

    /// Signs `purchase-info` with one text replaced.
    private static func replacing(_ old: String, with new: String) throws -> [UInt8] {
        let builder = builder { $0.expiresDate = $0.purchaseDate.map { $0 + .seconds(86_400 * 30) } }
        let text = String(decoding: builder.purchaseInfo(), as: UTF8.self)
        #expect(text.contains(old))
        let info = Array(text.replacing(old, with: new).utf8)
        return builder.propertyList(
            purchaseInfo: info, signature: try builder.signatureBlob(over: info, by: Minted.authority.leaf))
    }

    private static let badDates: [(String, String, String, VerificationError.Stage)] = [
        (
            "\t\"purchase-date\" = \"2025-06-15 12:00:00", "\t\"purchase-date\" = \"2025-06-15 12:00:01",
            "dates-disagree", .date
        ),
        (
            "\t\"purchase-date-pst\" = \"2025-06-15 05", "\t\"purchase-date-pst\" = \"2025-06-15 04",
            "dates-disagree", .date
        ),
        (
            "\t\"purchase-date-ms\" = \"1749988800000", "\t\"purchase-date-ms\" = \"1749988801000",
            "dates-disagree", .date
        ),
        (
            "original-purchase-date-pst\" = \"2025", "original-purchase-date-pst\" = \"2024", "dates-disagree",
            .payload
        ),
        ("expires-date-formatted\" = \"2025", "expires-date-formatted\" = \"2026", "dates-disagree", .payload),
        (
            "\t\"purchase-date-ms\" = \"1749988800000", "\t\"purchase-date-ms\" = \"1749988800.0",
            "purchase-date-unreadable", .date
        ),
        (
            "\t\"purchase-date\" = \"2025-06-15 12:00:00 Etc/GMT", "\t\"purchase-date\" = \"2025-06-15T12:00:00Z",
            "purchase-date-unreadable", .date
        ),
        ("expires-date\" = \"", "expires-date\" = \"-", "unexpected-value", .payload),
    ]

    @Test(arguments: badDates)
    func `a date that disagrees with itself, or is none, is refused`(
        old: String, new: String, code: String, stage: VerificationError.Stage
    ) throws {
        let error = try #require(Self.failure(try Self.replacing(old, with: new), try Self.verifier()))
        #expect(
            error.code.rawValue == code && error.stage == stage && error.offsetBase == .payload && error.offset != nil)
    }

    @Test func `milliseconds alone, or the text in GMT alone, are a date`() throws {
        for date in [
            "\t\"purchase-date\" = \"2025-06-15 12:00:00 Etc/GMT\";\n", "\t\"purchase-date-ms\" = \"1749988800000\";\n",
        ] {
            #expect(Self.failure(try Self.replacing(date, with: ""), try Self.verifier()) == nil)
        }
    }

    /// It names two dates in one hour of a year.
    @Test(arguments: [
        ("expires-date-formatted", "expires-date"), ("original-purchase-date", "original-purchase-date-ms"),
    ])
    func `the text in Pacific time alone is no date`(gmt: String, milliseconds: String) throws {
        let builder = Self.builder { $0.expiresDate = day(400) }
        let info = TransactionReceiptBuilder.propertyList(
            builder.values.filter { $0.key != gmt && $0.key != milliseconds })
        let text = builder.propertyList(
            purchaseInfo: info, signature: try builder.signatureBlob(over: info, by: Minted.authority.leaf))
        let error = Self.failure(text, try Self.verifier())
        #expect(error?.code == .missingKey && error?.path == "purchase-info › \(gmt)")
    }

    @Test func `an unreadable list is told only of a trusted signer`() throws {
        let info = Array("{".utf8)
        let builder = Self.builder()
        for (authority, stage) in [
            (try Minted.authority, VerificationError.Stage.payload), (try Minted.stranger, .chain),
        ] {
            let text = builder.propertyList(
                purchaseInfo: info, signature: try builder.signatureBlob(over: info, by: authority.leaf))
            #expect(Self.failure(text, try Self.verifier())?.stage == stage)
        }
    }

    // MARK: Contents and policy

    private static let environments: [(String, String, AppStoreEnvironment?)] = [
        ("10000000000001", "10000000000001", .production), ("123456789012345", "12345678901234", .production),
        ("1000000046178817", "1000000180636226", .sandbox), ("2000000046178817", "1000000180636226", .sandbox),
        ("3000000046178817", "3000000046178817", nil), ("1000000046178817", "10000000000001", nil),
        ("10000000000001", "1000000046178817", nil), ("33993399", "33993399", nil), ("12345678901234567", "1", nil),
    ]

    @Test(arguments: environments)
    func `the environment is inferred from both transaction ids, and never from what is not signed`(
        id: String, originalID: String, environment: AppStoreEnvironment?
    ) throws {
        let text = try Self.builder {
            ($0.transactionID, $0.originalTransactionID) = (id, originalID)
            $0.unsignedEnvironment = environment == .sandbox ? "Production" : "Sandbox"
        }.signed(by: Minted.authority)
        let verifier = try Self.verifier { $0.environments = [.production, .sandbox] }
        guard let environment else {
            #expect(Self.failure(text, verifier)?.code == .unknownEnvironment)
            return
        }
        let evidence = try verifier.verify(text)
        #expect(evidence.environment == environment && evidence.purchases.map(\.environment) == [environment])
        #expect(evidence.json.contains("\"environment\":\"\(environment.rawValue)\",\"environment_is_inferred\":true"))
        let other: AppStoreEnvironment = environment == .sandbox ? .production : .sandbox
        let narrow = try Self.verifier { $0.environments = [other] }
        #expect(Self.failure(text, narrow)?.code == .environmentMismatch)
    }

    @Test func `another app is refused, and another product is another purchase`() throws {
        #expect(try Self.failure { $0.bundleID = "com.example.other" }?.code == .bundleIDMismatch)
        #expect(try Self.failure { $0.bundleID = nil }?.code == .missingKey)
        let text = try Self.builder { $0.productID = "cheap" }.signed(by: Minted.authority)
        let receipt = try Self.verifier().verifyTransactionReceipt(text)
        #expect(receipt.purchase?.productID == "cheap")
        // Not the product of another: the signature covers it.
        let forged = Self.builder { $0.productID = "dear" }
        let blob = try Self.builder { $0.productID = "cheap" }.signatureBlob(
            over: Self.builder { $0.productID = "cheap" }.purchaseInfo(), by: Minted.authority.leaf)
        let list = forged.propertyList(purchaseInfo: forged.purchaseInfo(), signature: blob)
        #expect(Self.failure(list, try Self.verifier())?.code == .contentDigestMismatch)
    }

    @Test func `an invalid signature, another kind of key and another size of key have their own reasons`() throws {
        let builder = Self.builder()
        let leaf = try Minted.authority.leaf
        let purchaseInfo = builder.purchaseInfo()
        let genuine = Array(try builder.signatureBlob(over: purchaseInfo, by: leaf)[1..<257])
        var changed = genuine
        changed[100] ^= 1
        let rows: [([UInt8], [UInt8], String?)] = [
            (genuine, leaf.certificate, nil), (changed, leaf.certificate, "invalid-signature"),
            (genuine, try Minted.ellipticAuthority.leaf.certificate, "unsupported-key"),
            (genuine, try Self.version2.get().leaf.certificate, "key-size-mismatch"),
        ]
        for (signature, certificate, code) in rows {
            let version = UInt8(TransactionReceipt.Version.version4.rawValue)
            let blob = TransactionReceiptBuilder.signatureBlob(
                version: version, signature: signature, certificate: certificate)
            let list = builder.propertyList(purchaseInfo: purchaseInfo, signature: blob)
            #expect(Self.failure(list, try Self.verifier())?.code.rawValue == code)
        }
    }

    @Test func `an error of the signer's certificate has its offset, and one of a pinned intermediate has none`() throws
    {
        let text = try Self.builder().signed(by: Minted.authority)
        let policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        let unpinned = try AppStoreVerifier(policy: policy, trust: .roots([Minted.authority.trustAnchor]))
        // After the version, the signature and the length of the certificate.
        #expect(Self.failure(text, unpinned)?.offset == 1 + 256 + 4)
        let intermediate = try Minted.authority.intermediate.certificate
        let distrusted = try Fingerprint(of: intermediate.span)
        let error = Self.failure(text, try Self.verifier { $0.distrusted = [distrusted] })
        #expect(error?.code == .distrustedCertificate && error?.offset == nil)
    }

    @Test func `age is counted from the purchase date`() throws {
        let text = try Self.builder().signed(by: Minted.authority)
        let now = ReceiptBuilder.defaultCreationDate + .seconds(3600)
        func code(_ change: (inout VerificationPolicy) -> Void) throws -> String? {
            Self.failure(
                text,
                try Self.verifier {
                    $0.clock = { now }; change(&$0)
                })?.code.rawValue
        }
        #expect(try code { $0.maximumAge = .seconds(3600) } == nil)
        #expect(try code { $0.maximumAge = .seconds(3599) } == "receipt-too-old")
        #expect(try code { $0.allowsFutureDates = false } == nil)
        #expect(
            try code {
                $0.clock = { now - .seconds(7200) }; $0.allowsFutureDates = false
            } == "receipt-from-the-future")
    }

    @Test func `every known value has a property, unknown keys are kept, and the JSON has all`() throws {
        let text = try Self.builder {
            $0.expiresDate = day(400)
            ($0.webOrderLineItemID, $0.subscriptionGroupID) = ("70000000000001", "20000001")
            ($0.isTrialPeriod, $0.isInIntroOfferPeriod) = (true, false)
            $0.ownershipType = .purchased
            ($0.appItemID, $0.versionExternalIdentifier) = ("123", "456")
            $0.uniqueVendorIdentifier = "3421ADB4-7430-4C40-B396-0859EC884FEC"
            $0.additionalValues = [.init("new-key", "new \u{202E}value")]
        }.signed(by: Minted.authority)
        let receipt = try Self.verifier().verifyTransactionReceipt(text)
        #expect(receipt.isTrialPeriod == true && receipt.isInIntroOfferPeriod == false)
        #expect(receipt.ownershipType == .purchased && receipt.subscriptionGroupID == "20000001")
        let purchase = try #require(receipt.purchase).purchase
        #expect(purchase.offer == PurchaseOffer(type: .introductory, discountType: .freeTrial))
        #expect(purchase.bundleID == Minted.bundleID && purchase.subscriptionGroupID == "20000001")
        #expect(purchase.signedDate == receipt.purchaseDate && purchase.isRevoked == nil)
        #expect(receipt.purchase?.webOrderLineItemID == "70000000000001" && receipt.purchase?.expiresDate == day(400))
        #expect(
            receipt.transactionReceipt["new-key"] == "new \u{202E}value" && receipt.transactionReceipt["none"] == nil)
        let verdict = try JSONSerialization.jsonObject(with: Data(receipt.json.utf8)) as? [String: Any]
        let json = try #require(verdict?["transaction_receipt"] as? [String: Any])
        #expect(json["unknown_keys"] as? [String: String] == ["new-key": "new \u{202E}value"])
        #expect(json["is_trial_period"] as? Bool == true && json["quantity"] as? Int == 1)
        #expect(json["purchase_date"] as? String == "2025-06-15T12:00:00Z")
        #expect(json.count == 23)
        #expect(receipt.json.contains(#"new \u202evalue"#))
    }

    @Test(arguments: [
        ("quantity", "0"), ("quantity", "-1"), ("quantity", "99999999999999999999"), ("quantity", ""),
        ("transaction-id", "1000000000000x"), ("transaction-id", ""), ("item-id", "a"), ("product-id", ""),
        ("is-trial-period", "yes"), ("is-in-intro-offer-period", "True"), ("bid", ""),
    ])
    func `a value without the format of its key is refused, with the key's name`(key: String, value: String) throws {
        let builder = Self.builder {
            $0.isTrialPeriod = false; $0.isInIntroOfferPeriod = false
        }
        var values = builder.values
        let index = try #require(values.firstIndex { $0.key == key })
        values[index].value = value
        let info = TransactionReceiptBuilder.propertyList(values)
        let text = builder.propertyList(
            purchaseInfo: info, signature: try builder.signatureBlob(over: info, by: Minted.authority.leaf))
        let error = try #require(Self.failure(text, try Self.verifier()))
        #expect(error.code == .unexpectedValue && error.path == "purchase-info › \(key)" && error.category == .host)
    }

    @Test func `what is decoded is not verified`() throws {
        let text = try Self.builder().signed(by: Minted.stranger)
        #expect(Self.failure(text, try Self.verifier())?.code == .untrustedChain)
        let decoded = try UnverifiedEvidence(decoding: text)
        #expect(decoded.transactionReceipt?.productID == "pro" && decoded.receipt == nil)
        #expect(decoded.json.hasPrefix(#"{"verified":false,"schema":1,"transaction_receipt":{"version":4,"#))
    }

    @Test func `a specification has what Apple writes in every transaction receipt, unless it is null`() throws {
        let text = #""bundle_id":"\#(Minted.bundleID)","product_id":"pro","transaction_id":"10000000000001""#
        let date = #""purchase_date":"2025-01-31T00:00:00Z""#
        func info(_ members: String...) throws -> TransactionReceipt {
            let json = "{\(members.joined(separator: ","))}"
            let builder = try TransactionReceiptBuilder(json: Array(json.utf8))
            return try Self.verifier().verifyTransactionReceipt(builder.signed(by: Minted.authority)).transactionReceipt
        }
        let receipt = try info(text, date)
        for key in ["bvrs", "item-id", "original-purchase-date", "original-transaction-id", "quantity"] {
            #expect(receipt[key] != nil, "\(key)")
        }
        #expect(receipt.originalPurchaseDate == receipt.purchaseDate)
        let none = #""application_version":null,"item_id":null,"original_purchase_date":null"#
        let bare = try info(text, date, none)
        for key in ["bvrs", "item-id", "original-purchase-date"] { #expect(bare[key] == nil, "\(key)") }
    }

    @Test func `the JSON of a transaction receipt makes the same receipt again`() throws {
        let builder = Self.builder {
            $0.expiresDate = day(400); $0.webOrderLineItemID = "70001"; $0.isTrialPeriod = true
            $0.additionalValues = [.init("a", "b")]
        }
        let receipt = try Self.verifier().verifyTransactionReceipt(builder.signed(by: Minted.authority))
        let again = try TransactionReceiptBuilder(json: Array(receipt.json.utf8))
        #expect(again.purchaseInfo() == builder.purchaseInfo() && again.version == builder.version)
        for (json, code) in [
            ("{\"transaction_receipt\":{\"a\":1}}", ReceiptSpecificationError.Code.unknownKey),
            ("{\"transaction_receipt\":{\"version\":5}}", .unexpectedValue),
            ("{\"transaction_receipt\":{\"quantity\":1,\"quantity\":1}}", .repeatedKey), ("{", .malformedJSON),
        ] {
            #expect { _ = try TransactionReceiptBuilder(json: Array(json.utf8)) } throws: {
                ($0 as? ReceiptSpecificationError)?.code == code
            }
        }
    }
}
