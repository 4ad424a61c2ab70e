public import SpanASN1

/// `Extension ::= SEQUENCE { extnID OBJECT IDENTIFIER, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }` (RFC 5280, 4.1)
public struct CertificateExtension: ~Escapable {
    /// `extnID`, an OBJECT IDENTIFIER.
    public let id: ASN1Element
    public let isCritical: Bool
    /// `extnValue`, an OCTET STRING whose content is DER.
    public let value: ASN1Element

    @_lifetime(copy cursor)
    init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        var fields = try cursor.read(.sequence).contents
        id = try fields.read(.objectIdentifier)
        isCritical = try fields.readIfPresent(.boolean)?.boolean() ?? false
        value = try fields.read(.octetString)
        try fields.finish()
    }
}

public struct CertificateExtensionIterator: ~Escapable {
    var cursor: ASN1Cursor

    @_lifetime(copy cursor)
    init(cursor: ASN1Cursor) { self.cursor = cursor }

    @_lifetime(copy self)
    public mutating func next() throws(ASN1DecodingError) -> CertificateExtension? {
        cursor.isAtEnd ? nil : try CertificateExtension(&cursor)
    }
}

/// `KeyUsage ::= BIT STRING` (RFC 5280, 4.2.1.3)
public struct KeyUsage: OptionSet, Sendable {
    /// Bit *n* of the BIT STRING is 1 << *n*.
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let digitalSignature = KeyUsage(rawValue: 1 << 0)
    public static let contentCommitment = KeyUsage(rawValue: 1 << 1)
    public static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
    public static let dataEncipherment = KeyUsage(rawValue: 1 << 3)
    public static let keyAgreement = KeyUsage(rawValue: 1 << 4)
    public static let keyCertSign = KeyUsage(rawValue: 1 << 5)
    public static let cRLSign = KeyUsage(rawValue: 1 << 6)
    public static let encipherOnly = KeyUsage(rawValue: 1 << 7)
    public static let decipherOnly = KeyUsage(rawValue: 1 << 8)
}

extension Certificate {
    public var extensions: CertificateExtensionIterator {
        @_lifetime(copy self)
        get {
            guard let extensionList else { return CertificateExtensionIterator(cursor: ASN1Cursor(Span())) }
            return CertificateExtensionIterator(cursor: extensionList.contents)
        }
    }

    /// The extension with this identifier, if the certificate has it.
    ///
    /// - Throws: `duplicate-element` when it has two (RFC 5280, 4.2).
    @_lifetime(copy self)
    public func certificateExtension(
        _ id: ASN1ObjectIdentifier
    ) throws(ASN1DecodingError) -> CertificateExtension? {
        var found: CertificateExtension?
        var extensions = self.extensions
        while let next = try extensions.next() {
            guard try next.id.isObjectIdentifier(id) else { continue }
            guard found == nil else { throw next.id.error(.duplicateElement).within(.extensions) }
            found = next
        }
        return found
    }

    /// `SubjectKeyIdentifier ::= OCTET STRING` (RFC 5280, 4.2.1.2)
    @_lifetime(copy self)
    public func subjectKeyIdentifier() throws(ASN1DecodingError) -> Span<UInt8>? {
        guard let found = try certificateExtension(.subjectKeyIdentifier) else { return nil }
        var content = found.value.contents
        let identifier = try content.read(.octetString)
        try content.finish()
        return identifier.content
    }

    /// The `keyIdentifier` of `AuthorityKeyIdentifier` (RFC 5280, 4.2.1.1), where there is one.
    @_lifetime(copy self)
    public func authorityKeyIdentifier() throws(ASN1DecodingError) -> Span<UInt8>? {
        guard let found = try certificateExtension(.authorityKeyIdentifier) else { return nil }
        var content = found.value.contents
        var fields = try content.read(.sequence).contents
        try content.finish()
        return try fields.readIfPresent(.context(0, constructed: false))?.content
    }

    /// The key usages; `nil` when the certificate does not restrict them.
    public func keyUsage() throws(ASN1DecodingError) -> KeyUsage? {
        guard let found = try certificateExtension(.keyUsage) else { return nil }
        return try found.value.decode { (content) throws(ASN1DecodingError) in
            let bits = try content.read(.bitString).bitString()
            var usage: UInt16 = 0
            for index in 0..<min(9, bits.count) where bits[bit: index] { usage |= 1 << UInt16(index) }
            return KeyUsage(rawValue: usage)
        }
    }
}
