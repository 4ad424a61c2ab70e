import StrictText

extension AppStoreSigner {
    /// Signs a request of the Advanced Commerce API that the app passes to StoreKit, as a JWS.
    ///
    /// - Parameter request: The request as JSON in UTF-8, such as
    ///   `{"operation":"CREATE_ONE_TIME_CHARGE","version":"1","requestInfo":{"requestReferenceId":UUID},…}`. It must
    ///   have these three members; the others are Apple's to check. Its bytes are signed as they are, so that a byte
    ///   order mark is refused.
    /// - Returns: The JWS in compact form.
    /// - Throws: ``SigningError/Reason-swift.enum/invalidRequest``; ``SigningError/Reason-swift.enum/signingFailed``.
    ///
    /// Source: Apple, "Authorizing in-app requests" (Advanced Commerce API).
    public func signAdvancedCommerceRequest(_ request: [UInt8]) throws(SigningError) -> String {
        do throws(JSONError) {
            try AdvancedCommerceRequest.check(request.span)
        } catch {
            throw SigningError(.invalidRequest, offset: error.offset)
        }
        return try signRequest(for: "advanced-commerce-api", at: System.now) { writer in
            writer.member("request", Base64.encode(request.span))
        }
    }
}

/// What every request of the Advanced Commerce API has.
private enum AdvancedCommerceRequest {
    enum Member: String, CaseIterable, Sendable { case operation, version, requestInfo }
    enum Info: String, CaseIterable, Sendable { case requestReferenceId }

    private static let members = JSONMembers<Member>()
    private static let infoMembers = JSONMembers<Info>()

    static func check(_ text: Span<UInt8>) throws(JSONError) {
        try JSONCursor.decode(text) { (cursor) throws(JSONError) in
            var found: Set<Member> = []
            try cursor.readObject(of: members) { (cursor, member) throws(JSONError) in
                found.insert(member)
                if member == .requestInfo { try checkInfo(&cursor) } else { try checkText(&cursor) }
            }
            guard found.count == Member.allCases.count else {
                throw JSONError(.missingMember, offset: cursor.offset)
            }
        }
    }

    private static func checkInfo(_ cursor: inout JSONCursor) throws(JSONError) {
        var hasReference = false
        try cursor.readObject(of: infoMembers) { (cursor, _) throws(JSONError) in
            let text = try cursor.readString()
            guard case .some = UUIDText.lowercased(text.value) else {
                throw JSONError(.unexpectedValue, offset: text.offset)
            }
            hasReference = true
        }
        guard hasReference else { throw JSONError(.missingMember, offset: cursor.offset) }
    }

    private static func checkText(_ cursor: inout JSONCursor) throws(JSONError) {
        let text = try cursor.readString()
        guard !text.raw.isEmpty else { throw JSONError(.unexpectedValue, offset: text.offset) }
    }
}
