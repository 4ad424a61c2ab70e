import SignatureTrust
import SpanASN1

extension TransactionReceipt {
    /// The versions of the signature of a transaction receipt.
    ///
    /// Each has one digest algorithm, one size of keys, and one kind of certificates and of issuers. A receipt chooses
    /// none of them.
    @nonexhaustive
    public enum Version: Int, Hashable, Sendable, CaseIterable {
        /// RSA-1024 with SHA-1, seen from 2012 to 2015. See ``VerificationPolicy/allowsRSA1024TransactionReceipts``.
        case version2 = 2
        /// RSA-2048 with SHA-1, seen from 2017 to 2022.
        case version3 = 3
        /// RSA-2048 with SHA-256, seen in 2023.
        case version4 = 4
    }
}

extension TransactionReceipt.Version {
    /// What a version requires of a signature and of its chain.
    struct Rules {
        let digest: SignatureDigest
        let modulusBitCount: Int
        let leafMarker: ASN1ObjectIdentifier
        let issuerMarker: ASN1ObjectIdentifier

        var signatureByteCount: Int { modulusBitCount / 8 }
    }

    var rules: Rules {
        switch self {
        case .version2:
            Rules(
                digest: .sha1, modulusBitCount: 1024, leafMarker: .purchaseReceiptMarker,
                issuerMarker: .iTunesStoreMarker)
        case .version3:
            Rules(
                digest: .sha1, modulusBitCount: 2048, leafMarker: .receiptSigningMarker,
                issuerMarker: .developerRelationsMarker)
        case .version4:
            Rules(
                digest: .sha256, modulusBitCount: 2048, leafMarker: .receiptSigningMarker,
                issuerMarker: .developerRelationsMarker)
        }
    }
}

extension ASN1ObjectIdentifier {
    /// 1.2.840.113635.100.6.5.1, on the leaf that signs transaction receipts of version 2.
    static let purchaseReceiptMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x05, 0x01])
    /// 1.2.840.113635.100.6.2.2, on the iTunes Store intermediate.
    static let iTunesStoreMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x02, 0x02])
}
