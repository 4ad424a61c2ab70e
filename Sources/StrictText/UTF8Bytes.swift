import SpanASN1

/// The UTF-8 of a string, compared and hashed byte for byte.
///
/// Swift compares and hashes strings by canonical equivalence (Unicode Standard Annex #15). That takes quadratic time
/// on long runs of combining marks, which an attacker can send, and makes two identifiers equal that were signed as
/// different bytes. Therefore the bytes of strings from outside are compared, hashed, sorted and used as keys, and
/// never the strings. `scripts/check/strings` finds code that breaks this rule.
public struct UTF8Bytes: Hashable, Comparable, Sendable {
    private let bytes: ArraySlice<UInt8>

    public init(_ string: String) { bytes = Array(string.utf8)[...] }

    /// - Parameter bytes: Valid UTF-8.
    public init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// The string, which is made on each access.
    public var string: String { String(utf8: bytes.span) }

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
    /// Creates a string from UTF-8.
    ///
    /// It does what `String(decoding:as:)` does, which takes twice the time for an array's slice of up to 15 bytes.
    @inlinable
    public init(utf8: Span<UInt8>) {
        self = unsafe String(unsafeUninitializedCapacity: utf8.count) { text in
            unsafe utf8.withUnsafeBufferPointer { _ = unsafe text.initialize(fromContentsOf: $0) }
            return utf8.count
        }
    }

    /// Calls `body` with the UTF-8.
    ///
    /// Use it instead of `utf8Span`. A string of up to 15 bytes has no address, so `utf8Span` refers to a copy in the
    /// caller's frame. If the caller passes the span to its last call, optimized swiftc 6.3.1 makes that a tail call:
    /// the frame is gone, and the callee reads stale stack memory. `scripts/check/rules` finds `utf8Span`.
    @inlinable
    public func withUTF8Bytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = self
        return try copy.withUTF8 { bytes in
            Swift.Result { () throws(Failure) in try body(unsafe Span(_unsafeElements: bytes)) }
        }.get()
    }

    /// Byte-for-byte equality.
    public func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}

extension Substring {
    /// Calls `body` with the UTF-8, not copied: see `String.withUTF8Bytes(_:)`.
    @inlinable
    public func withUTF8Bytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = self
        return try copy.withUTF8 { bytes in
            Swift.Result { () throws(Failure) in try body(unsafe Span(_unsafeElements: bytes)) }
        }.get()
    }
}

extension Span<UInt8> {
    /// Byte-for-byte equality with the UTF-8 of a string.
    public func hasSameBytes(as string: String) -> Bool {
        guard count == string.utf8.count else { return false }
        var index = 0
        for byte in string.utf8 {
            guard self[index] == byte else { return false }
            index += 1
        }
        return true
    }
}
