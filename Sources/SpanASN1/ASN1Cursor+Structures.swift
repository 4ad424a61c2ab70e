// OPTIONAL, DEFAULT, explicit tags and SET OF.
extension ASN1Cursor {
    /// Reads an OPTIONAL structure with a closure that must read all of its content.
    ///
    /// - Parameters:
    ///   - tag: The tag of the structure, which is constructed.
    ///   - body: A closure that reads the content with a cursor.
    /// - Returns: The result of `body`; `nil` if the next element has another tag or there is none. Then nothing is
    ///   read.
    /// - Throws: The errors of ``read(_:_:)``, except `missing-element` and `unexpected-tag`.
    @inlinable
    package mutating func readIfPresent<Result>(
        _ tag: ASN1Tag, _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result? {
        guard peekTag() == tag else { return nil }
        return try read().decode(body)
    }

    /// Reads an element with a DEFAULT.
    ///
    /// - Parameters:
    ///   - tag: The tag of the element.
    ///   - value: The default value, which is returned if the next element has another tag or there is none.
    ///   - body: A closure that reads the value of the element.
    /// - Returns: The value of the element, or the default value.
    /// - Throws: The error that `body` throws; `unexpected-value` if the default value is encoded (X.690, 11.5), unless
    ///   ``ASN1Relaxations/encodedDefaults`` allows it.
    package mutating func read<Value: Equatable>(
        _ tag: ASN1Tag, default value: Value, _ body: (ASN1Element) throws(ASN1DecodingError) -> Value
    ) throws(ASN1DecodingError) -> Value {
        guard peekTag() == tag else { return value }
        let element = try read()
        let result = try body(element)
        guard result != value || relaxations.contains(.encodedDefaults) else { throw element.error(.unexpectedValue) }
        return result
    }

    /// Reads the single element inside an explicit tag `[number]`.
    ///
    /// - Parameter number: The number of the explicit tag.
    /// - Returns: The element.
    /// - Throws: `unexpected-tag`; `missing-element`; `trailing-data` if the tag contains more than one element.
    @_lifetime(copy self)
    package mutating func readExplicit(_ number: UInt32) throws(ASN1DecodingError) -> ASN1Element {
        var contents = try read(.context(number)).contents
        let element = try contents.read()
        try contents.finish()
        return element
    }

    /// Reads the single element inside an OPTIONAL explicit tag `[number]`.
    ///
    /// - Parameter number: The number of the explicit tag.
    /// - Returns: The element; `nil` if the next element has another tag or there is none. Then nothing is read.
    /// - Throws: `missing-element` or `trailing-data` if the tag does not contain exactly one element.
    @_lifetime(copy self)
    package mutating func readExplicitIfPresent(_ number: UInt32) throws(ASN1DecodingError) -> ASN1Element? {
        guard peekTag() == .context(number) else { return nil }
        return try readExplicit(number)
    }

    /// Reads the content of an explicit tag `[number]` with a closure that must read all of it.
    ///
    /// - Parameters:
    ///   - number: The number of the explicit tag.
    ///   - body: A closure that reads the content with a cursor.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of ``read(_:_:)``.
    @inlinable
    package mutating func readExplicit<Result>(
        _ number: UInt32, _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        try read(.context(number), body)
    }

    /// Reads the elements of a SET OF, or of another constructed type.
    ///
    /// - Parameters:
    ///   - tag: The tag of the set.
    ///   - isSorted: Whether to require the order of DER: ascending by encoding, with equal elements allowed (X.690,
    ///     11.6).
    ///   - body: A closure that is called with each element. It does not have to read the content of the element.
    /// - Throws: The error that `body` throws; `unsorted-set` at the first element that is less than the element before
    ///   it.
    package mutating func readSet(
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

    /// Returns whether the first encoding is not greater than the second.
    ///
    /// X.690 pads the shorter encoding with zeros. The padding never decides, because no encoding is a prefix of
    /// another.
    static func isAscending(_ bytes: Span<UInt8>, _ first: Range<Int>, _ second: Range<Int>) -> Bool {
        for (left, right) in zip(first, second) where bytes[left] != bytes[right] { return bytes[left] < bytes[right] }
        return first.count <= second.count
    }
}
