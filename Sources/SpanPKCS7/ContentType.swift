package import SpanASN1

/// The types of messages, and of the content of signed messages, that RFCs and vendors of signing tools define.
///
/// This module reads the structure of ``SignedData`` only. It recognizes the other types by name, and leaves their
/// content undecoded (``ContentInfo/content``). The raw values are the names in the documents.
package enum ContentType: String, Sendable, CaseIterable {
    // RFC 2315, 14 and RFC 5652
    /// Arbitrary bytes (RFC 5652, 4). The content of a receipt has this type.
    case data
    /// Signed by any number of signers (RFC 5652, 5).
    case signedData
    /// Encrypted to recipients (RFC 5652, 6).
    case envelopedData
    /// Signed and encrypted, in PKCS#7 only (RFC 2315, 11).
    case signedAndEnvelopedData
    /// Content and its digest (RFC 5652, 7).
    case digestedData
    /// Encrypted with a key known from elsewhere (RFC 5652, 8).
    case encryptedData
    // RFC 5652, 9; RFC 5083; RFC 3274; RFC 4073
    /// Content and a message authentication code (RFC 5652, 9).
    case authenticatedData = "authData"
    /// Encrypted and authenticated at once (RFC 5083).
    case authEnvelopedData
    /// Compressed content (RFC 3274).
    case compressedData
    /// Several contents (RFC 4073, 2).
    case contentCollection
    /// A content with attributes (RFC 4073, 3).
    case contentWithAttributes = "contentWithAttrs"
    // RFC 2634, 2.7; RFC 3161, 2.4.2; RFC 4108, 2.1.1
    /// The acknowledgement of a signed mail (RFC 2634, 2.7). An App Store receipt has the type ``signedData`` instead.
    case receipt
    /// The content of a timestamp (RFC 3161, 2.4.2).
    case timestampInfo = "TSTInfo"
    /// Firmware (RFC 4108, 2.1.1).
    case firmwarePackage
    // RFC 5914, 3; RFC 9582, 3; RFC 9286, 4.1
    /// A list of trust anchors (RFC 5914, 3).
    case trustAnchorList
    /// The authorization to announce a route (RFC 9582, 3).
    case routeOriginAttestation = "routeOriginAuthz"
    /// The list of the objects at a publication point of the RPKI (RFC 9286, 4.1).
    case rpkiManifest
    // Authenticode and certificate trust lists
    /// The content of an Authenticode signature.
    case spcIndirectData = "SPC_INDIRECT_DATA"
    /// Microsoft's certificate trust list.
    case certificateTrustList = "szOID_CTL"

    /// Creates the type of an identifier; returns `nil` for an unknown identifier.
    package init?(_ identifier: ASN1ObjectIdentifier) {
        guard let known = Self.allCases.first(where: { $0.objectIdentifier == identifier }) else { return nil }
        self = known
    }

    /// Creates the type of an OBJECT IDENTIFIER; returns `nil` for an unknown or malformed identifier, or another
    /// element.
    package init?(_ element: ASN1Element) {
        guard let known = Self.allCases.first(where: { element.matches($0.objectIdentifier) }) else { return nil }
        self = known
    }

    /// The identifier of the type.
    package var objectIdentifier: ASN1ObjectIdentifier {
        switch self {
        case .data: .data
        case .signedData: .signedData
        case .envelopedData: Self.pkcs7(3)
        case .signedAndEnvelopedData: Self.pkcs7(4)
        case .digestedData: Self.pkcs7(5)
        case .encryptedData: Self.pkcs7(6)
        case .receipt: Self.smime(1)
        case .authenticatedData: Self.smime(2)
        case .timestampInfo: Self.smime(4)
        case .compressedData: Self.smime(9)
        case .firmwarePackage: Self.smime(16)
        case .contentCollection: Self.smime(19)
        case .contentWithAttributes: Self.smime(20)
        case .authEnvelopedData: Self.smime(23)
        case .routeOriginAttestation: Self.smime(24)
        case .rpkiManifest: Self.smime(26)
        case .trustAnchorList: Self.smime(34)
        // 1.3.6.1.4.1.311.2.1.4 and 1.3.6.1.4.1.311.10.1
        case .spcIndirectData:
            ASN1ObjectIdentifier(content: [0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x01, 0x04])
        case .certificateTrustList:
            ASN1ObjectIdentifier(content: [0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x0A, 0x01])
        }
    }

    /// 1.2.840.113549.1.7
    private static func pkcs7(_ arc: UInt8) -> ASN1ObjectIdentifier {
        ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, arc])
    }

    /// 1.2.840.113549.1.9.16.1
    private static func smime(_ arc: UInt8) -> ASN1ObjectIdentifier {
        ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x01, arc])
    }
}

extension ContentInfo {
    /// The type of the content; `nil` if it is not known.
    package var type: ContentType? { ContentType(contentType) }
}
