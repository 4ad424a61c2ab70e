import StrictText

/// Bytes or text in which evidence is received: `[UInt8]`, `String`, slices of them and, with the module
/// `AppStoreReceiptFoundation`, `Data`.
public protocol EvidenceSource {
    /// Calls `body` with the bytes; of a text, with its UTF-8.
    func _withEvidenceBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result
}

extension EvidenceSource {
    /// The bytes as an array, which a verified receipt keeps. An array is not copied.
    var evidenceArray: [UInt8] { self as? [UInt8] ?? _withEvidenceBytes { [UInt8](copying: $0) } }
}

extension [UInt8]: EvidenceSource {
    /// Calls `body` with the elements.
    public func _withEvidenceBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result { try body(span) }
}

extension String: EvidenceSource {
    /// Calls `body` with the UTF-8 of the string.
    public func _withEvidenceBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result { try withUTF8Bytes(body) }
}

extension ArraySlice<UInt8>: EvidenceSource {
    /// Calls `body` with the elements.
    public func _withEvidenceBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result { try body(span) }
}

extension Substring: EvidenceSource {
    /// Calls `body` with the UTF-8 of the string.
    public func _withEvidenceBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result { try withUTF8Bytes(body) }
}
