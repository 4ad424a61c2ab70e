public import SpanASN1
import SpanPKCS7

extension CertificateSpecification {
    /// A certificate extension (RFC 5280, 4.1.2.9).
    public struct Extension: Hashable, Sendable {
        /// What goes into the extension's OCTET STRING.
        public enum Value: Hashable, Sendable {
            /// The content of the extension's OCTET STRING.
            case bytes([UInt8])
            /// `SubjectKeyIdentifier`: the identifier of the certificate's own key.
            case ownKeyIdentifier
            /// `AuthorityKeyIdentifier` with the identifier of the issuer's key.
            case issuerKeyIdentifier
        }

        /// `extnID`: which extension it is.
        public var identifier: ASN1ObjectIdentifier
        /// Whether `critical` is written as TRUE; else it is left out.
        public var isCritical: Bool
        /// `extnValue`.
        public var value: Value

        /// Any extension; the usual ones have names.
        public init(_ identifier: ASN1ObjectIdentifier, isCritical: Bool = false, _ value: Value) {
            self.identifier = identifier
            self.isCritical = isCritical
            self.value = value
        }
    }
}

extension CertificateSpecification.Extension {
    /// `BasicConstraints` (RFC 5280, 4.2.1.9), critical.
    public static func basicConstraints(isAuthority: Bool, pathLength: Int? = nil) -> Self {
        let value = ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                if isAuthority { writer.writeBoolean(true) }
                if let pathLength { writer.writeInteger(pathLength) }
            }
        }
        return Self(.basicConstraints, isCritical: true, .bytes(value))
    }

    /// `KeyUsage` (RFC 5280, 4.2.1.3), critical; no usages at all are written as an empty BIT STRING.
    public static func keyUsage(_ usages: CertificateSpecification.KeyUsage...) -> Self {
        var bits: UInt16 = 0
        for usage in usages { bits |= 0x8000 >> UInt16(usage.rawValue) }
        // X.690, 11.2.2: named bits are written without trailing zeros.
        let count = bits == 0 ? 0 : 16 - bits.trailingZeroBitCount
        let octets = [UInt8(bits >> 8), UInt8(bits & 0xFF)].prefix((count + 7) / 8)
        let value = [0x03, UInt8(octets.count + 1), UInt8(octets.count * 8 - count)] + octets
        return Self(.keyUsage, isCritical: true, .bytes(value))
    }

    /// `ExtendedKeyUsage` (RFC 5280, 4.2.1.12), critical as in Xcode's certificate.
    public static func extendedKeyUsage(
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
    public static let subjectKeyIdentifier = Self(.subjectKeyIdentifier, .ownKeyIdentifier)
    /// `AuthorityKeyIdentifier` (RFC 5280, 4.2.1.1).
    public static let authorityKeyIdentifier = Self(.authorityKeyIdentifier, .issuerKeyIdentifier)

    /// The marker of a certificate that signs receipts, `1.2.840.113635.100.6.11.1`.
    public static let receiptSigningMarker = Self(.receiptSigningMarker, .bytes(AlgorithmName.null))
    /// The marker of the intermediate above it, `1.2.840.113635.100.6.2.1`.
    public static let worldwideDeveloperRelationsMarker = Self(
        .worldwideDeveloperRelationsMarker, .bytes(AlgorithmName.null))
}

extension CertificateSpecification {
    /// What a key may be used for; the raw value is the bit in `KeyUsage` (RFC 5280, 4.2.1.3).
    public enum KeyUsage: Int, Hashable, Sendable, CaseIterable {
        /// To sign data, receipts among it.
        case digitalSignature
        /// To sign what the signer is to stand by.
        case nonRepudiation
        /// To encrypt keys.
        case keyEncipherment
        /// To encrypt data directly.
        case dataEncipherment
        /// To agree on keys.
        case keyAgreement
        /// To sign certificates.
        case keyCertSign
        /// To sign revocation lists.
        case cRLSign
        /// With ``keyAgreement``: to encrypt only.
        case encipherOnly
        /// With ``keyAgreement``: to decrypt only.
        case decipherOnly
    }
}

extension ASN1ObjectIdentifier {
    /// Apple's marker of certificates that sign receipts.
    public static let receiptSigningMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01])
    /// Apple's marker of Worldwide Developer Relations intermediates.
    public static let worldwideDeveloperRelationsMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x02, 0x01])
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
