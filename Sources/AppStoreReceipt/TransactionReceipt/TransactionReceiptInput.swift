import StrictText

/// The property list of a transaction receipt in the text that was received: the list itself, or its base64, wrapped or not and with or without padding.
package enum TransactionReceiptInput {
    /// Returns whether a text begins like a property list and unlike JSON: with `{`, a string and `=`, or with `{` and a comment.
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

    /// Returns whether a text is the base64 of a text that begins like a property list. The base64 of JSON, with which a JWS begins, also begins with `e`.
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
        guard let beginning = try? Base64.decode(characters.span) else { return false }
        return isPropertyList(beginning.span)
    }

    /// Returns whether a text begins like a transaction receipt in one of its forms.
    package static func isTransactionReceipt(_ text: Span<UInt8>) -> Bool { isPropertyList(text) || isBase64(text) }

    /// Calls `body` with the property list of a text.
    static func withPropertyList<Result>(
        of text: Span<UInt8>, _ limits: VerificationLimits,
        _ body: (Span<UInt8>) throws(VerificationError) -> Result
    ) throws(VerificationError) -> Result {
        let limit = limits.maximumTransactionReceiptByteCount
        do throws(InputError) {
            try ReceiptInput.checkCount(ofText: text.count, nil, limit)
        } catch {
            throw .input(error)
        }
        let start = text.endOfWhitespace()
        if start < text.count, text[start] == .openingBrace {
            guard text.count <= limit else {
                throw .input(InputError(.inputTooLarge, form: .propertyList, offset: limit))
            }
            return try body(text)
        }
        let list: [UInt8]
        do throws(InputError) {
            list = try ReceiptInput(base64: text, maximumByteCount: limit).decoded
        } catch {
            throw .input(error)
        }
        return try body(list.span)
    }
}
