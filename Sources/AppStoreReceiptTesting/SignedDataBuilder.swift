package import SignatureTrust
package import Instants
package import SpanASN1
import SpanPKCS7

/// A builder of a PKCS#7 `SignedData` container (RFC 5652, 5.1) with any content. You can set every part, also to wrong
/// values.
///
/// To start from the shape of Apple's receipts, use ``ReceiptBuilder/signedData(by:)-(TestCertificateAuthority)``.
package struct SignedDataBuilder: Sendable {
    /// The encodings of the container. Certificates and signed parts are DER in both.
    package enum Encoding: Hashable, Sendable {
        /// DER.
        case der
        /// BER, as StoreKit Testing in Xcode writes it: indefinite lengths around a constructed OCTET STRING.
        ///
        /// The content is divided into segments of `segmentSize` bytes (at least 1); `nil` for one segment, as Xcode
        /// writes it.
        case ber(segmentSize: Int? = nil)
    }

    /// The encoding of the container.
    package var encoding = Encoding.der
    /// The version, which is 1 in receipts. Verifiers also read 3, 4 and 5.
    package var version = 1
    /// The type of the container itself.
    package var outerContentType = ASN1ObjectIdentifier.signedData
    /// The type of the content.
    package var contentType = ASN1ObjectIdentifier.data
    /// The content; `nil` for a container without content.
    package var content: [UInt8]?
    /// The digest algorithms; `nil` for those of the signers, each once.
    package var digestAlgorithms: [AlgorithmName]?
    /// The certificates (DER), in the order in which they are written; `nil` to omit the field.
    package var certificates: [[UInt8]]?
    /// The revocation lists (DER); `nil` to omit the field.
    package var revocationLists: [[UInt8]]?
    /// The signers. Receipts have one.
    package var signers: [Signer]

    /// Creates a container with content of the type `id-data`.
    ///
    /// - Parameters:
    ///   - content: The content; `nil` for a container without content.
    ///   - certificates: The certificates (DER), in the order in which they are written.
    ///   - signers: The signers.
    package init(content: [UInt8]?, certificates: [[UInt8]]?, signers: [Signer]) {
        self.content = content
        self.certificates = certificates
        self.signers = signers
    }

    /// A signer, which is written as a `SignerInfo` (RFC 5652, 5.3).
    package struct Signer: Sendable {
        /// The identifiers of the signer's certificate (RFC 5652, 5.3).
        package enum Identifier: Hashable, Sendable {
            /// The issuer and the serial number of the signer's certificate.
            case issuerAndSerialNumber
            /// The key identifier of the signer's certificate.
            case subjectKeyIdentifier
            /// Any encoded identifier.
            case bytes([UInt8])
        }

        /// The key that signs, and its certificate.
        package var identity: SigningIdentity
        /// The digest algorithm of the signature.
        package var digest: SignatureDigest
        /// The version; `nil` for 1, or for 3 with a key identifier.
        package var version: Int?
        /// The identifier of the signer's certificate; by default its issuer and serial number.
        package var identifier = Identifier.issuerAndSerialNumber
        /// The digest algorithm to write; `nil` for that of ``digest``.
        package var digestAlgorithm: AlgorithmName?
        /// The signature algorithm to write. Apple writes `rsaEncryption`. With `nil`, it is the algorithm that names
        /// the digest, as Xcode writes it.
        package var signatureAlgorithm: AlgorithmName? = AlgorithmName(.rsaEncryption)
        /// The signed attributes; `nil` for none, as in all known receipts. The content is then signed directly.
        package var signedAttributes: [SignedAttribute]?
        /// A Boolean value that indicates whether to write and sign the signed attributes in the order of DER.
        package var sortsSignedAttributes = true
        /// The encoded unsigned attributes; `nil` to omit the field.
        package var unsignedAttributes: [[UInt8]]?
        /// A signature to write instead of the valid one; `nil` for the valid one.
        package var signature: [UInt8]?

        /// Creates a signer like Apple's: identified by issuer and serial number, with `rsaEncryption` and without
        /// attributes.
        package init(_ identity: SigningIdentity, digest: SignatureDigest = .sha256) {
            self.identity = identity
            self.digest = digest
        }
    }

    /// A signed attribute (RFC 5652, 11).
    package enum SignedAttribute: Hashable, Sendable {
        /// The content type; `nil` for that of the content.
        case contentType(ASN1ObjectIdentifier?)
        /// The message digest; `nil` for that of the content.
        case messageDigest([UInt8]?)
        /// The signing time that the signer states (RFC 5652, 11.3).
        case signingTime(Instant)
        /// Any attribute, with encoded values.
        case other(ASN1ObjectIdentifier, values: [[UInt8]])

        /// The attributes that RFC 5652 requires: the content's type and its digest.
        package static let required: [SignedAttribute] = [.contentType(nil), .messageDigest(nil)]
    }
}

// MARK: - Signing

extension SignedDataBuilder {
    /// Returns the container. With RSA signers, it has the same bytes each time.
    ///
    /// - Throws: `algorithm-unavailable` if the host does not sign with the digest algorithm; `malformed-certificate`.
    package func encoded() throws(MintingError) -> [UInt8] {
        var signerInfos: [[UInt8]] = []
        for signer in signers { signerInfos.append(try encoded(signer)) }
        switch encoding {
        case .der: return der(signerInfos)
        case .ber(let segmentSize): return ber(signerInfos, segmentSize: segmentSize)
        }
    }

    /// Returns the bytes that a signer signs: the signed attributes as a SET OF, or the content.
    package func signedBytes(of signer: Signer) throws(MintingError) -> [UInt8] {
        guard let attributes = signer.signedAttributes else { return content ?? [] }
        return try encoded(attributes, of: signer)
    }

    private func encoded(_ signer: Signer) throws(MintingError) -> [UInt8] {
        let attributes = try signer.signedAttributes.map { (attributes) throws(MintingError) in
            try encoded(attributes, of: signer)
        }
        let signature = try signer.signature.orElse { () throws(MintingError) in
            try signer.identity.key.sign(attributes ?? content ?? [], digest: signer.digest)
        }
        let digestAlgorithm = signer.digestAlgorithm ?? AlgorithmName(signer.digest.objectIdentifier)
        let signatureAlgorithm = try signer.signatureAlgorithm.orElse { () throws(MintingError) in
            try signer.identity.key.signatureAlgorithm(signer.digest)
        }
        let identifier = try encodedIdentifier(of: signer)
        return ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.writeInteger(signer.version ?? (signer.identifier == .subjectKeyIdentifier ? 3 : 1))
                writer.write(encoded: identifier.span)
                writer.write(digestAlgorithm)
                if let attributes {
                    // RFC 5652, 5.4: signed as a SET OF, written under [0].
                    let implicit = [0xA0] + attributes.dropFirst()
                    writer.write(encoded: implicit.span)
                }
                writer.write(signatureAlgorithm)
                writer.writeOctetString(signature.span)
                if let unsigned = signer.unsignedAttributes {
                    writer.writeSet(.context(1)) { writer in writer.write(encoded: Array(unsigned.joined()).span) }
                }
            }
        }
    }

    private func encodedIdentifier(of signer: Signer) throws(MintingError) -> [UInt8] {
        switch signer.identifier {
        case .bytes(let bytes): return bytes
        case .issuerAndSerialNumber:
            let names = try signer.identity.encodedIssuerAndSerialNumber()
            return ASN1Writer.encode { writer in writer.write(.sequence, content: names.span) }
        case .subjectKeyIdentifier:
            let identifier = try signer.identity.key.keyIdentifier()
            return ASN1Writer.encode { writer in
                writer.writeOctetString(identifier.span, tagged: .context(0, constructed: false))
            }
        }
    }

    /// The attributes as a SET OF, which is what is signed.
    private func encoded(_ attributes: [SignedAttribute], of signer: Signer) throws(MintingError) -> [UInt8] {
        let digest = try signer.digest.digest(of: content ?? [])
        var encoded: [[UInt8]] = []
        for attribute in attributes {
            var value = ASN1Writer()
            let type: ASN1ObjectIdentifier
            switch attribute {
            case .contentType(let identifier):
                type = .contentType
                value.writeObjectIdentifier(identifier ?? contentType)
            case .messageDigest(let bytes):
                type = .messageDigest
                let digest = bytes ?? digest
                value.writeOctetString(digest.span)
            case .signingTime(let time):
                type = .signingTime
                try value.write(time)
            case .other(let identifier, let values):
                type = identifier
                value.write(encoded: Array(values.joined()).span)
            }
            let values = value.finish()
            encoded.append(
                ASN1Writer.encode { writer in
                    writer.write(.sequence) { writer in
                        writer.writeObjectIdentifier(type)
                        writer.write(.set, content: values.span)
                    }
                })
        }
        let elements = Array(encoded.joined())
        return ASN1Writer.encode { writer in
            if signer.sortsSignedAttributes {
                writer.writeSet { $0.write(encoded: elements.span) }
            } else {
                writer.write(.set, content: elements.span)
            }
        }
    }
}

// MARK: - Encoding

extension SignedDataBuilder {
    private func der(_ signerInfos: [[UInt8]]) -> [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.writeObjectIdentifier(outerContentType)
                writer.writeExplicit(0) { writer in
                    writer.write(.sequence) { writer in
                        writeHead(&writer)
                        writer.write(.sequence) { writer in
                            writer.writeObjectIdentifier(contentType)
                            if let content { writer.writeExplicit(0) { $0.writeOctetString(content.span) } }
                        }
                        writeTail(&writer, signerInfos)
                    }
                }
            }
        }
    }

    private func ber(_ signerInfos: [[UInt8]], segmentSize: Int?) -> [UInt8] {
        let indefinite: UInt8 = 0x80
        var bytes: [UInt8] = [0x30, indefinite]
        bytes += ASN1Writer.encode { $0.writeObjectIdentifier(outerContentType) }
        bytes += [0xA0, indefinite, 0x30, indefinite]
        bytes += ASN1Writer.encode { writeHead(&$0) }
        bytes += [0x30, indefinite]
        bytes += ASN1Writer.encode { $0.writeObjectIdentifier(contentType) }
        if let content {
            bytes += [0xA0, indefinite, 0x24, indefinite]
            bytes += ASN1Writer.encode { writer in
                let size = max(1, segmentSize ?? content.count)
                for start in stride(from: 0, to: content.count, by: size) {
                    writer.writeOctetString(content.span.extracting(start..<min(start + size, content.count)))
                }
            }
            bytes += [0, 0, 0, 0]
        }
        bytes += [0, 0]
        bytes += ASN1Writer.encode { writeTail(&$0, signerInfos) }
        bytes += [0, 0, 0, 0, 0, 0]
        return bytes
    }

    private func writeHead(_ writer: inout ASN1Writer) {
        writer.writeInteger(version)
        var algorithms = digestAlgorithms ?? []
        if digestAlgorithms == nil {
            for signer in signers {
                let algorithm = signer.digestAlgorithm ?? AlgorithmName(signer.digest.objectIdentifier)
                if !algorithms.contains(algorithm) { algorithms.append(algorithm) }
            }
        }
        writer.writeSet { writer in
            for algorithm in algorithms { writer.write(algorithm) }
        }
    }

    private func writeTail(_ writer: inout ASN1Writer, _ signerInfos: [[UInt8]]) {
        // Apple writes leaf, intermediate, root in that order, which need not be DER's.
        if let certificates { writer.write(.context(0), content: Array(certificates.joined()).span) }
        if let revocationLists { writer.write(.context(1), content: Array(revocationLists.joined()).span) }
        writer.writeSet { writer in
            for signerInfo in signerInfos { writer.write(encoded: signerInfo.span) }
        }
    }
}
