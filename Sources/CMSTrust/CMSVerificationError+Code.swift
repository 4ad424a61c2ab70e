extension CMSVerificationError {
    /// A stable word for what is wrong, for programs to compare and to count.
    public struct Code: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible {
        /// The word, such as `untrusted-chain`.
        public let rawValue: String
        /// Creates a code from its word, which a later version can have added.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The word.
        public var description: String { rawValue }

        // Strings from outside are compared by their bytes.
        public static func == (lhs: Self, rhs: Self) -> Bool { lhs.rawValue.utf8.elementsEqual(rhs.rawValue.utf8) }

        public func hash(into hasher: inout Hasher) { for byte in rawValue.utf8 { hasher.combine(byte) } }
    }
}

extension CMSVerificationError.Code {
    /// The digest algorithm, the signature algorithm and the key do not match.
    public static let algorithmMismatch = Self(rawValue: "algorithm-mismatch")
    /// Libcrypto on this host refuses an algorithm that the policy accepts (SHA-1 signatures on RHEL 9).
    public static let algorithmUnavailable = Self(rawValue: "algorithm-unavailable")
    /// Two different certificates match the signer's identifier.
    public static let ambiguousSignerCertificate = Self(rawValue: "ambiguous-signer-certificate")
    /// A trust anchor is not self-signed; another certificate issued it.
    public static let anchorNotSelfSigned = Self(rawValue: "anchor-not-self-signed")
    /// A certificate had expired by the validation date.
    public static let certificateExpired = Self(rawValue: "certificate-expired")
    /// A certificate was not yet valid on the validation date.
    public static let certificateNotYetValid = Self(rawValue: "certificate-not-yet-valid")
    /// A certificate is larger than 64 KiB.
    public static let certificateTooLarge = Self(rawValue: "certificate-too-large")
    /// A string is in constructed form where the primitive form is required.
    public static let constructedString = Self(rawValue: "constructed-string")
    /// The digest of the content does not match the signed digest.
    public static let contentDigestMismatch = Self(rawValue: "content-digest-mismatch")
    /// A revocation list is a delta list where a full list is required.
    public static let deltaRevocationList = Self(rawValue: "delta-revocation-list")
    /// A certificate is one that the policy distrusts.
    public static let distrustedCertificate = Self(rawValue: "distrusted-certificate")
    /// An element that may occur only once is repeated.
    public static let duplicateElement = Self(rawValue: "duplicate-element")
    /// The signing time is later than the latest accepted time.
    public static let futureSigningTime = Self(rawValue: "future-signing-time")
    /// An element has an indefinite length where a definite length is required.
    public static let indefiniteLength = Self(rawValue: "indefinite-length")
    /// The input is larger than the limit.
    public static let inputTooLarge = Self(rawValue: "input-too-large")
    /// An INTEGER is out of range.
    public static let integerOutOfRange = Self(rawValue: "integer-out-of-range")
    /// A BIT STRING has a wrong count of unused bits, or unused bits that are not zero.
    public static let invalidBitString = Self(rawValue: "invalid-bit-string")
    /// A BOOLEAN is not one byte with the value 00 or FF.
    public static let invalidBoolean = Self(rawValue: "invalid-boolean")
    /// The signature on a certificate does not verify with its issuer's key.
    public static let invalidCertificateSignature = Self(rawValue: "invalid-certificate-signature")
    /// The certificate chain does not have the required length (three certificates for Apple's).
    public static let invalidChainLength = Self(rawValue: "invalid-chain-length")
    /// A certificate does not state the required purpose.
    public static let invalidExtendedKeyUsage = Self(rawValue: "invalid-extended-key-usage")
    /// An INTEGER is empty or not encoded in the fewest bytes.
    public static let invalidInteger = Self(rawValue: "invalid-integer")
    /// An issuing certificate is not a CA, may not sign certificates, or exceeds its path length.
    public static let invalidIssuer = Self(rawValue: "invalid-issuer")
    /// A certificate's key usage does not allow the use of its key.
    public static let invalidKeyUsage = Self(rawValue: "invalid-key-usage")
    /// A length has the reserved value FF, or an end-of-contents marker has content.
    public static let invalidLength = Self(rawValue: "invalid-length")
    /// A NULL has content.
    public static let invalidNull = Self(rawValue: "invalid-null")
    /// An OBJECT IDENTIFIER is empty, incomplete or not encoded in the fewest bytes.
    public static let invalidObjectIdentifier = Self(rawValue: "invalid-object-identifier")
    /// A message or a file of the policy is malformed PEM, or does not have the blocks that it must.
    public static let invalidPEM = Self(rawValue: "invalid-pem")
    /// The signature does not verify with the key of the signer's certificate.
    public static let invalidSignature = Self(rawValue: "invalid-signature")
    /// The signed attributes do not conform to RFC 5652.
    public static let invalidSignedAttributes = Self(rawValue: "invalid-signed-attributes")
    /// A string has a character that its type does not allow.
    public static let invalidString = Self(rawValue: "invalid-string")
    /// A date or time is malformed or does not exist.
    public static let invalidTime = Self(rawValue: "invalid-time")
    /// A length does not fit in 63 bits.
    public static let lengthOverflow = Self(rawValue: "length-overflow")
    /// Libcrypto failed for a reason other than the input.
    public static let libcryptoFailure = Self(rawValue: "libcrypto-failure")
    /// A certificate cannot be read.
    public static let malformedCertificate = Self(rawValue: "malformed-certificate")
    /// A revocation list cannot be read.
    public static let malformedRevocationList = Self(rawValue: "malformed-revocation-list")
    /// The message has no content.
    public static let missingContent = Self(rawValue: "missing-content")
    /// A required element is missing.
    public static let missingElement = Self(rawValue: "missing-element")
    /// No current revocation list covers a certificate.
    public static let missingRevocationList = Self(rawValue: "missing-revocation-list")
    /// The content is not plain data and was signed without signed attributes.
    public static let missingSignedAttributes = Self(rawValue: "missing-signed-attributes")
    /// No signer of the message has the requested certificate.
    public static let missingSigner = Self(rawValue: "missing-signer")
    /// The message does not contain its signer's certificate.
    public static let missingSignerCertificate = Self(rawValue: "missing-signer-certificate")
    /// The message has no signing time.
    public static let missingSigningTime = Self(rawValue: "missing-signing-time")
    /// Elements are nested more deeply than the limit allows.
    public static let nestingTooDeep = Self(rawValue: "nesting-too-deep")
    /// A length is not encoded in the fewest bytes.
    public static let nonMinimalLength = Self(rawValue: "non-minimal-length")
    /// A tag number is not encoded in the fewest bytes.
    public static let nonMinimalTag = Self(rawValue: "non-minimal-tag")
    /// Libcrypto could not allocate memory.
    public static let outOfMemory = Self(rawValue: "out-of-memory")
    /// A certificate is revoked.
    public static let revokedCertificate = Self(rawValue: "revoked-certificate")
    /// The content has the form of another message's signed attributes.
    public static let signedAttributesAsContent = Self(rawValue: "signed-attributes-as-content")
    /// The message has no signer or too many signers (a receipt has exactly one).
    public static let signerCount = Self(rawValue: "signer-count")
    /// A tag number is 2^28 or more.
    public static let tagNumberTooLarge = Self(rawValue: "tag-number-too-large")
    /// A signer has more attributes than the limit.
    public static let tooManyAttributes = Self(rawValue: "too-many-attributes")
    /// There are more elements than the limit allows.
    public static let tooManyElements = Self(rawValue: "too-many-elements")
    /// The certificates form more paths than the limit.
    public static let tooManyPaths = Self(rawValue: "too-many-paths")
    /// There are extra bytes after the end of the structure.
    public static let trailingData = Self(rawValue: "trailing-data")
    /// An element runs past the end of its container.
    public static let truncated = Self(rawValue: "truncated")
    /// Separate content was given for a message that contains its content.
    public static let unexpectedContent = Self(rawValue: "unexpected-content")
    /// The content does not have the required type.
    public static let unexpectedContentType = Self(rawValue: "unexpected-content-type")
    /// An end-of-contents marker stands outside an element of indefinite length.
    public static let unexpectedEndOfContents = Self(rawValue: "unexpected-end-of-contents")
    /// An element does not have the type that the structure requires.
    public static let unexpectedTag = Self(rawValue: "unexpected-tag")
    /// An element has a value that the structure does not allow.
    public static let unexpectedValue = Self(rawValue: "unexpected-value")
    /// A certificate has an unknown critical extension.
    public static let unknownCriticalExtension = Self(rawValue: "unknown-critical-extension")
    /// The members of a SET OF are not in DER order.
    public static let unsortedSet = Self(rawValue: "unsorted-set")
    /// A digest or signature algorithm is not accepted.
    public static let unsupportedAlgorithm = Self(rawValue: "unsupported-algorithm")
    /// A key has a type or a curve that is not accepted.
    public static let unsupportedKey = Self(rawValue: "unsupported-key")
    /// A revocation list has an unknown critical extension.
    public static let unsupportedRevocationList = Self(rawValue: "unsupported-revocation-list")
    /// The signer's certificate does not chain to a trusted root.
    public static let untrustedChain = Self(rawValue: "untrusted-chain")
    /// A digest algorithm is too weak (MD5, or SHA-1 where the policy refuses it).
    public static let weakAlgorithm = Self(rawValue: "weak-algorithm")
    /// An RSA key has a size or an exponent that is not accepted.
    public static let weakKey = Self(rawValue: "weak-key")
}
