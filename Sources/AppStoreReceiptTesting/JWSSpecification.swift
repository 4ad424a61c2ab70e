import AppStoreReceipt
import SignatureTrust
import SpanASN1
import StrictText

/// A JWS to mint, read from JSON with the keys of `receipt decode --format json`: `{"transaction":{…}}`, or a
/// notification with the parts that are signed within it, `{"notification":{…},"transaction":{…},"renewal_info":{…}}`.
///
/// A missing member has the default of ``JWSBuilder``; one that is `null` is not written. Bundle id, environment and
/// signing date of one object are the defaults of the others, because Apple's agree. The default signing date is the
/// latest date of a purchase or a revocation, because evidence that was signed before a refund does not contain it, but
/// not before ``JWSBuilder/defaultDate``. Without a purchase date, a transaction refunded before the default date was
/// bought a second before its refund. A notification without a UUID gets one made from the specification. A period of
/// an auto-renewable subscription without a web order line item gets one made from its original transaction id, its
/// product and its end.
package struct JWSSpecification: Sendable {
    private let kind: JWSKind
    private let objects: [JWSKind: [JWSSpecifiedMember]]
    /// The members that Apple does not document. They are written as they are.
    package let unknownMembers: [(name: String, offset: Int)]
    /// The text of the specification.
    private let json: [UInt8]
    /// The bundle id to write instead of the specified one.
    package var bundleID: String?

    /// The other keys of outputs.
    private static let ignoredNames = ["file", "verified", "schema", "header", "trust", "nothing"]

    /// Reads a specification.
    ///
    /// - Returns: `nil` for a JSON object that specifies no JWS.
    package init?(json: [UInt8]) throws(ReceiptSpecificationError) {
        var objects: [JWSKind: [JWSSpecifiedMember]] = [:]
        var notes = JWSSpecificationNotes()
        var places: [(kind: JWSKind, offset: Int)] = []
        var unknownNameOffset: Int?
        do throws(JSONError) {
            try JSONCursor.decode(json.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    guard let kind = JWSKind.allCases.first(where: { name == $0.rawValue }) else {
                        let isOutput = Self.ignoredNames.contains { name == $0 }
                        unknownNameOffset = unknownNameOffset ?? (isOutput ? nil : name.offset)
                        return
                    }
                    guard objects[kind] == nil else { throw JSONError(.duplicateMember, offset: name.offset) }
                    places.append((kind, name.offset))
                    objects[kind] = try kind.readMembers(&cursor, of: json, &notes)
                }
            }
            guard let first = places.first else { return nil }
            if let unknownNameOffset { throw JSONError(.unexpectedValue, offset: unknownNameOffset) }
            kind = objects[.notification] == nil ? first.kind : .notification
            // Only a notification has parts.
            let parts: Set<JWSKind> =
                kind == .notification ? [.transaction, .renewalInfo, .appTransaction, .notification] : [kind]
            if let other = places.first(where: { !parts.contains($0.kind) }) {
                throw JSONError(.unexpectedValue, offset: other.offset)
            }
        } catch {
            if let offset = unknownNameOffset, error.offset == offset {
                throw ReceiptSpecificationError(.unknownKey, offset: offset)
            }
            throw ReceiptSpecificationError(error, expected: notes.expected)
        }
        self.objects = objects
        unknownMembers = notes.unknownMembers
        self.json = json
    }

    /// Returns the JWS in its compact serialization.
    ///
    /// - Throws: `unsuitable-key` for an authority whose leaf is not on P-256.
    package func signed(by authority: TestCertificateAuthority) throws(MintingError) -> String {
        try builder(kind, authority).signed(by: authority)
    }

    private func builder(
        _ kind: JWSKind, _ authority: TestCertificateAuthority
    ) throws(MintingError) -> JWSBuilder {
        let members = objects[kind] ?? []
        let product = text("productId", in: members) ?? "com.example.app.product"
        let transaction = text("transactionId", in: members) ?? "200000000000001"
        let original = text("originalTransactionId", in: members) ?? "200000000000001"
        let bundleID = bundleID ?? text("bundleId") ?? "com.example.app"
        // An unknown environment stays as specified, because the specified members are added below.
        let environment =
            (text("environment") ?? text("receiptType")).flatMap(AppStoreEnvironment.init(signedName:)) ?? .production
        let date = specifiedDate ?? JWSBuilder.defaultDate
        // The subject of a notification; by default purchases.
        let subject =
            members.lazy.compactMap { member in Self.subjects.first { $0.name.hasSameBytes(as: member.name) } }.first
            ?? Self.subjects.first { $0.name.hasSameBytes(as: objects[.appTransaction] == nil ? "data" : "appData") }
        let standard = JWSBuilder.notification(.test, bundleID: bundleID, environment: environment, signedDate: date)
        var contents = standard.payload["data"] ?? .object([])
        for name in subject?.lacking ?? [] { contents[name] = nil }
        let builders: [JWSKind: JWSBuilder] = [
            .transaction: .transaction(
                bundleID: bundleID, productID: product, transactionID: transaction, environment: environment,
                signedDate: date),
            .renewalInfo: .renewalInfo(
                productID: product, originalTransactionID: original, environment: environment, signedDate: date),
            .appTransaction: .appTransaction(bundleID: bundleID, environment: environment, signedDate: date),
            .realtimeRequest: .realtimeRequest(
                productID: product, originalTransactionID: original, environment: environment, signedDate: date),
            .notification: .notification(
                .test, about: subject?.name ?? "data", contents, signedDate: date),
        ]
        // A kind without a builder has only the specified members, and a signing date.
        var builder = builders[kind] ?? JWSBuilder(payload: ["signedDate": .integer(date.millisecondsSince1970)])
        if specifiedDate == nil, let latestDate, latestDate > date {
            let name = kind == .appTransaction ? "receiptCreationDate" : "signedDate"
            builder.payload[name] = .integer(latestDate.millisecondsSince1970)
        }
        if kind == .notification { builder.payload["notificationUUID"] = .string(try notificationUUID) }
        if kind == .transaction {
            let refund = value("revocationDate", in: members).flatMap(Self.date)
            if let refund, let purchaseDate = builder.purchaseDate, refund <= purchaseDate {
                // Nothing is refunded before it was bought.
                builder.purchaseDate = refund.advanced(by: .seconds(-1))
                builder.originalPurchaseDate = builder.purchaseDate
            }
            builder.webOrderLineItemID = lineItem(
                of: members, original: text("originalTransactionId", in: members) ?? transaction, product)
        }
        builder.payload.overlay(members)
        if let bundleID = self.bundleID { builder.payload.replaceBundleID(with: bundleID) }
        guard kind == .notification else { return builder }
        let parts: [(JWSKind, String, String)] = [
            (.transaction, "data", "signedTransactionInfo"), (.renewalInfo, "data", "signedRenewalInfo"),
            (.appTransaction, "appData", "signedAppTransactionInfo"),
        ]
        for (part, member, name) in parts where objects[part] != nil {
            var object = builder.payload[member] ?? .object([])
            object[name] = .string(try self.builder(part, authority).signed(by: authority))
            builder.payload[member] = object
        }
        return builder
    }

    /// The subjects of notifications, and the members of `data` that Apple does not write for them.
    private static let subjects: [(name: String, lacking: [String])] = [
        ("data", []), ("appData", ["bundleVersion"]), ("summary", ["bundleVersion"]),
        // The token's id begins with `SANDBOX` in the sandbox.
        ("externalPurchaseToken", ["bundleVersion", "environment"]),
        ("unclaimInfo", ["appAppleId", "bundleId", "bundleVersion", "environment"]),
    ]

    // MARK: Values in the specification

    /// The date at which everything is signed, if the specification has one.
    private var specifiedDate: Instant? {
        let texts = [
            objects[kind].flatMap { value("signedDate", in: $0) }, value("signedDate"), value("receiptCreationDate"),
        ]
        return texts.lazy.compactMap { $0.flatMap(Self.date) }.first
    }

    /// The latest date of a purchase or a revocation in the specification.
    private var latestDate: Instant? {
        objects.values.flatMap { members in
            ["purchaseDate", "originalPurchaseDate", "revocationDate"].compactMap { name in
                value(name, in: members).flatMap(Self.date)
            }
        }.max()
    }

    private static func date(_ milliseconds: [UInt8]) -> Instant? {
        Int64(String(decoding: milliseconds, as: UTF8.self)).map { Instant(millisecondsSince1970: $0) }
    }

    /// Without one, a restored copy of a period would be a purchase of its own.
    private func lineItem(of members: [JWSSpecifiedMember], original: String, _ productID: String) -> String? {
        let own = members.filter { if case .json = $0.value { true } else { false } }
        let type = text("type", in: own).map(ProductType.init(rawValue:))
        guard type == .autoRenewableSubscription else { return nil }
        return WebOrderLineItem.identifier(
            original: original, productID: productID, end: value("expiresDate", in: own).flatMap(Self.date))
    }

    /// A UUID made from the specification (RFC 9562, 5.8).
    private var notificationUUID: String {
        get throws(MintingError) {
            var bytes = Array(try SignatureDigest.sha256.digest(of: json).prefix(16))
            bytes[6] = bytes[6] & 0x0F | 0x80
            bytes[8] = bytes[8] & 0x3F | 0x80
            return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hexadecimal.text(bytes[$0].span) }
                .joined(separator: "-")
        }
    }

    private func text(_ name: String, in members: [JWSSpecifiedMember]? = nil) -> String? {
        guard let json = value(name, in: members) else { return nil }
        // A value of another type has no text.
        return try? JSONCursor.decode(json.span) { (cursor) throws(JSONError) in try cursor.readString().value }
    }

    /// The first value of a member with a name, in some members or in all objects, at any depth.
    private func value(_ name: String, in members: [JWSSpecifiedMember]? = nil) -> [UInt8]? {
        guard let members else {
            let kinds = [kind] + JWSKind.allCases
            return kinds.lazy.compactMap { objects[$0] }.compactMap { value(name, in: $0) }.first
        }
        for member in members {
            switch member.value {
            case .json(let text) where member.name.hasSameBytes(as: name): return text
            case .object(let inner): if let found = value(name, in: inner) { return found }
            default: break
            }
        }
        return nil
    }
}

extension JSONValue {
    fileprivate mutating func overlay(_ members: [JWSSpecifiedMember]) {
        for member in members {
            switch member.value {
            case .null: self[member.name] = nil
            case .json(let text): self[member.name] = .raw(String(decoding: text, as: UTF8.self))
            case .object(let inner):
                var object = JSONValue.object([])
                if case .object(let members) = self[member.name] { object = .object(members) }
                object.overlay(inner)
                self[member.name] = object
            }
        }
    }

    /// Replaces the bundle ids of this object and of the objects in it.
    fileprivate mutating func replaceBundleID(with bundleID: String) {
        guard case .object(let members) = self else { return }
        for member in members {
            if member.name.hasSameBytes(as: "bundleId") {
                self[member.name] = .string(bundleID)
            } else if case .object = member.value {
                var object = member.value
                object.replaceBundleID(with: bundleID)
                self[member.name] = object
            }
        }
    }
}
