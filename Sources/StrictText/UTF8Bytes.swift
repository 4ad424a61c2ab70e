import SpanASN1

/// The UTF-8 of a string, compared and hashed byte for byte.
///
/// Swift compares and hashes strings by canonical equivalence (Unicode Standard Annex #15). That takes quadratic time on long runs of combining
/// marks, which an attacker can send, and makes two identifiers equal that were signed as different bytes. Therefore the bytes of strings from outside are compared, hashed, sorted and used
/// as keys, and never the strings. `scripts/check/strings` finds code that breaks this rule.
public struct UTF8Bytes: Hashable, Comparable, Sendable {
    private let bytes: ArraySlice<UInt8>

    public init(_ string: String) { bytes = Array(string.utf8)[...] }

    /// - Parameter bytes: Valid UTF-8.
    public init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// The string, which is made on each access.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    public static func == (left: UTF8Bytes, right: UTF8Bytes) -> Bool {
        left.bytes.span.hasSameBytes(as: right.bytes.span)
    }

    /// The order of the bytes.
    public static func < (left: UTF8Bytes, right: UTF8Bytes) -> Bool {
        let (left, right) = (left.bytes.span, right.bytes.span)
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            return left[index] < right[index]
        }
        return left.count < right.count
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(bytes.span) }
}

extension String {
    /// Byte-for-byte equality.
    // Inlined in the last place of a function, Swift 6.3 compares a small string after it has freed the stack that has its bytes.
    @inline(never)
    public func hasSameBytes(as other: String) -> Bool { utf8Span.span.hasSameBytes(as: other.utf8Span.span) }
}
