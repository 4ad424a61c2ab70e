import StrictText

/// A verified payload, as all outputs show it: the signed parts of a notification come after it, not in it.
package struct JWSPart: Sendable {
    /// The kind of the JWS; `nil` for a transaction receipt.
    package let kind: Kind?
    /// The verification of the payload.
    package let verification: Verification
    private let contents: Contents

    private enum Contents {
        case jws(any JWSRecord)
        case transactionReceipt(TransactionReceipt)
    }

    init<Payload: JWSClaims>(_ kind: Kind, _ verified: Verified<Payload>) {
        self.kind = kind
        verification = verified.verification
        contents = .jws(verified.payload)
    }

    init(_ receipt: VerifiedTransactionReceipt) {
        kind = nil
        verification = receipt.verification
        contents = .transactionReceipt(receipt.transactionReceipt)
    }

    /// The member of a verdict that it is.
    package var name: String { kind?.rawValue ?? "transaction_receipt" }

    /// Writes the object with Apple's names and values, except for dates in RFC 3339. Unknown members are as received.
    func write(to writer: inout JSONWriter) {
        switch contents {
        case .jws(let payload): payload.write(to: &writer)
        case .transactionReceipt(let receipt): receipt.write(to: &writer)
        }
    }

    /// All fields, in their order.
    package var fields: [JWSField] {
        switch contents {
        case .jws(let payload): payload.fields
        case .transactionReceipt(let receipt): receipt.fields
        }
    }
}

/// A payload that was decoded and not verified.
package struct UnverifiedJWSPart: Sendable {
    /// The kind; `nil` if it is unknown.
    package let kind: JWSPart.Kind?
    private let payload: any JWSRecord

    /// Decodes a payload of any kind. Its dates are read as dates if it has all that its kind requires.
    init(_ text: [UInt8]) throws(JSONError) {
        let reading = JWSReading(text)
        do throws(JSONError) {
            (kind, payload) = try reading.part
        } catch {
            payload = UnknownRecord(members: try JWSMembers(decoding: text))
            kind = nil
        }
    }

    /// The JWS in a notification, with the names of their members.
    var signedParts: [(name: VerificationError.Part, text: [UInt8])] {
        guard let notification = payload as? AppStoreNotification else { return [] }
        let parts: [(VerificationError.Part, [UInt8]?)] = [
            (.transactionInfo, notification.data?.members.bytes(.signedTransactionInfo)),
            (.renewalInfo, notification.data?.members.bytes(.signedRenewalInfo)),
            (.appTransactionInfo, notification.appData?.members.bytes(.signedAppTransactionInfo)),
        ]
        return parts.compactMap { part in part.1.map { (part.0, $0) } }
    }

    func write(to writer: inout JSONWriter) { payload.write(to: &writer) }

    /// All fields, in their order.
    package var fields: [JWSField] { payload.fields }
}

/// A field of signed data, for people to read.
package struct JWSField: Sendable {
    /// Apple's name, after those of the objects around it: `commitmentInfo.commitmentPrice`, `items[0].SKU`.
    package let name: String
    package let value: Value

    package enum Value: Sendable {
        case string(String)
        case date(Instant)
        /// Anything else, as it was received.
        case json(String)
    }
}

// MARK: - Walking an object

// Decoding has already read all of this, so reading it again cannot fail.
extension JWSRecord {
    fileprivate func write(to writer: inout JSONWriter) {
        let text = members.text
        var cursor = JSONCursor(text.span, from: members.range.lowerBound)
        do throws(JSONError) { try Self.write(text, &cursor, to: &writer) } catch {}
    }

    private static func write(
        _ text: [UInt8], _ cursor: inout JSONCursor, to writer: inout JSONWriter
    ) throws(JSONError) {
        writer.beginObject()
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let type = valueType(of: name, cursor)
            if case .jws = type { return }
            let bytes = name.bytes
            writer.name(utf8: bytes.span)
            guard try !cursor.readIfNull() else { return writer.null() }
            switch type {
            case .date: writer.date(try cursor.readInstant())
            case .object(let type): try type.write(text, &cursor, to: &writer)
            case .objects(let type):
                writer.beginArray()
                try cursor.readArray { (cursor) throws(JSONError) in try type.write(text, &cursor, to: &writer) }
                writer.endArray()
            default: writer.compact(text.span.extracting(try cursor.skipValue()))
            }
        }
        writer.endObject()
    }

    /// The type of a member whose value is next; `nil` for an unknown one.
    private static func valueType(of name: borrowing JSONString, _ cursor: JSONCursor) -> JWSValueType? {
        // Compare bytes, because Swift treats names as equal that differ in Unicode normalization.
        guard let member = Member.names.member(of: name), !member.isInformative || cursor.has(member) else {
            return nil
        }
        return member.valueType
    }

    /// All fields in their order, without the parts that are signed separately.
    var fields: [JWSField] {
        var fields: [JWSField] = []
        let text = members.text
        var cursor = JSONCursor(text.span, from: members.range.lowerBound)
        do throws(JSONError) { try Self.append(text, &cursor, to: &fields, within: "") } catch {}
        return fields
    }

    private static func append(
        _ text: [UInt8], _ cursor: inout JSONCursor, to fields: inout [JWSField], within path: String
    ) throws(JSONError) {
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let type = valueType(of: name, cursor)
            if case .jws = type { return }
            let path = path + name.value
            guard try !cursor.readIfNull() else { return }
            switch type {
            case .date: fields.append(JWSField(name: path, value: .date(try cursor.readInstant())))
            case .string: fields.append(JWSField(name: path, value: .string(try cursor.readString().value)))
            case .object(let type): try type.append(text, &cursor, to: &fields, within: path + ".")
            case .objects(let type):
                var index = 0
                try cursor.readArray { (cursor) throws(JSONError) in
                    try type.append(text, &cursor, to: &fields, within: "\(path)[\(index)].")
                    index += 1
                }
            default:
                let value = String(decoding: text[try cursor.skipValue()], as: UTF8.self)
                fields.append(JWSField(name: path, value: .json(value)))
            }
        }
    }
}
