/// The reason a value could not be encoded.
package enum ASN1EncodingError: String, Error, Hashable, Sendable, CaseIterable {
    /// The BIT STRING has more than 7 unused bits, or unused bits without an octet.
    case invalidBitString = "invalid-bit-string"
    /// The year is outside 1950–2049 (UTCTime) or 0–9999, or a UTCTime has milliseconds.
    case invalidTime = "invalid-time"
}

extension ASN1EncodingError: CustomStringConvertible {
    /// A clause that says what is wrong.
    package var description: String {
        switch self {
        case .invalidBitString: "the BIT STRING has more unused bits than its bytes allow"
        case .invalidTime: "the date or time is outside the range of its type"
        }
    }
}
