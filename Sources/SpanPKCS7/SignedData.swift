package import SpanASN1

/// A signed message, as views into the received bytes.
///
/// ```asn1
/// SignedData ::= SEQUENCE {
///   version CMSVersion,
///   digestAlgorithms SET OF DigestAlgorithmIdentifier,
///   encapContentInfo SEQUENCE { eContentType OBJECT IDENTIFIER, eContent [0] EXPLICIT OCTET STRING OPTIONAL },
///   certificates [0] IMPLICIT CertificateSet OPTIONAL,
///   crls [1] IMPLICIT RevocationInfoChoices OPTIONAL,
///   signerInfos SET OF SignerInfo }   -- RFC 5652, 5.1
/// ```
///
/// The initializer reads the structure strictly and completely, including every certificate, every signer and every
/// revocation list except its entries. It verifies nothing.
package struct SignedData: ~Escapable {
    /// The version, 1, 3, 4 or 5, which depends on the contents of the message (RFC 5652, 5.1).
    package let version: Int
    /// The type of the content, an OBJECT IDENTIFIER.
    package let contentType: ASN1Element
    /// The element in `eContent`; `nil` if the content is detached.
    ///
    /// It is an OCTET STRING, or any element in messages of RFC 2315 with other types.
    package let content: ASN1Element?
    /// The number of certificates of all kinds in the message.
    package let certificateCount: Int
    /// The number of signers. A message that only carries certificates has none.
    package let signerCount: Int
    private let digestAlgorithmSet: ASN1Element
    private let certificateSet: ASN1Element?
    private let crlSet: ASN1Element?
    /// The `signerInfos`, a SET.
    package let signerSet: ASN1Element
    /// The deviations from RFC 5652 that were allowed when the message was read.
    package let relaxations: PKCS7Relaxations

    /// Reads the content of a ``ContentInfo`` whose type is `signedData`.
    ///
    /// - Parameters:
    ///   - contentInfo: The message.
    ///   - maximumCertificateCount: The maximum number of certificates.
    ///   - maximumSignerCount: The maximum number of signers.
    ///   - maximumRevocationInfoCount: The maximum number of revocation lists.
    ///   - relaxations: The deviations from RFC 5652 to allow.
    /// - Throws: The first error in the order of the fields, with the field and the index of the member of a set in its
    ///   path. The code is `too-many-elements` if a maximum is exceeded.
    @_lifetime(copy contentInfo)
    package init(
        _ contentInfo: borrowing ContentInfo, maximumCertificateCount: Int = 1024, maximumSignerCount: Int = 64,
        maximumRevocationInfoCount: Int = 256, allowing relaxations: PKCS7Relaxations = []
    ) throws(ASN1DecodingError) {
        self.relaxations = relaxations
        guard try contentInfo.isSignedData() else {
            throw contentInfo.contentType.error(.unexpectedValue).within(.contentInfo)
        }
        guard let signedData = contentInfo.content else {
            throw contentInfo.contentType.error(.missingElement).within(.contentInfo)
        }
        guard signedData.tag == .sequence else { throw signedData.error(.unexpectedTag).within(.signedData) }
        var fields = signedData.contents
        do throws(ASN1DecodingError) {
            let version = try fields.read(.integer)
            self.version = try version.integer()
            // RFC 5652, 5.1: 1, 3, 4 or 5, by what the message carries.
            guard 1...5 ~= self.version, self.version != 2 else { throw version.error(.unexpectedValue) }
        } catch {
            throw error.within(.signedData)
        }
        do throws(ASN1DecodingError) {
            digestAlgorithmSet = try fields.read(.set)
            var algorithms = digestAlgorithmSet.contents
            while !algorithms.isAtEnd { _ = try AlgorithmIdentifier(&algorithms) }
        } catch {
            throw error.within(.digestAlgorithms)
        }
        do throws(ASN1DecodingError) {
            var encapsulated = try fields.read(.sequence).contents
            contentType = try encapsulated.read(.objectIdentifier)
            try contentType.validateObjectIdentifier()
            if encapsulated.isAtEnd {
                content = nil
            } else {
                var wrapper = try encapsulated.read(.context(0)).contents
                let inner = try wrapper.read()
                if inner.tag == .octetString.asConstructed { throw inner.error(.constructedString) }
                try wrapper.finish()
                content = inner
            }
            try encapsulated.finish()
        } catch {
            throw error.within(.encapContentInfo)
        }
        do throws(ASN1DecodingError) {
            certificateSet = try fields.readIfPresent(.context(0))
        } catch {
            throw error.within(.certificates)
        }
        do throws(ASN1DecodingError) {
            crlSet = try fields.readIfPresent(.context(1))
        } catch {
            throw error.within(.crls)
        }
        do throws(ASN1DecodingError) {
            signerSet = try fields.read(.set)
        } catch {
            throw error.within(.signerInfos)
        }
        do throws(ASN1DecodingError) {
            try fields.finish()
        } catch {
            throw error.within(.signedData)
        }

        var certificateCount = 0
        if let certificateSet {
            var elements = certificateSet.contents
            while !elements.isAtEnd {
                do throws(ASN1DecodingError) {
                    guard certificateCount < maximumCertificateCount else {
                        throw ASN1DecodingError(.tooManyElements, offset: elements.offset)
                    }
                    let choice = try CertificateChoice(&elements)
                    if choice.kind == .certificate { _ = try Certificate(choice.element) }
                } catch {
                    throw error.within(.certificates, index: certificateCount)
                }
                certificateCount += 1
            }
        }
        self.certificateCount = certificateCount

        if let crlSet {
            var elements = crlSet.contents
            var count = 0
            while !elements.isAtEnd {
                do throws(ASN1DecodingError) {
                    guard count < maximumRevocationInfoCount else {
                        throw ASN1DecodingError(.tooManyElements, offset: elements.offset)
                    }
                    _ = try RevocationInfoChoice(&elements).revocationList()
                } catch {
                    throw error.within(.crls, index: count)
                }
                count += 1
            }
        }

        var signerCount = 0
        var elements = signerSet.contents
        while !elements.isAtEnd {
            do throws(ASN1DecodingError) {
                guard signerCount < maximumSignerCount else {
                    throw ASN1DecodingError(.tooManyElements, offset: elements.offset)
                }
                _ = try SignerInfo(&elements, allowing: relaxations)
            } catch {
                throw error.within(.signerInfos, index: signerCount)
            }
            signerCount += 1
        }
        self.signerCount = signerCount
    }
}

extension SignedData {
    /// The algorithms in `digestAlgorithms`. They may differ from those that the signers used, which are in
    /// ``SignerInfo/digestAlgorithm``.
    package var digestAlgorithms: ASN1Members<AlgorithmIdentifier> {
        @_lifetime(copy self)
        get { ASN1Members(of: digestAlgorithmSet) }
    }

    /// The X.509 certificates, in the order received.
    package var certificates: CertificateIterator {
        @_lifetime(copy self)
        get { CertificateIterator(choices: certificateChoices) }
    }

    /// The certificates of every kind, in the order received.
    package var certificateChoices: ASN1Members<CertificateChoice> {
        @_lifetime(copy self)
        get { ASN1Members(of: certificateSet) }
    }

    /// The certificate revocation lists and other revocation information, in the order received.
    package var revocationInfos: ASN1Members<RevocationInfoChoice> {
        @_lifetime(copy self)
        get { ASN1Members(of: crlSet) }
    }

    /// The signers, in the order received.
    package var signerInfos: SignerInfoIterator {
        @_lifetime(copy self)
        get { SignerInfoIterator(cursor: signerSet.contents, relaxations: relaxations) }
    }
}

/// An iterator over signers: `while let signer = try signers.next() { … }`.
package struct SignerInfoIterator: ~Escapable {
    var cursor: ASN1Cursor
    let relaxations: PKCS7Relaxations

    @_lifetime(copy cursor)
    init(cursor: ASN1Cursor, relaxations: PKCS7Relaxations) {
        self.cursor = cursor
        self.relaxations = relaxations
    }

    @_lifetime(copy self)
    package mutating func next() throws(ASN1DecodingError) -> SignerInfo? {
        cursor.isAtEnd ? nil : try SignerInfo(&cursor, allowing: relaxations)
    }
}

/// An iterator over X.509 certificates: `while let certificate = try certificates.next() { … }`.
package struct CertificateIterator: ~Escapable {
    var choices: ASN1Members<CertificateChoice>

    @_lifetime(copy choices)
    init(choices: ASN1Members<CertificateChoice>) { self.choices = choices }

    /// Returns the next X.509 certificate. Certificates of other kinds are skipped.
    @_lifetime(copy self)
    package mutating func next() throws(ASN1DecodingError) -> Certificate? {
        while let choice = try choices.next() {
            if choice.kind == .certificate { return try Certificate(choice.element) }
        }
        return nil
    }
}
