import LibcryptoHandles
import SignatureTrust
import SpanASN1
import SpanPKCS7

/// The certificates for one message: its own, then those of the policy.
struct CertificatePool {
    struct Member: Sendable {
        let der: [UInt8]
        /// The offset in the message; `nil` for a certificate of the policy.
        let offset: Int?
        private(set) var handle: CertificateHandle?
        /// The reason there is no handle, once libcrypto has tried to read the certificate.
        private(set) var fault: CMSTrustError?

        init(der: [UInt8], offset: Int?) {
            self.der = der
            self.offset = offset
        }

        /// Runs a closure that reads a part of the certificate. Errors in a certificate of the policy have no offset in
        /// the message.
        func withView<Result>(
            _ body: (Certificate) throws(CMSTrustError) -> Result
        ) throws(CMSTrustError) -> Result {
            do throws(CMSTrustError) {
                let view: Certificate
                do throws(ASN1DecodingError) {
                    view = try Certificate(der.span, baseOffset: offset ?? 0)
                } catch {
                    throw CMSTrustError(malformed: error)
                }
                return try body(view)
            } catch {
                throw offset == nil ? CMSTrustError(error.kind, path: error.path) : error
            }
        }

        /// Passes the certificate to libcrypto if the policy accepts its key, so that path building never uses a key
        /// that costs seconds.
        mutating func load(_ algorithms: AlgorithmPolicy) throws(CMSTrustError) {
            guard handle == nil, fault == nil else { return }
            do throws(CMSTrustError) {
                handle = try withView { (view) throws(CMSTrustError) in
                    try CMSTrustError.trusting { () throws(SignatureTrustError) in
                        try algorithms.checkKey(of: view)
                        return try view.libcryptoHandle()
                    }
                }
            } catch {
                if error.kind.isHostFault { throw error }
                fault = error
            }
        }
    }

    private(set) var members: [Member]

    init(_ embedded: [EmbeddedCertificate], _ additional: [Member]) {
        members = embedded.map { Member(der: $0.der, offset: $0.offset) } + additional
    }

    /// The certificate that a signer identifies; `nil` if the signer is not selected.
    ///
    /// Two different certificates that match are an error; otherwise, their order would decide.
    func index(
        of signer: SignerInfo, _ selected: Fingerprint?
    ) throws(CMSTrustError) -> Int? {
        var found: Int?
        var ambiguous: Member?
        for (index, member) in members.enumerated() {
            let isNamed = try member.withView { (view) throws(CMSTrustError) in
                try CMSTrustError.reading { () throws(ASN1DecodingError) in
                    try signer.signerIdentifier.names(view)
                }
            }
            guard isNamed else { continue }
            if let selected,
                try CMSTrustError.trusting({ () throws(SignatureTrustError) in try Fingerprint(of: member.der.span) })
                    != selected
            {
                continue
            }
            guard let first = found else {
                found = index
                continue
            }
            if members[first].der != member.der { ambiguous = ambiguous ?? member }
        }
        if let ambiguous { throw CMSTrustError(.signature(.ambiguousSignerCertificate), offset: ambiguous.offset) }
        if found == nil, selected == nil {
            throw CMSTrustError(.signature(.missingSignerCertificate), offset: signer.element.offset)
        }
        return found
    }

    /// Passes all certificates to libcrypto that the policy allows.
    mutating func load(_ algorithms: AlgorithmPolicy) throws(CMSTrustError) {
        for index in members.indices { try members[index].load(algorithms) }
    }

    /// The reason a certificate was not passed to libcrypto, if another certificate names it as its issuer.
    func faultOfMissingIssuer() throws(CMSTrustError) -> CMSTrustError? {
        for refused in members {
            guard let fault = refused.fault else { continue }
            for member in members where member.handle != nil {
                let isIssuer = try refused.withView { (issuer) throws(CMSTrustError) in
                    try member.withView { (view) throws(CMSTrustError) in
                        view.issuer.encoded.hasSameBytes(as: issuer.subject.encoded)
                    }
                }
                if isIssuer { return fault }
            }
        }
        return nil
    }
}
