import SignatureTrust
import SpanASN1
import SpanPKCS7

// libcrypto 3.0 treats a delta list as a full one, ignores a repeated scope, and accepts a full list that removes an
// entry.
extension CertificateRevocationList {
    /// The reason libcrypto would misinterpret the list; `nil` if the list can be used.
    ///
    /// A list can restrict itself to some certificates. libcrypto uses it only for those.
    ///
    /// - Throws: errors of syntax.
    func misreading() throws(ASN1DecodingError) -> CMSFault? {
        var known: Set<ASN1ObjectIdentifier> = []
        var extensions = self.extensions
        while let next = try extensions.next() {
            let identifier = try next.id.objectIdentifier()
            if identifier == .deltaCRLIndicator { return .deltaRevocationList }
            // RFC 5280, 4.2: extensions must not be repeated.
            guard known.insert(identifier).inserted else { throw next.id.error(.duplicateElement) }
            // RFC 5280, 5.2: a list with an unknown critical extension must not be used. libcrypto supports these two.
            let isKnown = identifier == .issuingDistributionPoint || identifier == .authorityKeyIdentifier
            if next.isCritical, !isKnown { return .unsupportedRevocationList }
        }
        var entries = self.entries
        while let entry = try entries.next() {
            var extensions = entry.extensions
            while let next = try extensions.next() {
                // RFC 5280, 5.3: the same for an entry. libcrypto supports this one.
                if next.isCritical, !next.id.matches(.certificateIssuer) { return .unsupportedRevocationList }
                guard next.id.matches(.reasonCode) else { continue }
                let reason = try next.value.decode { (value) throws(ASN1DecodingError) in
                    try value.read().enumerated(as: UInt8.self)
                }
                // RFC 5280, 5.3.1: removeFromCRL is only for delta lists.
                guard reason != 8 else { throw next.value.error(.unexpectedValue) }
            }
        }
        return nil
    }
}
