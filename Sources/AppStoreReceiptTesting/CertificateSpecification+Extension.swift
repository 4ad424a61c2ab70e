package import SpanASN1
package import SpanPKCS7

extension CertificateSpecification {
    /// A certificate extension (RFC 5280, 4.1.2.9).
    package struct Extension: Hashable, Sendable {
        /// The content of an extension's OCTET STRING.
        package enum Value: Hashable, Sendable {
            /// Any bytes.
            case bytes([UInt8])
            /// `SubjectKeyIdentifier`: the identifier of the certificate's own key.
            case ownKeyIdentifier
            /// `AuthorityKeyIdentifier` with the identifier of the issuer's key.
            case issuerKeyIdentifier
        }

        /// The identifier of the extension (`extnID`).
        package var identifier: ASN1ObjectIdentifier
        /// Whether `critical` is written as TRUE; otherwise it is omitted.
        package var isCritical: Bool
        /// The value of the extension (`extnValue`).
        package var value: Value

        /// Creates any extension. The common extensions have static members.
        package init(_ identifier: ASN1ObjectIdentifier, isCritical: Bool = false, _ value: Value) {
            self.identifier = identifier
            self.isCritical = isCritical
            self.value = value
        }
    }
}

extension CertificateSpecification.Extension {
    /// Returns a critical `BasicConstraints` extension (RFC 5280, 4.2.1.9).
    package static func basicConstraints(isAuthority: Bool, pathLength: Int? = nil) -> Self {
        let value = ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                if isAuthority { writer.writeBoolean(true) }
                if let pathLength { writer.writeInteger(pathLength) }
            }
        }
        return Self(.basicConstraints, isCritical: true, .bytes(value))
    }

    /// Returns a critical `KeyUsage` extension (RFC 5280, 4.2.1.3). Without usages, its BIT STRING is empty.
    package static func keyUsage(_ usages: KeyUsage...) -> Self {
        let usage = usages.reduce(into: KeyUsage()) { $0.formUnion($1) }
        var bits: UInt16 = 0
        for index in 0..<16 where usage.rawValue >> index & 1 == 1 { bits |= 0x8000 >> index }
        // X.690, 11.2.2: named bits are written without trailing zeros.
        let count = bits == 0 ? 0 : 16 - bits.trailingZeroBitCount
        let octets = [UInt8(bits >> 8), UInt8(bits & 0xFF)].prefix((count + 7) / 8)
        let value = [0x03, UInt8(octets.count + 1), UInt8(octets.count * 8 - count)] + octets
        return Self(.keyUsage, isCritical: true, .bytes(value))
    }

    /// Returns an `ExtendedKeyUsage` extension (RFC 5280, 4.2.1.12), by default critical as in Xcode's certificate.
    package static func extendedKeyUsage(
        _ purposes: ASN1ObjectIdentifier..., isCritical: Bool = true
    ) -> Self {
        let value = ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                for purpose in purposes { writer.writeObjectIdentifier(purpose) }
            }
        }
        return Self(.extendedKeyUsage, isCritical: isCritical, .bytes(value))
    }

    /// `SubjectKeyIdentifier` (RFC 5280, 4.2.1.2).
    package static let subjectKeyIdentifier = Self(.subjectKeyIdentifier, .ownKeyIdentifier)
    /// `AuthorityKeyIdentifier` (RFC 5280, 4.2.1.1).
    package static let authorityKeyIdentifier = Self(.authorityKeyIdentifier, .issuerKeyIdentifier)

    /// The marker of a certificate that signs receipts, `1.2.840.113635.100.6.11.1`.
    package static let receiptSigningMarker = Self(.receiptSigningMarker, .bytes(AlgorithmName.null))
    /// The marker of the intermediate above it, `1.2.840.113635.100.6.2.1`.
    package static let worldwideDeveloperRelationsMarker = Self(
        .worldwideDeveloperRelationsMarker, .bytes(AlgorithmName.null))
    /// The marker of a certificate that signs transaction receipts of version 2, `1.2.840.113635.100.6.5.1`.
    package static let purchaseReceiptMarker = Self(.purchaseReceiptMarker, .bytes(AlgorithmName.null))
    /// The marker of the intermediate above it, `1.2.840.113635.100.6.2.2`.
    package static let iTunesStoreMarker = Self(.iTunesStoreMarker, .bytes(AlgorithmName.null))
}

extension ASN1ObjectIdentifier {
    /// Apple's marker extension for certificates that sign receipts.
    package static let receiptSigningMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01])
    /// Apple's marker extension for Worldwide Developer Relations intermediates.
    package static let worldwideDeveloperRelationsMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x02, 0x01])
    /// Apple's marker extension for certificates that sign transaction receipts of version 2.
    package static let purchaseReceiptMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x05, 0x01])
    /// Apple's marker extension for the iTunes Store intermediate.
    package static let iTunesStoreMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x02, 0x02])
    /// `id-kp-codeSigning` (RFC 5280, 4.2.1.12).
    static let codeSigning = ASN1ObjectIdentifier(content: [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03])
}

extension CertificateSpecification.Extension {
    func encoded(own: SigningKey, issuer: SigningKey) throws(MintingError) -> [UInt8] {
        let value = try encodedValue(own: own, issuer: issuer)
        return ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.writeObjectIdentifier(identifier)
                if isCritical { writer.writeBoolean(true) }
                writer.writeOctetString(value.span)
            }
        }
    }

    private func encodedValue(own: SigningKey, issuer: SigningKey) throws(MintingError) -> [UInt8] {
        switch value {
        case .bytes(let bytes): return bytes
        case .ownKeyIdentifier:
            let identifier = try own.keyIdentifier()
            return ASN1Writer.encode { $0.writeOctetString(identifier.span) }
        case .issuerKeyIdentifier:
            let identifier = try issuer.keyIdentifier()
            return ASN1Writer.encode { writer in
                writer.write(.sequence) { writer in
                    writer.writeOctetString(identifier.span, tagged: .context(0, constructed: false))
                }
            }
        }
    }
}

extension ASN1Writer {
    /// - Parameters:
    ///   - own: The key of the certificate or, in a revocation list, that of the issuer.
    ///   - issuer: The key of the issuer.
    mutating func write(
        _ extensions: [CertificateSpecification.Extension], own: SigningKey, issuer: SigningKey
    ) throws(MintingError) {
        try write(.sequence) { (writer) throws(MintingError) in
            for certificateExtension in extensions {
                let encoded = try certificateExtension.encoded(own: own, issuer: issuer)
                writer.write(encoded: encoded.span)
            }
        }
    }
}
