import StrictText

/// The object whose members are in drafts.
struct JWSDraftObject {
    let text: [UInt8]
    let range: Range<Int>
    /// The error of the text, for every kind.
    let fault: JSONError?
}

/// The end of a value and its type, once it was read.
struct JWSDraftValue {
    fileprivate(set) var end: Int?
    fileprivate var valueType: JWSValueType?
}

/// The members of an object as one kind, and the first error for that kind.
struct JWSDraft<Payload: JWSClaims> {
    private var entries: [JWSMembers<Payload.Member>.Entry] = []
    private var seen: UInt64 = 0
    private var fault: JSONError?

    /// Reads the value at the cursor if this kind has a member of the name.
    mutating func read(_ name: borrowing JSONString, _ cursor: JSONCursor, _ value: inout JWSDraftValue) {
        guard fault == nil, let index = Payload.Member.names.index(of: name) else { return }
        do throws(JSONError) {
            guard seen >> index & 1 == 0 else { throw JSONError(.duplicateMember, offset: name.offset) }
            seen |= 1 << index
            let member = Payload.Member.names[index]
            var cursor = cursor
            let isNull = try cursor.readIfNull()
            let start = cursor.offset
            if !isNull, let end = value.end, value.valueType?.isSame(as: member.valueType) == true {
                entries.append(.init(member: member, value: ByteRange(start..<end), isKnown: true))
                return
            }
            if !isNull {
                let isKnown = try cursor.check(member)
                entries.append(.init(member: member, value: ByteRange(start..<cursor.offset), isKnown: isKnown))
                if isKnown { value.valueType = member.valueType }
            }
            value.end = cursor.offset
        } catch {
            fault = error
        }
    }

    /// The payload, which must be of this kind.
    func payload(in object: JWSDraftObject) throws(JSONError) -> Payload {
        if let fault = fault ?? object.fault { throw fault }
        return try Payload(checking: JWSMembers(text: object.text, range: object.range, entries: entries))
    }
}
