import SpanASN1
import SpanPKCS7

/// Input that this library reads and libcrypto refuses. This library reads a message down to the fields of its
/// certificates, lists and signers; it reads a name or an extension only when needed, and libcrypto reads it
/// immediately. Therefore a message with a malformed part of this kind is not a finding.
enum Exceptions {
    /// The part that libcrypto may have refused; `nil` if there is none.
    static func reason(_ message: borrowing SignedData) -> String? {
        do throws(ASN1DecodingError) {
            if let content = message.content, content.tag != .octetString { return "RFC 2315 content" }
            var algorithms = message.digestAlgorithms
            while let algorithm = try algorithms.next() {
                if !isReadable(algorithm.element) { return "algorithm" }
            }
            var choices = message.certificateChoices
            while let choice = try choices.next() {
                guard let certificate = try choice.certificate() else { return "certificate of another kind" }
                if let reason = reason(certificate) { return reason }
            }
            var revocations = message.revocationInfos
            while let revocation = try revocations.next() {
                guard let list = try revocation.revocationList() else {
                    return "revocation information of another kind"
                }
                if let reason = reason(list) { return reason }
            }
            var signers = message.signerInfos
            while let signer = try signers.next() {
                if case .issuerAndSerialNumber(let name) = signer.signerIdentifier, !isName(name.issuer) {
                    return "name"
                }
                // Types and values of attributes.
                if !isReadable(signer.element) { return "attribute or algorithm" }
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    private static func reason(_ certificate: borrowing Certificate) -> String? {
        if !isName(certificate.issuer) || !isName(certificate.subject) { return "name" }
        if (try? certificate.validity()) == nil { return "validity" }
        if !areExtensions(certificate.extensions) { return "extensions" }
        return isReadable(certificate.element) ? nil : "value in a certificate"
    }

    private static func reason(_ list: borrowing CertificateRevocationList) -> String? {
        if !isName(list.issuer) { return "name" }
        if !areExtensions(list.extensions) { return "extensions" }
        var entries = list.entries
        do throws(ASN1DecodingError) {
            while let entry = try entries.next() {
                if !areExtensions(entry.extensions) { return "extensions" }
            }
        } catch {
            return "entries"
        }
        return isReadable(list.element) ? nil : "value in a revocation list"
    }

    private static func areExtensions(_ extensions: consuming ASN1Members<CertificateExtension>) -> Bool {
        var extensions = extensions
        do throws(ASN1DecodingError) {
            while try extensions.next() != nil {}
            return true
        } catch {
            return false
        }
    }

    /// `Name ::= SEQUENCE OF SET SIZE (1..MAX) OF SEQUENCE { type OBJECT IDENTIFIER, value DirectoryString }`; a
    /// `DirectoryString` is no VisibleString (RFC 5280, 4.1.2.4), which libcrypto refuses there alone.
    private static func isName(_ name: ASN1Element) -> Bool {
        do throws(ASN1DecodingError) {
            try name.decode { (sets) throws(ASN1DecodingError) in
                try sets.readAll { (set) throws(ASN1DecodingError) in
                    try set.decode(.set) { (members) throws(ASN1DecodingError) in
                        try members.readAll { (member) throws(ASN1DecodingError) in
                            try member.decode(.sequence) { (fields) throws(ASN1DecodingError) in
                                _ = try fields.read(.objectIdentifier).objectIdentifier()
                                let value = try fields.read()
                                guard value.tag != .visibleString else { throw value.error(.unexpectedTag) }
                                _ = try value.string()
                            }
                        }
                    }
                }
            }
            return true
        } catch {
            return false
        }
    }

    /// Whether all values of universal types are valid, at every depth.
    private static func isReadable(_ element: ASN1Element, depth: Int = 0) -> Bool {
        do throws(ASN1DecodingError) {
            guard element.tag.isUniversal else { return !element.tag.isConstructed || areReadable(element, depth) }
            switch element.tag {
            case .sequence, .set: return areReadable(element, depth)
            case .boolean: _ = try element.boolean()
            case .integer, .enumerated: _ = try element.integerBytes(tagged: element.tag)
            case .null: try element.null()
            case .bitString: _ = try element.bitString()
            case .octetString: break
            case .objectIdentifier: _ = try element.objectIdentifier()
            case .utcTime, .generalizedTime: _ = try element.time()
            // The types that libcrypto checks. It keeps most others unchanged.
            default: _ = try element.string()
            }
            return true
        } catch {
            return false
        }
    }

    private static func areReadable(_ element: ASN1Element, _ depth: Int) -> Bool {
        guard depth < 32 else { return false }
        var contents = element.contents
        while !contents.isAtEnd {
            guard let inner = try? contents.read(), isReadable(inner, depth: depth + 1) else { return false }
        }
        return true
    }
}
