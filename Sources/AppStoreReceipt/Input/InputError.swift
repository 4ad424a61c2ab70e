import StrictText

/// The armor of a receipt or a transaction receipt: what stands around its bytes.
package enum Armor: String, Sendable, CaseIterable {
    /// The PKCS #7 container itself, in DER or BER.
    case binary
    /// The base64 of the container, in the standard or the URL-safe alphabet.
    case base64
    /// A PEM file with the label `PKCS7` or `CMS` (RFC 7468).
    case pem
    /// A JSON object whose member `receipt-data` is the base64: the body of a verifyReceipt request.
    case json
    /// The property list of a transaction receipt.
    case propertyList = "property-list"
}

/// The reason the text around a receipt could not be read, and the place of the fault. Creating one allocates nothing.
package struct InputError: Error, Hashable, Sendable {
    /// The kinds of faults. The raw values are stable; programs may compare them.
    package enum Kind: String, Sendable, CaseIterable {
        /// The input is empty or has only whitespace.
        case emptyInput = "empty-input"
        /// The input has more bytes than the limit.
        case inputTooLarge = "input-too-large"
        /// The input does not begin like any known evidence.
        case unrecognizedForm = "unrecognized-form"
        /// The base64 has an invalid character or is incomplete, by itself or in a PEM file or a JSON member.
        case invalidBase64 = "invalid-base64"
        /// The PEM file has a wrong label, no end line, or text after its end.
        case invalidPEM = "invalid-pem"
        /// The text is not a JSON object, or the member with the evidence is repeated or not a string.
        case invalidJSON = "invalid-json"
        /// The JSON object has no member with evidence.
        case missingReceiptData = "missing-receipt-data"
        /// Members of an object, or values of a form, that do not belong together have different evidence.
        case ambiguousEvidence = "ambiguous-evidence"
        /// The evidence is in a member that is not read, to which the error has the path.
        case evidenceInMember = "evidence-in-member"
        /// The input is an array or lines of evidence where one piece is read.
        case severalPieces = "several-pieces"
        /// The evidence ends early. The error has the numbers.
        case truncated
        /// The input has StoreKit's or verifyReceipt's JSON about a purchase, and no signature.
        case unsignedTransaction = "unsigned-transaction"
        /// The input is an id of a transaction.
        case transactionID = "transaction-id"
        /// The input is of Google Play.
        case googlePlay = "google-play"
        /// The input is a page in HTML or XML.
        case html
        /// The input is a receipt in hexadecimal.
        case hexadecimal
        /// The input is a text in UTF-16.
        case utf16 = "utf-16"
        /// The input is how a language writes a value or the lack of one, or has been shortened or set for people to
        /// read.
        case leakedText = "leaked-text"
    }

    /// The kind of fault.
    package let kind: Kind
    /// The armor that the input begins like; `nil` if there is none.
    package let armor: Armor?
    /// The position of the fault, in bytes from the start of the text or of the binary input.
    package let offset: Int

    /// Creates an error.
    package init(_ kind: Kind, armor: Armor?, offset: Int) {
        self.kind = kind
        self.armor = armor
        self.offset = offset
    }
}

extension InputError: CustomStringConvertible {
    /// The explanation and the place of the fault.
    package var description: String {
        switch armor {
        case nil: "\(kind.fault.explanation) at byte \(offset)"
        case .binary: "\(kind.fault.explanation) at byte \(offset) of the binary input"
        case .base64, .pem, .json, .propertyList: "\(kind.fault.explanation) at byte \(offset) of the text"
        }
    }
}

extension InputError.Kind {
    /// The kinds that say what was sent in place of evidence.
    package static let ofClients: [InputError.Kind] = [
        .truncated, .unsignedTransaction, .transactionID, .evidenceInMember, .ambiguousEvidence, .severalPieces,
        .googlePlay, .hexadecimal, .html, .utf16, .leakedText,
    ]

    static func namesWhatClientsSend(_ code: String) -> Bool {
        ofClients.contains { $0.rawValue.hasSameBytes(as: code) }
    }
}
