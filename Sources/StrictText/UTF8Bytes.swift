import SpanASN1

/// The UTF-8 of a string, compared and hashed byte for byte.
///
/// Swift compares and hashes strings by canonical equivalence (Unicode Standard Annex #15). That takes quadratic time on long runs of combining
/// marks, which a stranger can send, and calls two identifiers equal that were signed as different bytes. So a string from outside is never
/// compared, hashed, sorted or used as a key: its bytes are. `scripts/check-strings` finds the code that breaks this rule.
package struct UTF8Bytes: Hashable, Sendable {
    private let bytes: ArraySlice<UInt8>

    package init(_ string: String) { bytes = Array(string.utf8)[...] }

    /// - Parameter bytes: valid UTF-8.
    package init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// The string, made anew each time.
    package var string: String { String(decoding: bytes, as: UTF8.self) }
}

extension String {
    /// Byte-for-byte equality.
    package func hasSameBytes(as other: String) -> Bool { utf8Span.span.hasSameBytes(as: other.utf8Span.span) }
}
