import AppStoreReceipt
import AppStoreReceiptTesting
import CMSTrust
import FuzzSupport
import SignatureTrust
import SpanASN1

// Receipts that are signed again for each filling, so that the code after the signature is reached.

extension Place {
    static func receipts() throws -> [Place] {
        let receipt = try SignedReceipt()
        var places: [Place] = []
        for type in receipt.types {
            places.append(
                Place("attribute \(type.label)", .der(type.tag), type.choice, family: "attributes") { filling in
                    try receipt.subject(replacing: type, with: filling)
                })
        }
        for type in receipt.purchaseTypes {
            places.append(
                Place(
                    "purchase's attribute \(type.label)", .der(type.tag), type.choice,
                    family: "purchases' attributes"
                ) {
                    filling in try receipt.subject(replacingInPurchases: type, with: filling)
                })
        }
        return places + lists(receipt) + [typeOfAttribute, strangers, alike(receipt)]
    }

    /// The number of an attribute's type.
    private static var typeOfAttribute: Place {
        Place("attribute, its type", .der(.integer)) { filling in
            let attribute = element(.sequence, filling + [0x02, 0x01, 0x01, 0x04, 0x00])
            let signer = SignedDataBuilder.Signer(Signers.authorityOfReceipts.leaf)
            let message = SignedDataBuilder(
                content: element(.set, attribute), certificates: Signers.authorityOfReceipts.certificates,
                signers: [signer])
            return ReceiptSubject(try message.encoded()).operations
        }
    }

    /// Receipts of unknown authorities. Each has another chain, which must not push the known ones out of the cache.
    private static var strangers: Place {
        Place("many receipts of strangers", .count) { filling in
            let stranger = try TestCertificateAuthority(.ellipticCurve)
            let verifier = try Verifiers.make()
            let known = try ReceiptBuilder(bundleID: "a").signed(by: Signers.authority)
            var junk: [[UInt8]] = []
            while junk.count < 200, junk.count * 2048 <= filling.count {
                var shape = TestCertificateAuthority.Shape.ellipticCurve
                shape.leaf.serialNumber = [0x01, UInt8(junk.count)]
                junk.append(try ReceiptBuilder(bundleID: "a").signed(by: stranger.reissued(shape)))
            }
            let rounds = filling.count / 2048 + 1
            return [
                Operation("verifyReceipt, then a known one") {
                    for round in 0..<rounds { _ = try? verifier.verifyReceipt(junk[round % junk.count]) }
                    return Work(Result { () throws(VerificationError) in try verifier.verifyReceipt(known) })
                }
            ]
        }
    }

    /// Receipts that differ in parts that a hash might ignore.
    private static func alike(_ receipt: SignedReceipt) -> Place {
        Place("many receipts alike but in their middle", .count) { filling in
            let end = ReceiptAttribute(AttributeType(rawValue: 99), value: [UInt8](repeating: 1, count: 256))
            let receipts = try (0...filling.count / 1024).map { index in
                let number = (0..<8).map { UInt8(truncatingIfNeeded: index >> (8 * $0)) }
                let attributes = receipt.attributes + [.init(.opaqueValue, value: number), end]
                let content = SignedReceipt.encoded(attributes.filter { $0.type != .opaqueValue || $0.value == number })
                var signer = SignedDataBuilder.Signer(Signers.authority.leaf)
                signer.signature = [0]
                let message = SignedDataBuilder(content: content, certificates: [], signers: [signer])
                return try UnverifiedReceipt(decoding: message.encoded())
            }
            return [Operation("Set") { Work("", Set(receipts).count) }]
        }
    }

    /// The number of elements.
    private static func lists(_ receipt: SignedReceipt) -> [Place] {
        func attributes(
            _ name: String, _ make: @escaping (_ index: Int) -> ReceiptAttribute
        ) -> Place {
            Place("many \(name)", .count, family: "lists of attributes") { filling in
                let size = make(0).value.count + 12
                return try receipt.subject(receipt.attributes + (0...filling.count / size).map(make))
            }
        }
        func purchases(
            _ name: String, _ change: @escaping (_ index: Int, inout ReceiptBuilder.Purchase) -> Void
        ) -> Place {
            Place("many \(name)", .count, family: "lists of purchases") { filling in
                let purchases = (0...filling.count / 300).map { index in
                    var purchase = SignedReceipt.period
                    purchase.transactionID = "\(index)"
                    change(index, &purchase)
                    return purchase
                }
                let minted = try ReceiptBuilder(bundleID: "a", purchases: purchases).signed(by: Signers.authority)
                return ReceiptSubject(minted).operations
            }
        }
        func date(_ seconds: Int) -> Instant {
            Instant(millisecondsSince1970: 1_740_000_000_000 + Int64(seconds) * 1000)
        }
        return [
            attributes("attributes of one unknown type") { _ in .init(AttributeType(rawValue: 99), value: []) },
            attributes("attributes of unknown types") { index in
                .init(AttributeType(rawValue: Int64(1000 + index)), value: [])
            },
            attributes("bundle ids") { _ in .utf8String(.bundleID, "a") },
            attributes("empty purchases") { _ in .init(.inAppPurchase, value: [0x31, 0x00]) },
            purchases("periods of one subscription") { _, _ in },
            purchases("periods of one subscription, each within the one before") { index, purchase in
                (purchase.purchaseDate, purchase.expiresDate) = (date(index), date(1_000_000 - index))
            },
            purchases("periods of one subscription, the last first") { index, purchase in
                (purchase.purchaseDate, purchase.expiresDate) = (date(-index), date(1 - index))
            },
            purchases("subscriptions") { index, purchase in purchase.originalTransactionID = "\(index)" },
            purchases("purchases without ids") { _, purchase in
                (purchase.productID, purchase.transactionID, purchase.originalTransactionID) = (nil, nil, nil)
            },
            purchases("non-consumables of one product") { _, purchase in
                (purchase.productType, purchase.expiresDate) = (.nonConsumable, nil)
            },
            purchases("non-consumables") { index, purchase in
                (purchase.productID, purchase.productType, purchase.expiresDate) = ("\(index)", .nonConsumable, nil)
            },
            purchases("products in two normal forms") { index, purchase in
                purchase.productID = index.isMultiple(of: 2) ? "\u{E9}" : "e\u{301}"
                purchase.originalTransactionID = purchase.productID
            },
        ]
    }
}

/// A receipt with all known attributes, which can be signed with another value in one of them.
struct SignedReceipt: Sendable {
    let attributes: [ReceiptAttribute]
    let purchase: [ReceiptAttribute]

    /// A period of a subscription.
    static let period = ReceiptBuilder.Purchase.autoRenewable(
        "pro", transactionID: "2", originalTransactionID: "1",
        expiresDate: Instant(millisecondsSince1970: 1_760_000_000_000))

    init() throws {
        var purchase = Self.period
        (purchase.isInIntroOfferPeriod, purchase.promotionalOfferID) = (false, "offer")
        purchase.additionalAttributes = [.utf8String(AttributeType(rawValue: 1799), "unknown")]
        var builder = ReceiptBuilder(bundleID: "a", purchases: [purchase])
        builder.expirationDate = Instant(millisecondsSince1970: 2_000_000_000_000)
        builder.preorderDate = ReceiptBuilder.defaultPurchaseDate
        builder.additionalAttributes = [.utf8String(AttributeType(rawValue: 99), "unknown")]
        let receipt = try UnverifiedReceipt(decoding: builder.signed(by: Signers.authority))
        attributes = Array(receipt.attributes)
        self.purchase = receipt.inAppPurchases.flatMap(\.attributes)
    }

    /// The types of the attributes, and the known types that are missing.
    var types: [AttributeType] { Self.types(0...40, attributes) }
    var purchaseTypes: [AttributeType] { Self.types(1701...1730, purchase) }

    private static func types(_ numbers: ClosedRange<Int64>, _ present: [ReceiptAttribute]) -> [AttributeType] {
        let known = numbers.map(AttributeType.init(rawValue:)).filter { $0.name != nil }
        return known + present.map(\.type).filter { !known.contains($0) }
    }

    func subject(replacing type: AttributeType, with value: [UInt8]) throws -> [Operation] {
        try subject(attributes.filter { $0.type != type } + [.init(type, value: value)])
    }

    /// Two purchases, so that equal values are compared.
    func subject(replacingInPurchases type: AttributeType, with value: [UInt8]) throws -> [Operation] {
        let changed = purchase.filter { $0.type != type } + [.init(type, value: value)]
        let value = Self.encoded(changed)
        let purchases = Array(repeating: ReceiptAttribute(.inAppPurchase, value: value), count: 2)
        return try subject(attributes.filter { $0.type != .inAppPurchase } + purchases)
    }

    func subject(_ attributes: [ReceiptAttribute]) throws -> [Operation] {
        ReceiptSubject(try Self.signed(attributes, by: Signers.authority)).operations
    }

    static func signed(
        _ attributes: [ReceiptAttribute], by authority: TestCertificateAuthority
    ) throws -> [UInt8] {
        var signer = SignedDataBuilder.Signer(authority.leaf)
        // Apple's algorithm identifier without a digest exists only for RSA.
        if !authority.leaf.key.isRSA { signer.signatureAlgorithm = nil }
        return try SignedDataBuilder(
            content: encoded(attributes), certificates: authority.certificates, signers: [signer]
        ).encoded()
    }

    static func encoded(_ attributes: [ReceiptAttribute]) -> [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.set) { writer in
                for attribute in attributes {
                    writer.write(.sequence) { writer in
                        writer.writeInteger(attribute.type.rawValue)
                        writer.writeInteger(attribute.version)
                        writer.writeOctetString(attribute.value.span)
                    }
                }
            }
        }
    }
}

extension AttributeType {
    /// `1702 (product id)`
    fileprivate var label: String { name.map { "\(rawValue) (\($0))" } ?? "\(rawValue)" }

    /// All fillings where this library or its caller compares the text.
    fileprivate var choice: Filling.Choice {
        switch rawValue {
        case 0, 2, 1702, 1705: .all
        case 3, 12, 99, 1703, 1704, 1721, 1799: .some
        default: .few
        }
    }

    /// The required type of the value.
    fileprivate var tag: ASN1Tag {
        switch valueType {
        case .ia5String, .date: .ia5String
        case .octets: .octetString
        case .integer, .boolean: .integer
        case .purchase: .set
        case .utf8String, nil: .utf8String
        }
    }
}

/// The operations on a receipt.
private final class ReceiptSubject {
    let bytes: [UInt8]
    private lazy var decoded = Result { () throws(VerificationError) in try UnverifiedReceipt(decoding: bytes) }
    private lazy var verified = Result { () throws(VerificationError) in try Verifiers.lenient.verifyReceipt(bytes) }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var operations: [Operation] {
        [
            Operation("UnverifiedReceipt") { [self] in
                Work(Result { () throws(VerificationError) in try UnverifiedReceipt(decoding: bytes) })
            },
            Operation("verifyReceipt") { [self] in
                Work(
                    Result { () throws(VerificationError) in
                        try Verifiers.strict.verifyReceipt(
                            bytes, applicationVersion: "1.0", deviceIdentifier: ReceiptBuilder.defaultDeviceIdentifier)
                    })
            },
            Operation("fields and JSON") { [self] in
                Work(decoded, of: bytes, "read", reading: Self.read)
            },
            Operation("queries") { [self] in
                Work(verified, of: bytes, "asked", reading: Self.ask)
            },
            Operation("hashes") { [self] in
                switch (verified, decoded) {
                case (.success(let receipt), _):
                    Work(
                        "hashed",
                        Set([receipt]).count + Set(receipt.inAppPurchases).count + Set(receipt.purchases).count)
                case (.failure(let error), .success(let receipt)):
                    Work(
                        error.code.rawValue,
                        Set([error]).count + Set([receipt]).count + Set(receipt.inAppPurchases).count)
                case (.failure(let error), .failure): Work(error.code.rawValue, Set([error]).count)
                }
            },
            Operation("VerifyReceiptResponder") { [self] in
                let answer = Verifiers.responder.answer(toAnyReceipt: bytes)
                let shorter = Verifiers.responder.answer(
                    for: verified.map { .receipt($0) }, excludesOldTransactions: true)
                return Work("status \(answer.status.rawValue)", answer.body.count + shorter.body.count)
            },
        ]
    }

    private static func read(_ receipt: UnverifiedReceipt) -> Int {
        var count = Work.size(receipt.json) + Work.size(receipt.description) + receipt.unknownAttributes.count
        count += Work.size(receipt.receiptType) + Work.size(receipt.bundleID) + Work.size(receipt.applicationVersion)
        count += Work.size(receipt.ageRating) + Work.size(receipt.originalApplicationVersion)
        count += (receipt.environment == nil ? 0 : 1) + (receipt.opaqueValue?.count ?? 0)
        count += receipt.attributes.reduce(0) { $0 + $1.value.count }
        count += (try? receipt.fingerprint).map { Work.size($0.description) } ?? 0
        for purchase in receipt.inAppPurchases {
            count += Work.size(purchase.description) + Work.size(purchase.productID) + Work.size(purchase.transactionID)
            count += Work.size(purchase.originalTransactionID) + Work.size(purchase.promotionalOfferID)
            count += purchase.unknownAttributes.count
        }
        return count
    }

    private static func ask(_ receipt: VerifiedReceipt) -> Int {
        let date = Instant(millisecondsSince1970: 1_750_000_000_000)
        var count = Work.size(receipt.description) + Work.size(receipt.json)
        count += receipt.originalTransactionIDs.count
        for purchase in receipt.purchases { count += Work.size(purchase.productID) + Work.size(purchase.transactionID) }
        // Twice, so that all transactions are merged.
        count += Work.ask(Entitlements([.receipt(receipt), .receipt(receipt)], at: date))
        return count + receipt.incompletePurchases.count
    }
}

extension Work {
    /// All queries. They search for missing values, so that all purchases are examined.
    static func ask(_ entitlements: Entitlements) -> Int {
        var count = Work.size(entitlements.json) + entitlements.items(of: "other").count
        count += entitlements.isActive("other") ? 1 : 0
        count += entitlements.activeProductIDs.reduce(0) { $0 + Work.size($1) } + entitlements.ownedNonConsumables.count
        count += entitlements.introductoryOffer(of: ["other"]) == .notSeen ? 0 : 1
        count += entitlements.introductoryOffer(inGroup: "other") == .notSeen ? 0 : 1
        count += entitlements.subscription(originalTransactionID: "other") == nil ? 0 : 1
        return count + entitlements.subscriptions(inGroup: "other").count
            + entitlements.subscriptions.reduce(0) { $0 + $1.periods.count + Work.size($1.originalTransactionID) }
    }

    init<Value, Failure: CodedError>(_ result: Result<Value, Failure>) {
        switch result {
        case .success: self.init("accepted")
        case .failure(let error): self.init(error.code.rawValue)
        }
    }
}

/// An error with a stable word for programs.
protocol CodedError: Error {
    associatedtype Code: RawRepresentable<String>
    var code: Code { get }
}
extension VerificationError: CodedError {}
extension CMSVerificationError: CodedError {}
