import StrictText

/// A value that Apple writes as a string, and to which Apple may add values.
///
/// Each conforming type has constants for the values known today, and keeps any other value. Two values are equal if
/// their bytes are equal. (Swift's strings are equal if they are canonically equivalent, and an attacker can choose
/// strings whose comparison takes time in the square of their length.)
package protocol OpenStringValue: RawRepresentable, Codable, Hashable, Sendable where RawValue == String {
    /// Creates the value of a string, known or not.
    init(rawValue: String)
}

extension OpenStringValue {
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.rawValue.hasSameBytes(as: rhs.rawValue) }

    public func hash(into hasher: inout Hasher) { hasher.combine(UTF8Bytes(rawValue)) }
}
