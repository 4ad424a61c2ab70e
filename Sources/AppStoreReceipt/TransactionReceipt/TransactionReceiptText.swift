import StrictText

/// The property list of a transaction receipt in the text that was received: the list itself, or its base64, wrapped or
/// not and with or without padding.
enum TransactionReceiptText {
    /// Returns whether a text begins like a property list and unlike JSON: with `{`, a string and `=`, or with `{` and
    /// a comment.
    static func isPropertyList(_ text: Span<UInt8>) -> Bool {
        var position = 0
        func skipWhitespace() -> UInt8? {
            position = text.endOfWhitespace(from: position)
            return position < text.count ? text[position] : nil
        }
        guard skipWhitespace() == .openingBrace else { return false }
        position += 1
        guard skipWhitespace() == .quotationMark else { return position < text.count && text[position] == .slash }
        position += 1
        while position < text.count, text[position] != .quotationMark {
            // Escapes in JSON. In a property list, all escapes are refused.
            position += text[position] == .backslash ? 2 : 1
        }
        position += 1
        return skipWhitespace() == .equalsSign
    }

    /// Returns whether a text is the base64 of a text that begins like a property list. The base64 of JSON, with which
    /// a JWS begins, also begins with `e`.
    static func isBase64(_ text: Span<UInt8>) -> Bool {
        var position = text.endOfWhitespace()
        guard position < text.count, text[position] == UInt8(ascii: "e") else { return false }
        // Four times as long as the longest known key.
        var characters: [UInt8] = []
        while position < text.count, characters.count < 144, text[position] != .equalsSign {
            if !text[position].isWhitespace { characters.append(text[position]) }
            position += 1
        }
        characters.removeLast(characters.count % 4)
        // Text that is not base64 is none of a property list.
        guard let beginning = try? Base64.decode(characters.span) else { return false }
        return isPropertyList(beginning.span)
    }

    /// Returns whether a text begins like a transaction receipt, or like the base64 of one.
    static func isBeginning(of text: Span<UInt8>) -> Bool { isPropertyList(text) || isBase64(text) }

    /// Returns the property list in a text; `nil` if the text is one, without armor.
    static func decode(_ text: Span<UInt8>, _ limits: VerificationLimits) throws(InputError) -> [UInt8]? {
        let limit = limits.maximumTransactionReceiptByteCount
        try ReceiptText.checkCount(text.count, nil, limit)
        let start = text.endOfWhitespace()
        guard start < text.count, text[start] == .openingBrace else {
            return try ReceiptText.decode(base64: text, limit)
        }
        guard text.count <= limit else { throw InputError(.inputTooLarge, armor: .propertyList, offset: limit) }
        return nil
    }
}
