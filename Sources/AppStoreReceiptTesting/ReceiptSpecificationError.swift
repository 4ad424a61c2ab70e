import Instants
import StrictText

/// The reason a JSON text does not specify a receipt, and the place of the fault.
public struct ReceiptSpecificationError: Error, Hashable, Sendable {
    /// The stable words for the reasons.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The text is not one JSON object.
        case malformedJSON = "malformed-json"
        /// A receipt does not have the key.
        case unknownKey = "unknown-key"
        /// The object has the key twice.
        case repeatedKey = "repeated-key"
        /// The value has the wrong type, a date is not RFC 3339, or digits are not hexadecimal.
        case unexpectedValue = "unexpected-value"
    }

    /// The reason.
    public let code: Code
    /// The position of the fault, in bytes from the start of the text.
    public let offset: Int
    /// What an unexpected value must be, such as `an integer`; `nil` if it is not known.
    public let expected: String?

    init(_ code: Code, offset: Int, expected: String? = nil) {
        self.code = code
        self.offset = offset
        self.expected = expected
    }
}

extension ReceiptSpecificationError: CustomStringConvertible {
    public var description: String {
        let reason =
            switch code {
            case .malformedJSON: "the JSON is malformed"
            case .unknownKey: "no receipt has this key"
            case .repeatedKey: "a key that is repeated"
            case .unexpectedValue: "a value that this key cannot have" + (expected.map { " (it must be \($0))" } ?? "")
            }
        return "\(reason) at byte \(offset)"
    }
}

extension ReceiptSpecificationError {
    /// - Parameter expected: What the value must be.
    init(_ error: JSONError, expected: String? = nil) {
        code =
            switch error.kind {
            case .duplicateMember: .repeatedKey
            case .unexpectedType, .unexpectedValue, .numberOutOfRange, .missingMember: .unexpectedValue
            default: .malformedJSON
            }
        offset = error.offset
        self.expected = code == .unexpectedValue ? expected : nil
    }
}

extension JSONCursor {
    /// Reads a date as outputs show it, or a day.
    mutating func readRFC3339() throws(JSONError) -> Instant {
        let string = try readString()
        guard let date = Instant(specified: string.value) else {
            throw JSONError(.unexpectedValue, offset: string.offset)
        }
        return date
    }
}
