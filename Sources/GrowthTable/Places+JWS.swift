import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import StrictText

// JWS that are signed again for each filling.

extension Place {
    static func jws() throws -> [Place] {
        headers() + payloads()
    }

    private static func payloads() -> [Place] {
        let transaction = JWSBuilder.transaction(bundleID: "a", productID: "pro", transactionID: "1")
        let renewal = JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1")
        let appTransaction = JWSBuilder.appTransaction(bundleID: "a")
        let request = JWSBuilder.realtimeRequest(productID: "pro", originalTransactionID: "1")
        func notification(about member: String) -> JWSBuilder {
            var app: JSONValue = ["appAppleId": 1_234_567_890, "bundleId": "a"]
            app[member == "externalPurchaseToken" ? "externalPurchaseId" : "environment"] = "Production"
            return .notification(.test, about: member, app)
        }
        var places: [Place] = []
        func add<Member: RawRepresentable<String> & CaseIterable>(
            _ kind: String, _ builder: JWSBuilder, within path: [JSONStep] = [], _: Member.Type
        ) {
            let object = PayloadObject(kind: kind, builder: builder, path: path)
            for member in Member.allCases { places.append(object.place(member.rawValue)) }
            places.append(object.place("an unknown member", "unknown"))
            places.append(object.placeOfName)
            places.append(object.placeOfMembers)
        }
        add("transaction", transaction, TransactionInfo.Member.self)
        add("transaction", transaction, within: ["commitmentInfo"], TransactionCommitmentMember.self)
        add("transaction", transaction, within: ["multiSeatInfo"], MultiSeatInfo.Member.self)
        add(
            "transaction", transaction, within: ["multiSeatInfo", .elements("priceTiers")], SeatPriceTier.Member.self)
        add("transaction", transaction, within: ["advancedCommerceInfo"], CommerceTransactionMember.self)
        let items: [JSONStep] = ["advancedCommerceInfo", .elements("items")]
        add("transaction", transaction, within: items, CommerceItemMember.self)
        add("transaction", transaction, within: items + [.elements("refunds")], CommerceRefundMember.self)
        add("transaction", transaction, within: items + ["offer"], CommerceOfferMember.self)
        add(
            "transaction", transaction, within: ["advancedCommerceInfo", "descriptors"],
            CommerceDescriptorMember.self)
        add("renewal info", renewal, RenewalInfo.Member.self)
        add("renewal info", renewal, within: ["commitmentInfo"], RenewalCommitmentMember.self)
        add("renewal info", renewal, within: ["multiSeatInfo"], RenewalMultiSeatInfo.Member.self)
        add(
            "renewal info", renewal, within: ["multiSeatInfo", .elements("renewalPriceTiers")],
            SeatPriceTier.Member.self)
        add("renewal info", renewal, within: ["advancedCommerceInfo"], CommerceRenewalMember.self)
        add("renewal info", renewal, within: items, CommerceItemMember.self)
        add(
            "renewal info", renewal, within: items + ["priceIncreaseInfo"],
            CommercePriceIncreaseMember.self)
        add("app transaction", appTransaction, AppTransaction.Member.self)
        add("notification", .notification(.test, bundleID: "a"), AppStoreNotification.Member.self)
        add("notification", notification(about: "data"), within: ["data"], NotificationData.Member.self)
        add("notification", notification(about: "appData"), within: ["appData"], NotificationAppData.Member.self)
        add("notification", notification(about: "summary"), within: ["summary"], NotificationSummary.Member.self)
        add(
            "notification", notification(about: "externalPurchaseToken"), within: ["externalPurchaseToken"],
            ExternalPurchaseToken.Member.self)
        add(
            "notification", .notification(.test, bundleID: "a"), within: ["unclaimInfo"],
            NotificationUnclaimInfo.Member.self)
        add("real-time request", request, RealtimeRequest.Member.self)
        for member in ["bundleId", "environment", "appAccountToken"] {
            places.append(
                Place("notification's transaction.\(member)", .jsonValue, family: "notification's transaction") {
                    filling in
                    var signed = JSONText(transaction.payload)
                    signed.set(member, filling)
                    var payload = JSONText(notification(about: "data").payload)
                    payload.change(within: ["data"]) { data in
                        data.set(
                            "signedTransactionInfo",
                            [UInt8(ascii: "\"")] + signedJWS(.header, signed.bytes) + [UInt8(ascii: "\"")])
                    }
                    return JWSSubject(signedJWS(.header, payload.bytes)).operations
                })
        }
        return places + [notificationsInEachOther]
    }

    /// Base64 makes each layer a third longer, so there are few.
    private static var notificationsInEachOther: Place {
        Place("notifications in each other", .count) { filling in
            var inner = ""
            repeat {
                inner = try JWSBuilder.notification(.test, bundleID: "a", transaction: inner).signed(
                    by: Signers.authority)
            } while inner.utf8.count < filling.count
            return JWSSubject(Array(inner.utf8)).operations
        }
    }

    private static func headers() -> [Place] {
        let payload = JWSBuilder.transaction(bundleID: "a", productID: "pro", transactionID: "1").payload.bytes
        func header(_ name: String, _ slot: Slot, _ change: @escaping (inout JSONText, [UInt8]) -> Void) -> Place {
            Place("JWS header, \(name)", slot, name == "alg" || name == "x" ? .all : .few, family: "JWS headers") {
                filling in
                var header = JSONText.header
                change(&header, filling)
                return JWSSubject(signedJWS(header, payload)).operations
            }
        }
        let names = [
            "alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit", "b64", "enc", "zip", "x",
        ]
        return names.map { name in header(name, .jsonValue) { $0.set(name, $1) } } + [
            header("a certificate", .jsonString) { header, filling in
                header.set("x5c", Array("[\"".utf8) + filling + Array("\",\"\",\"\"]".utf8))
            },
            header("a certificate's bytes", .derList) { header, filling in
                let certificate = Array(Base64.encode(filling.span).utf8)
                header.set("x5c", Array("[\"".utf8) + certificate + Array("\",\"\",\"\"]".utf8))
            },
            header("an unknown name", .jsonString) { $0.members.append(($1, Array("0".utf8))) },
            header("unknown members", .jsonMembers) { $0.insert(members: $1) },
            Place("JWS header, all of it", .text) { filling in
                JWSSubject(signedJWS(JWSSigner.encode(filling), payload)).operations
            },
            Place("JWS header's base64url", .text) { filling in
                JWSSubject(signedJWS(filling, payload)).operations
            },
            Place("JWS payload, all of it", .text) { filling in
                JWSSubject(signedJWS(.header, filling)).operations
            },
            Place("JWS signature", .text) { filling in
                JWSSubject(signedJWS(JWSSigner.encode(JSONText.header.bytes), payload, signature: filling)).operations
            },
        ]
    }
}

/// One step into the objects of a payload.
private enum JSONStep: ExpressibleByStringLiteral, Sendable {
    case member(String)
    /// A member whose value is an array of objects.
    case elements(String)

    init(stringLiteral name: String) { self = .member(name) }

    var name: String {
        switch self {
        case .member(let name), .elements(let name): name
        }
    }
}

/// An object in a payload, with one filled member.
private struct PayloadObject: Sendable {
    let kind: String
    let builder: JWSBuilder
    let path: [JSONStep]

    private var name: String {
        path.reduce(kind) { name, step in
            switch step {
            case .member(let member): "\(name).\(member)"
            case .elements(let member): "\(name).\(member)[]"
            }
        }
    }

    /// The members that this library or its caller compares, and one of each other type.
    private func choice(_ member: String) -> Filling.Choice {
        switch member {
        case "environment", "bundleId", "productId", "price", "signedDate", "unknown": isTransaction ? .all : .few
        case "receiptType", "eligibleWinBackOfferIds", "items", "descriptors", "signedTransactionInfo": .some
        default: .few
        }
    }

    private var isTransaction: Bool { path.isEmpty && kind == "transaction" }

    func place(_ label: String, _ member: String? = nil) -> Place {
        let member = member ?? label
        return Place("\(name).\(label)", .jsonValue, choice(member), family: name) { filling in
            subject { $0.set(member, filling) }
        }
    }

    var placeOfName: Place {
        Place("\(name), an unknown name", .jsonString, isTransaction ? .all : .few) { filling in
            subject { $0.members.append((filling, Array("0".utf8))) }
        }
    }

    var placeOfMembers: Place {
        Place("\(name), unknown members", .jsonMembers) { filling in subject { $0.insert(members: filling) } }
    }

    private func subject(_ change: (inout JSONText) -> Void) -> [Operation] {
        var payload = JSONText(builder.payload)
        payload.change(within: path[...], change)
        return JWSSubject(signedJWS(.header, payload.bytes)).operations
    }
}

/// A JSON object with any members.
private struct JSONText: Sendable {
    var members: [(name: [UInt8], value: [UInt8])] = []
    private var inserted: [UInt8] = []
    private let value: JSONValue

    init(_ value: JSONValue) {
        self.value = value
        guard case .object(let members) = value else { return }
        self.members = members.map { (Array($0.name.utf8), $0.value.bytes) }
    }

    static let header = JSONText([
        "alg": "ES256",
        "x5c": .array(
            JSONText.chain.map { .string(Base64.encode($0.span)) }),
    ])

    private static let chain = Signers.authority.certificates

    mutating func set(_ name: String, _ value: [UInt8]) {
        let name = Array(name.utf8)
        members.removeAll { $0.name == name }
        members.append((name, value))
    }

    /// - Parameter members: with commas between them and at the end.
    mutating func insert(members: [UInt8]) { inserted += members }

    mutating func change(within path: ArraySlice<JSONStep>, _ change: (inout JSONText) -> Void) {
        guard let step = path.first else { return change(&self) }
        var inner = JSONText(value[step.name] ?? [:])
        inner.change(within: path.dropFirst(), change)
        switch step {
        case .member(let name): set(name, inner.bytes)
        case .elements(let name): set(name, [UInt8(ascii: "[")] + inner.bytes + [UInt8(ascii: "]")])
        }
    }

    var bytes: [UInt8] {
        var bytes = [UInt8(ascii: "{")] + inserted
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += [UInt8(ascii: "\"")] + member.name + Array("\":".utf8) + member.value
        }
        if members.isEmpty, bytes.last == UInt8(ascii: ",") { bytes.removeLast() }
        return bytes + [UInt8(ascii: "}")]
    }
}

private func signedJWS(_ header: JSONText, _ payload: [UInt8]) -> [UInt8] {
    signedJWS(JWSSigner.encode(header.bytes), payload)
}

/// - Parameters:
///   - header: in base64url.
///   - signature: in base64url; by default the valid one.
private func signedJWS(_ header: [UInt8], _ payload: [UInt8], signature: [UInt8]? = nil) -> [UInt8] {
    let input = header + [UInt8(ascii: ".")] + JWSSigner.encode(payload)
    let signature =
        signature
        ?? JWSSigner.encode(
            FuzzAuthority.made { try JWSBuilder.signature(of: input, key: Signers.authority.leaf.key) })
    return input + [UInt8(ascii: ".")] + signature
}

/// The operations on a JWS.
private final class JWSSubject {
    let bytes: [UInt8]
    private lazy var verified = Result { () throws(VerificationError) in try Verifiers.lenient.verify(bytes) }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var operations: [Operation] {
        [
            Operation("verify") { [self] in
                Work(Result { () throws(VerificationError) in try Verifiers.strict.verify(bytes) })
            },
            Operation("fields and JSON") { [self] in
                Work(verified, of: bytes, "read", reading: Self.read)
            },
            Operation("hashes") { [self] in
                switch verified {
                case .success(let evidence): Work("hashed", Self.hash(evidence))
                case .failure(let error): Work(error.code.rawValue, Set([error]).count)
                }
            },
        ]
    }

    private static func read(_ evidence: VerifiedEvidence) -> Int {
        var count = Work.size(evidence.json) + Work.size(evidence.bundleID) + evidence.transactionIDs.count
        count += evidence.environment == nil ? 0 : 1
        for part in evidence.parts {
            for field in part.fields {
                switch field.value {
                case .string(let text), .json(let text): count += Work.size(field.name) + Work.size(text)
                case .date: count += Work.size(field.name)
                }
            }
        }
        switch evidence {
        case .transaction(let info):
            count += Work.ask(Entitlements([evidence, evidence], at: JWSBuilder.defaultDate)) + read(info.payload)
            count += [info.advancedCommerceInfo, info.commitment].reduce(0) { $0 + ($1.map(read) ?? 0) }
            count += info.multiSeatInfo?.priceTiers?.count ?? 0
        case .renewalInfo(let info):
            count += read(info.payload) + (info.multiSeatInfo?.renewalPriceTiers?.count ?? 0)
            count += [info.advancedCommerceInfo, info.commitment].reduce(0) { $0 + ($1.map(read) ?? 0) }
        case .appTransaction(let transaction): count += read(transaction.payload)
        case .notification(let notification): count += read(notification.notification.payload)
        case .realtimeRequest(let request): count += read(request.payload)
        default: break
        }
        return count
    }

    private static func hash(_ evidence: VerifiedEvidence) -> Int {
        var count = Set([evidence]).count + Set(evidence.purchases).count
        switch evidence {
        case .transaction(let transaction):
            let info = transaction.payload
            count += Set(info.object.members).count + Set([info.productType]).count + Set([info.ownershipType]).count
            count += Set([info.reason]).count + Set([info.offerDiscountType]).count + Set([info.revocationType]).count
        case .renewalInfo(let info): count += Set(info.payload.object.members).count
        case .notification(let notification):
            count += Set([notification.notification.payload.type]).count
            count += Set([notification.notification.payload.subtype]).count
        default: break
        }
        return count
    }

    private static func read(_ json: JSONObject) -> Int {
        Work.size(json.text) + json.members.count + json.unknownMembers.count + Work.size(json.json(of: "environment"))
            + Work.size(json.text(of: "environment"))
    }

    private static func read(_ payload: some JWSPayload) -> Int {
        read(payload.object) + (payload.environment == nil ? 0 : 1) + (payload.signedDate == nil ? 0 : 1)
    }
}
