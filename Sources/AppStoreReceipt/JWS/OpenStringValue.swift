import StrictText

/// A value that Apple writes as a string, of which new ones may come: each type names those known today, and keeps any other.
///
/// Two are equal when their bytes are. (Swift's strings are equal when they are canonically equivalent, and comparing those that somebody has made
/// to be slow takes time in the square of their length: compare identifiers by their `utf8`.)
public protocol OpenStringValue: RawRepresentable, Hashable, Sendable where RawValue == String {
    /// The value of a string, known or not.
    init(rawValue: String)
}

extension OpenStringValue {
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.rawValue.hasSameBytes(as: rhs.rawValue) }

    public func hash(into hasher: inout Hasher) { hasher.combine(UTF8Bytes(rawValue)) }
}
