/// Why a value has no encoding.
@frozen
public enum ASN1EncodingError: String, Error, Hashable, Sendable, CaseIterable {
    /// A character that the string type does not allow.
    case invalidString = "invalid-string"
    /// More than 7 unused bits, or unused bits of no octet.
    case invalidBitString = "invalid-bit-string"
    /// A year outside 1950–2049 (UTCTime) or 0–9999, or milliseconds in a UTCTime.
    case invalidTime = "invalid-time"
}

extension ASN1EncodingError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalidString: "a string with characters that its type does not allow"
        case .invalidBitString: "a BIT STRING with more unused bits than it can have"
        case .invalidTime: "a date or time that its type cannot express"
        }
    }
}
