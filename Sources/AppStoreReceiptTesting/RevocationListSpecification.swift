package import SignatureTrust
package import Instants
import SpanASN1

/// A certificate revocation list to issue (RFC 5280, 5.1). You can set every part, also to wrong values.
package struct RevocationListSpecification: Hashable, Sendable {
    /// A certificate that its issuer revokes (RFC 5280, 5.1.2.6).
    package struct Entry: Hashable, Sendable {
        /// The content octets of the serial number.
        package var serialNumber: [UInt8]
        /// In the order written.
        package var extensions: [CertificateSpecification.Extension]

        package init(serialNumber: [UInt8], extensions: [CertificateSpecification.Extension] = []) {
            self.serialNumber = serialNumber
            self.extensions = extensions
        }
    }

    /// The issuer's digest algorithm.
    package var digest = SignatureDigest.sha256
    /// When the list is issued, and from when on its entries are revoked; whole seconds.
    package var thisUpdate: Instant
    /// When the next list is due; whole seconds.
    package var nextUpdate: Instant
    /// The certificates that are revoked.
    package var entries: [Entry]
    /// In the order written. They may repeat.
    package var extensions: [CertificateSpecification.Extension] = [.authorityKeyIdentifier]

    package init(validity: ClosedRange<Instant>, entries: [Entry] = []) {
        thisUpdate = validity.lowerBound
        nextUpdate = validity.upperBound
        self.entries = entries
    }

    /// Issues the list, DER.
    ///
    /// - Throws: `inexpressible-value` for a date that X.509 cannot express; `malformed-certificate` for an issuer
    ///   without a name; `algorithm-unavailable` where the host does not sign with the digest.
    package func issue(by issuer: SigningIdentity) throws(MintingError) -> [UInt8] {
        let algorithm = try issuer.key.signatureAlgorithm(digest)
        let name = try issuer.encodedSubject()
        var writer = ASN1Writer()
        try writer.write(.sequence) { (writer) throws(MintingError) in
            // Version 2, which has extensions.
            writer.writeInteger(1)
            writer.write(algorithm)
            writer.write(encoded: name.span)
            try writer.write(thisUpdate)
            try writer.write(nextUpdate)
            if !entries.isEmpty {
                try writer.write(.sequence) { (writer) throws(MintingError) in
                    for entry in entries { try write(entry, by: issuer, to: &writer) }
                }
            }
            guard !extensions.isEmpty else { return }
            try writer.writeExplicit(0) { (writer) throws(MintingError) in
                try writer.write(extensions, own: issuer.key, issuer: issuer.key)
            }
        }
        return try CertificateSpecification.certificate(
            tbsCertificate: writer.finish(), algorithm: algorithm, digest: digest, key: issuer.key)
    }

    private func write(_ entry: Entry, by issuer: SigningIdentity, to writer: inout ASN1Writer) throws(MintingError) {
        try writer.write(.sequence) { (writer) throws(MintingError) in
            writer.write(.integer, content: entry.serialNumber.span)
            try writer.write(thisUpdate)
            if !entry.extensions.isEmpty {
                try writer.write(entry.extensions, own: issuer.key, issuer: issuer.key)
            }
        }
    }
}
