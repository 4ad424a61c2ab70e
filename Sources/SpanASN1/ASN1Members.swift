/// A structure that can be read at the position of a cursor.
@usableFromInline
package protocol ASN1Decodable: ~Escapable {
    /// Reads the structure and moves the cursor past it.
    @_lifetime(copy cursor)
    init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError)
}

extension ASN1Element: ASN1Decodable {
    /// Reads the next element, with any tag.
    @inlinable
    @_lifetime(copy cursor)
    package init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) { self = try cursor.read() }
}

/// An iterator over the members of a SET OF or SEQUENCE OF: `while let member = try members.next() { … }`.
///
/// It is not a `Sequence`, because the members are views that must not outlive the bytes.
@usableFromInline
package struct ASN1Members<Member: ASN1Decodable & ~Escapable>: ~Escapable {
    @usableFromInline var cursor: ASN1Cursor

    /// Creates an iterator over the content of an element; without an element, there are no members.
    @inlinable
    @_lifetime(copy element)
    package init(of element: ASN1Element?) {
        if let element { cursor = element.contents } else { cursor = ASN1Cursor(Span()) }
    }

    /// Returns the next member; `nil` after the last.
    @inlinable
    @_lifetime(copy self)
    package mutating func next() throws(ASN1DecodingError) -> Member? {
        cursor.isAtEnd ? nil : try Member(&cursor)
    }
}
