/// Bytes or text in which evidence is received: `[UInt8]`, `String`, slices of them and, with the module `AppStoreReceiptFoundation`, `Data`.
public protocol EvidenceSource {
    /// The bytes; of a text, its UTF-8.
    var evidenceBytes: Span<UInt8> { @_lifetime(borrow self) get }
    /// The bytes as an array, which a verified receipt keeps.
    var evidenceArray: [UInt8] { get }
}

extension EvidenceSource {
    /// A copy of the bytes.
    public var evidenceArray: [UInt8] { [UInt8](copying: evidenceBytes) }
}

extension [UInt8]: EvidenceSource {
    /// The elements.
    public var evidenceBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { span }
    }
    /// The array itself, which is not copied.
    public var evidenceArray: [UInt8] { self }
}

extension String: EvidenceSource {
    /// The UTF-8 of the string.
    public var evidenceBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { utf8Span.span }
    }
}

extension ArraySlice<UInt8>: EvidenceSource {
    /// The elements.
    public var evidenceBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { span }
    }
}

extension Substring: EvidenceSource {
    /// The UTF-8 of the string.
    public var evidenceBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { utf8Span.span }
    }
}
