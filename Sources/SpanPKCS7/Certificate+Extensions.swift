package import SpanASN1

/// An extension of a certificate or of a revocation list.
///
/// `Extension ::= SEQUENCE { extnID OBJECT IDENTIFIER, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }` (RFC
/// 5280, 4.1)
package struct CertificateExtension: ~Escapable, ASN1Decodable {
    /// `extnID`, an OBJECT IDENTIFIER.
    package let id: ASN1Element
    /// A Boolean value that indicates whether software that does not know the extension must refuse the certificate.
    package let isCritical: Bool
    /// `extnValue`, an OCTET STRING whose content is DER.
    package let value: ASN1Element

    /// Reads the structure at the position of a cursor.
    @_lifetime(copy cursor)
    package init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        var fields = try cursor.read(.sequence).contents
        id = try fields.read(.objectIdentifier)
        isCritical = try fields.readIfPresent(.boolean)?.boolean() ?? false
        value = try fields.read(.octetString)
        try fields.finish()
    }
}

/// The uses of a key that a certificate allows.
///
/// `KeyUsage ::= BIT STRING` (RFC 5280, 4.2.1.3)
package struct KeyUsage: OptionSet, Sendable {
    /// Bit *n* of the BIT STRING is 1 << *n*.
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Signing data other than certificates and revocation lists.
    package static let digitalSignature = KeyUsage(rawValue: 1 << 0)
    /// Signing data to which the signer is committed; formerly `nonRepudiation`.
    package static let contentCommitment = KeyUsage(rawValue: 1 << 1)
    /// Encrypting keys.
    package static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
    /// Encrypting data directly.
    package static let dataEncipherment = KeyUsage(rawValue: 1 << 3)
    /// Key agreement.
    package static let keyAgreement = KeyUsage(rawValue: 1 << 4)
    /// Signing certificates.
    package static let keyCertSign = KeyUsage(rawValue: 1 << 5)
    /// Signing revocation lists.
    package static let crlSign = KeyUsage(rawValue: 1 << 6)
    /// With ``keyAgreement``, encrypting only.
    package static let encipherOnly = KeyUsage(rawValue: 1 << 7)
    /// With ``keyAgreement``, decrypting only.
    package static let decipherOnly = KeyUsage(rawValue: 1 << 8)
}

/// The basic constraints of a certificate: whether its subject may issue certificates.
///
/// `BasicConstraints ::= SEQUENCE { cA BOOLEAN DEFAULT FALSE, pathLenConstraint INTEGER (0..MAX) OPTIONAL }` (RFC 5280,
/// 4.2.1.9)
package struct BasicConstraints: Hashable, Sendable {
    /// A Boolean value that indicates whether the subject may issue certificates.
    package let isAuthority: Bool
    /// The maximum number of intermediates that may follow; `nil` for any number.
    package let pathLength: UInt64?
}

extension Certificate {
    /// The extensions, in the order received.
    ///
    /// An extension may be repeated, which ``certificateExtension(_:)`` refuses.
    package var extensions: ASN1Members<CertificateExtension> {
        @_lifetime(copy self)
        get { ASN1Members(of: extensionList) }
    }

    /// Returns the extension with an identifier; `nil` if the certificate does not have it.
    ///
    /// - Parameter id: The identifier of the extension.
    /// - Throws: `duplicate-element` if the certificate has two (RFC 5280, 4.2).
    @_lifetime(copy self)
    package func certificateExtension(
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

    /// Returns the identifier of the subject's key; `nil` if the certificate does not have it.
    ///
    /// `SubjectKeyIdentifier ::= OCTET STRING` (RFC 5280, 4.2.1.2)
    ///
    /// - Throws: The errors of ``certificateExtension(_:)``; an error of the syntax of its value.
    @_lifetime(copy self)
    package func subjectKeyIdentifier() throws(ASN1DecodingError) -> Span<UInt8>? {
        guard let found = try certificateExtension(.subjectKeyIdentifier) else { return nil }
        var content = found.value.contents
        let identifier = try content.read(.octetString)
        try content.finish()
        return identifier.content
    }

    /// Returns the `keyIdentifier` of `AuthorityKeyIdentifier` (RFC 5280, 4.2.1.1); `nil` if the certificate does not
    /// have it.
    ///
    /// - Throws: The errors of ``certificateExtension(_:)``; an error of the syntax of its value.
    @_lifetime(copy self)
    package func authorityKeyIdentifier() throws(ASN1DecodingError) -> Span<UInt8>? {
        guard let found = try certificateExtension(.authorityKeyIdentifier) else { return nil }
        var content = found.value.contents
        var fields = try content.read(.sequence).contents
        try content.finish()
        return try fields.readIfPresent(.context(0, constructed: false))?.content
    }

    /// Returns the basic constraints; `nil` if the certificate does not have them.
    ///
    /// - Throws: The errors of ``certificateExtension(_:)``; an error of the syntax of its value.
    package func basicConstraints() throws(ASN1DecodingError) -> BasicConstraints? {
        guard let found = try certificateExtension(.basicConstraints) else { return nil }
        return try found.value.decode { (content) throws(ASN1DecodingError) in
            try content.read(.sequence) { (fields) throws(ASN1DecodingError) in
                let isAuthority = try fields.readIfPresent(.boolean)?.boolean() ?? false
                let limit = try fields.readIfPresent(.integer)
                return BasicConstraints(isAuthority: isAuthority, pathLength: try limit?.integer(as: UInt64.self))
            }
        }
    }

    /// Returns the purposes of the extended key usage, each an OBJECT IDENTIFIER; `nil` if the certificate does not
    /// restrict them.
    ///
    /// `ExtKeyUsageSyntax ::= SEQUENCE SIZE (1..MAX) OF KeyPurposeId` (RFC 5280, 4.2.1.12)
    ///
    /// - Throws: The errors of ``certificateExtension(_:)``; `missing-element` for an empty list; an error of the
    ///   syntax of its value.
    @_lifetime(copy self)
    package func extendedKeyUsage() throws(ASN1DecodingError) -> ASN1Members<ASN1Element>? {
        guard let found = try certificateExtension(.extendedKeyUsage) else { return nil }
        var content = found.value.contents
        let list = try content.read(.sequence)
        try content.finish()
        guard list.contentCount > 0 else { throw list.error(.missingElement) }
        return ASN1Members(of: list)
    }

    /// Returns whether the extended key usage lists a purpose.
    ///
    /// A certificate without the extension lists none. `anyExtendedKeyUsage` does not stand for other purposes.
    ///
    /// - Parameter purpose: The purpose.
    /// - Throws: The errors of ``extendedKeyUsage()``.
    package func hasPurpose(_ purpose: ASN1ObjectIdentifier) throws(ASN1DecodingError) -> Bool {
        guard var purposes = try extendedKeyUsage() else { return false }
        while let stated = try purposes.next() {
            if try stated.isObjectIdentifier(purpose) { return true }
        }
        return false
    }

    /// Returns the key usages; `nil` if the certificate does not restrict them.
    ///
    /// - Throws: The errors of ``certificateExtension(_:)``; an error of the syntax of its value.
    package func keyUsage() throws(ASN1DecodingError) -> KeyUsage? {
        guard let found = try certificateExtension(.keyUsage) else { return nil }
        return try found.value.decode { (content) throws(ASN1DecodingError) in
            let bits = try content.read(.bitString).bitString()
            var usage: UInt16 = 0
            for index in 0..<min(9, bits.count) where bits[bit: index] { usage |= 1 << UInt16(index) }
            return KeyUsage(rawValue: usage)
        }
    }
}
