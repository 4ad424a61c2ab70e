public import SpanASN1

/// `Extension ::= SEQUENCE { extnID OBJECT IDENTIFIER, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }` (RFC 5280, 4.1)
public struct CertificateExtension: ~Escapable {
    /// `extnID`, an OBJECT IDENTIFIER.
    public let id: ASN1Element
    /// Whether whoever does not understand the extension must refuse the certificate.
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

/// Extensions one after the other: `while let next = try extensions.next() { … }`.
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

    /// To sign data that is neither a certificate nor a revocation list.
    public static let digitalSignature = KeyUsage(rawValue: 1 << 0)
    /// To sign data that the signer is to stand by; formerly `nonRepudiation`.
    public static let contentCommitment = KeyUsage(rawValue: 1 << 1)
    /// To encrypt keys.
    public static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
    /// To encrypt data directly.
    public static let dataEncipherment = KeyUsage(rawValue: 1 << 3)
    /// To agree on keys.
    public static let keyAgreement = KeyUsage(rawValue: 1 << 4)
    /// To sign certificates.
    public static let keyCertSign = KeyUsage(rawValue: 1 << 5)
    /// To sign revocation lists.
    public static let cRLSign = KeyUsage(rawValue: 1 << 6)
    /// With ``keyAgreement``: to encrypt only.
    public static let encipherOnly = KeyUsage(rawValue: 1 << 7)
    /// With ``keyAgreement``: to decrypt only.
    public static let decipherOnly = KeyUsage(rawValue: 1 << 8)
}

/// `BasicConstraints ::= SEQUENCE { cA BOOLEAN DEFAULT FALSE, pathLenConstraint INTEGER (0..MAX) OPTIONAL }` (RFC 5280, 4.2.1.9)
public struct BasicConstraints: Hashable, Sendable {
    /// Whether the subject may issue certificates.
    public let isAuthority: Bool
    /// How many intermediates may follow; `nil` for any number.
    public let pathLength: UInt64?
}

/// Elements one after the other, each as it stands.
public struct ElementIterator: ~Escapable {
    var cursor: ASN1Cursor

    @_lifetime(copy cursor)
    init(cursor: ASN1Cursor) { self.cursor = cursor }

    @_lifetime(copy self)
    public mutating func next() throws(ASN1DecodingError) -> ASN1Element? {
        cursor.isAtEnd ? nil : try cursor.read()
    }
}

extension Certificate {
    /// The extensions, in the order received; none for a certificate without the field. One may be there twice, which
    /// ``certificateExtension(_:)`` refuses.
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
    ///
    /// - Throws: as ``certificateExtension(_:)``; errors of syntax in its value.
    @_lifetime(copy self)
    public func subjectKeyIdentifier() throws(ASN1DecodingError) -> Span<UInt8>? {
        guard let found = try certificateExtension(.subjectKeyIdentifier) else { return nil }
        var content = found.value.contents
        let identifier = try content.read(.octetString)
        try content.finish()
        return identifier.content
    }

    /// The `keyIdentifier` of `AuthorityKeyIdentifier` (RFC 5280, 4.2.1.1), where there is one.
    ///
    /// - Throws: as ``certificateExtension(_:)``; errors of syntax in its value.
    @_lifetime(copy self)
    public func authorityKeyIdentifier() throws(ASN1DecodingError) -> Span<UInt8>? {
        guard let found = try certificateExtension(.authorityKeyIdentifier) else { return nil }
        var content = found.value.contents
        var fields = try content.read(.sequence).contents
        try content.finish()
        return try fields.readIfPresent(.context(0, constructed: false))?.content
    }

    /// What the certificate says of issuing others; `nil` when it says nothing.
    ///
    /// - Throws: as ``certificateExtension(_:)``; errors of syntax in its value.
    public func basicConstraints() throws(ASN1DecodingError) -> BasicConstraints? {
        guard let found = try certificateExtension(.basicConstraints) else { return nil }
        return try found.value.decode { (content) throws(ASN1DecodingError) in
            try content.read(.sequence) { (fields) throws(ASN1DecodingError) in
                let isAuthority = try fields.readIfPresent(.boolean)?.boolean() ?? false
                let limit = try fields.readIfPresent(.integer)
                return BasicConstraints(isAuthority: isAuthority, pathLength: try limit?.integer(as: UInt64.self))
            }
        }
    }

    /// The purposes of the extended key usage, each an OBJECT IDENTIFIER; `nil` when the certificate does not restrict them.
    ///
    /// `ExtKeyUsageSyntax ::= SEQUENCE SIZE (1..MAX) OF KeyPurposeId` (RFC 5280, 4.2.1.12)
    ///
    /// - Throws: as ``certificateExtension(_:)``; `missing-element` for an empty list; errors of syntax in its value.
    @_lifetime(copy self)
    public func extendedKeyUsage() throws(ASN1DecodingError) -> ElementIterator? {
        guard let found = try certificateExtension(.extendedKeyUsage) else { return nil }
        var content = found.value.contents
        let list = try content.read(.sequence)
        try content.finish()
        guard list.contentCount > 0 else { throw list.error(.missingElement) }
        return ElementIterator(cursor: list.contents)
    }

    /// Whether the extended key usage lists a purpose. One that is absent lists none, and `anyExtendedKeyUsage` is a purpose of its own.
    ///
    /// - Throws: as ``extendedKeyUsage()``.
    public func states(purpose: ASN1ObjectIdentifier) throws(ASN1DecodingError) -> Bool {
        guard var purposes = try extendedKeyUsage() else { return false }
        while let stated = try purposes.next() {
            if try stated.isObjectIdentifier(purpose) { return true }
        }
        return false
    }

    /// The key usages; `nil` when the certificate does not restrict them.
    ///
    /// - Throws: as ``certificateExtension(_:)``; errors of syntax in its value.
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
