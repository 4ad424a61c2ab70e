// OPTIONAL, DEFAULT, explicit tags and SET OF.
extension ASN1Cursor {
    /// Reads an OPTIONAL structure: as ``read(_:_:)``, or `nil`, and nothing read, when the next element has another tag or there is none.
    ///
    /// - Throws: as ``read(_:_:)``, but neither `missing-element` nor `unexpected-tag`.
    @inlinable
    public mutating func readIfPresent<Result>(
        _ tag: ASN1Tag, _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result? {
        guard peekTag() == tag else { return nil }
        return try read().decode(body)
    }

    /// Reads an element with a DEFAULT.
    ///
    /// - Throws: what `body` throws; `unexpected-value` when the default value is encoded (X.690, 11.5), unless
    ///   ``ASN1Relaxations/encodedDefaults`` allows it.
    public mutating func read<Value: Equatable>(
        _ tag: ASN1Tag, default value: Value, _ body: (ASN1Element) throws(ASN1DecodingError) -> Value
    ) throws(ASN1DecodingError) -> Value {
        guard peekTag() == tag else { return value }
        let element = try read()
        let result = try body(element)
        guard result != value || relaxations.contains(.encodedDefaults) else { throw element.error(.unexpectedValue) }
        return result
    }

    /// Reads the one element inside an explicit tag `[number]`.
    ///
    /// - Throws: `unexpected-tag`; `missing-element`; `trailing-data` when there is more than one in it.
    @_lifetime(copy self)
    public mutating func readExplicit(_ number: UInt32) throws(ASN1DecodingError) -> ASN1Element {
        var contents = try read(.context(number)).contents
        let element = try contents.read()
        try contents.finish()
        return element
    }

    /// Reads the one element inside an OPTIONAL explicit tag `[number]`; `nil`, and nothing read, where it is absent.
    ///
    /// - Throws: `missing-element` and `trailing-data` when there is not exactly one in it.
    @_lifetime(copy self)
    public mutating func readExplicitIfPresent(_ number: UInt32) throws(ASN1DecodingError) -> ASN1Element? {
        guard peekTag() == .context(number) else { return nil }
        return try readExplicit(number)
    }

    /// Reads what is inside an explicit tag `[number]`; `body` must read all of it.
    ///
    /// - Throws: as ``read(_:_:)``.
    @inlinable
    public mutating func readExplicit<Result>(
        _ number: UInt32, _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        try read(.context(number), body)
    }

    /// Reads a SET OF (or one under another constructed tag), giving each element to `body`.
    ///
    /// - Parameters:
    ///   - tag: the tag of the set.
    ///   - isSorted: whether to demand DER's order: ascending by encoding, equal ones allowed (X.690, 11.6).
    ///   - body: reads one element; what it does not read of it is not missed.
    /// - Throws: what `body` throws; `unsorted-set` at the first element that is less than the one before it.
    public mutating func readSet(
        _ tag: ASN1Tag = .set, isSorted: Bool = false, _ body: (ASN1Element) throws(ASN1DecodingError) -> Void
    ) throws(ASN1DecodingError) {
        var contents = try read(tag).contents
        var previous = contents.position..<contents.position
        while !contents.isAtEnd {
            let element = try contents.read()
            if isSorted, !Self.isAscending(bytes, previous, element.start..<element.end) {
                throw element.error(.unsortedSet)
            }
            previous = element.start..<element.end
            try body(element)
        }
    }

    /// Whether the first encoding is not greater than the second. X.690's padding with zeros never decides: no encoding is another's prefix.
    static func isAscending(_ bytes: Span<UInt8>, _ first: Range<Int>, _ second: Range<Int>) -> Bool {
        for (left, right) in zip(first, second) where bytes[left] != bytes[right] { return bytes[left] < bytes[right] }
        return first.count <= second.count
    }
}
