import StrictText

/// The forms in which a receipt is accepted.
package enum InputForm: String, Sendable, CaseIterable {
    /// The PKCS #7 container itself, in DER or BER.
    case binary
    /// Its base64, in the standard or the URL-safe alphabet.
    case base64
    /// A PEM file with the label `PKCS7` or `CMS` (RFC 7468).
    case pem
    /// A JSON object whose member `receipt-data` is the base64: the body of a verifyReceipt request.
    case json
}

/// Why an input is none of the forms of a receipt, and where. Made without allocating.
package struct InputError: Error, Hashable, Sendable {
    /// What is wrong. The raw values are stable words that programs may compare.
    package enum Kind: String, Sendable, CaseIterable {
        /// Nothing, or nothing but whitespace.
        case emptyInput = "empty-input"
        /// More than the allowed number of bytes.
        case inputTooLarge = "input-too-large"
        /// Neither of the forms can begin like this.
        case unrecognizedForm = "unrecognized-form"
        /// A character that does not belong, or characters missing, in base64, also in that of a PEM file or of a JSON member.
        case invalidBase64 = "invalid-base64"
        /// The lines around the base64 are wrong: another label, no end, or anything after it.
        case invalidPEM = "invalid-pem"
        /// Not a JSON object, or one with a `receipt-data` that is repeated or no string.
        case invalidJSON = "invalid-json"
        /// A JSON object without `receipt-data`.
        case missingReceiptData = "missing-receipt-data"
    }

    /// What is wrong.
    package let kind: Kind
    /// The form that the input was taken for; `nil` when it looks like none.
    package let form: InputForm?
    /// Bytes from the start of the text, or of the binary input.
    package let offset: Int

    /// An error of input, made by hand: for tests of code that handles errors.
    package init(_ kind: Kind, form: InputForm?, offset: Int) {
        self.kind = kind
        self.form = form
        self.offset = offset
    }
}

extension InputError: CustomStringConvertible {
    /// What is wrong, in which form, and where.
    package var description: String {
        switch form {
        case nil: "\(kind.explanation) at byte \(offset)"
        case .binary: "\(kind.explanation) at byte \(offset) of the binary input"
        case .base64, .pem, .json: "\(kind.explanation) at byte \(offset) of the text"
        }
    }
}

extension InputError.Kind {
    /// What is wrong, as a clause of a sentence.
    package var explanation: String {
        switch self {
        case .emptyInput: "an empty input"
        case .inputTooLarge: "an input larger than allowed"
        case .unrecognizedForm: "neither DER, nor base64 of it, nor PEM, nor a JSON object"
        case .invalidBase64: "invalid base64"
        case .invalidPEM: "an invalid PEM file"
        case .invalidJSON: "an invalid JSON request"
        case .missingReceiptData: "a JSON object without receipt-data"
        }
    }
}
