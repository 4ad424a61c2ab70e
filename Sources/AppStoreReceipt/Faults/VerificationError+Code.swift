import StrictText

extension VerificationError {
    /// A stable word for what is wrong, for programs to compare and to count. The article <doc:Errors> lists all codes.
    ///
    /// ```swift
    /// catch where error.code == .bundleIDMismatch { … }
    /// ```
    public struct Code: OpenStringValue, CustomStringConvertible {
        /// The word, such as `bundle-id-mismatch`.
        public let rawValue: String
        /// Creates a code from its word, which a later version can have added.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The word.
        public var description: String { rawValue }
    }
}

extension VerificationError.Code {
    /// The digest algorithm, the signature algorithm and the key do not match.
    public static let algorithmMismatch = Self(rawValue: "algorithm-mismatch")
    /// Libcrypto on this host refuses an algorithm that the policy accepts (SHA-1 signatures on RHEL 9).
    public static let algorithmUnavailable = Self(rawValue: "algorithm-unavailable")
    /// Several members that do not belong together have different evidence.
    public static let ambiguousEvidence = Self(rawValue: "ambiguous-evidence")
    /// Two different certificates match the signer's identifier.
    public static let ambiguousSignerCertificate = Self(rawValue: "ambiguous-signer-certificate")
    /// A trust anchor is not self-signed; another certificate issued it.
    public static let anchorNotSelfSigned = Self(rawValue: "anchor-not-self-signed")
    /// The evidence is genuine, but its app Apple id is not accepted.
    public static let appAppleIDMismatch = Self(rawValue: "app-apple-id-mismatch")
    /// The receipt is genuine, but is for another version of the app.
    public static let applicationVersionMismatch = Self(rawValue: "application-version-mismatch")
    /// The evidence is genuine, but its bundle id is not accepted.
    public static let bundleIDMismatch = Self(rawValue: "bundle-id-mismatch")
    /// The evidence is genuine, but names no app.
    public static let bundleIDMissing = Self(rawValue: "bundle-id-missing")
    /// The JWS header does not have three certificates (one, with StoreKit Testing trust).
    public static let certificateCount = Self(rawValue: "certificate-count")
    /// A certificate had expired by the validation date.
    public static let certificateExpired = Self(rawValue: "certificate-expired")
    /// The stated length of the transaction receipt's certificate is not its length.
    public static let certificateLengthMismatch = Self(rawValue: "certificate-length-mismatch")
    /// A certificate was not yet valid on the validation date.
    public static let certificateNotYetValid = Self(rawValue: "certificate-not-yet-valid")
    /// A certificate is larger than 64 KiB.
    public static let certificateTooLarge = Self(rawValue: "certificate-too-large")
    /// A string is in constructed form where the primitive form is required.
    public static let constructedString = Self(rawValue: "constructed-string")
    /// The digest of the content does not match the signed digest.
    public static let contentDigestMismatch = Self(rawValue: "content-digest-mismatch")
    /// The receipt has no creation date.
    public static let creationDateMissing = Self(rawValue: "creation-date-missing")
    /// The receipt has more than one creation date.
    public static let creationDateRepeated = Self(rawValue: "creation-date-repeated")
    /// The creation date of the receipt is not a valid date.
    public static let creationDateUnreadable = Self(rawValue: "creation-date-unreadable")
    /// The JWS header requires an extension that is not supported (`crit`).
    public static let criticalHeader = Self(rawValue: "critical-header")
    /// The milliseconds, the GMT text and the Pacific text of a date are not the same date.
    public static let datesDisagree = Self(rawValue: "dates-disagree")
    /// The receipt is genuine, but was made for another device.
    public static let deviceMismatch = Self(rawValue: "device-mismatch")
    /// A certificate is one that the policy distrusts.
    public static let distrustedCertificate = Self(rawValue: "distrusted-certificate")
    /// An element that may occur only once is repeated.
    public static let duplicateElement = Self(rawValue: "duplicate-element")
    /// A key of the property list is repeated.
    public static let duplicateKey = Self(rawValue: "duplicate-key")
    /// A JSON member is repeated.
    public static let duplicateMember = Self(rawValue: "duplicate-member")
    /// The input is empty.
    public static let emptyInput = Self(rawValue: "empty-input")
    /// The evidence is genuine, but its environment is not accepted.
    public static let environmentMismatch = Self(rawValue: "environment-mismatch")
    /// The evidence is genuine, but names no environment.
    public static let environmentMissing = Self(rawValue: "environment-missing")
    /// The options accept several environments, and the decision names none.
    public static let environmentNotNamed = Self(rawValue: "environment-not-named")
    /// The environments `xcode` and `local-testing` require StoreKit Testing trust, and it accepts no other
    /// environments.
    public static let environmentNotOfTrust = Self(rawValue: "environment-not-of-trust")
    /// The evidence is in a member that is not read, which `path` names.
    public static let evidenceInMember = Self(rawValue: "evidence-in-member")
    /// The JWS header has a key or the address of a key (`jwk`, `jku` or `x5u`).
    public static let foreignKey = Self(rawValue: "foreign-key")
    /// The input is of Google Play.
    public static let googlePlay = Self(rawValue: "google-play")
    /// The input is a receipt in hexadecimal.
    public static let hexadecimal = Self(rawValue: "hexadecimal")
    /// The input is a page in HTML or XML.
    public static let html = Self(rawValue: "html")
    /// An element has an indefinite length where a definite length is required.
    public static let indefiniteLength = Self(rawValue: "indefinite-length")
    /// The input is larger than the limit.
    public static let inputTooLarge = Self(rawValue: "input-too-large")
    /// An INTEGER is out of range.
    public static let integerOutOfRange = Self(rawValue: "integer-out-of-range")
    /// The base64 has an invalid character or is incomplete.
    public static let invalidBase64 = Self(rawValue: "invalid-base64")
    /// A part of the JWS is not base64url.
    public static let invalidBase64url = Self(rawValue: "invalid-base64url")
    /// A BIT STRING has a wrong count of unused bits, or unused bits that are not zero.
    public static let invalidBitString = Self(rawValue: "invalid-bit-string")
    /// A BOOLEAN is not one byte with the value 00 or FF.
    public static let invalidBoolean = Self(rawValue: "invalid-boolean")
    /// The signature on a certificate does not verify with its issuer's key.
    public static let invalidCertificateSignature = Self(rawValue: "invalid-certificate-signature")
    /// The certificate chain does not have the required length (three certificates for Apple's).
    public static let invalidChainLength = Self(rawValue: "invalid-chain-length")
    /// A JSON string has an invalid escape sequence.
    public static let invalidEscape = Self(rawValue: "invalid-escape")
    /// An INTEGER is empty or not encoded in the fewest bytes.
    public static let invalidInteger = Self(rawValue: "invalid-integer")
    /// An issuing certificate is not a CA, may not sign certificates, or exceeds its path length.
    public static let invalidIssuer = Self(rawValue: "invalid-issuer")
    /// The JSON is malformed, or the member with the evidence is repeated or not a string.
    public static let invalidJSON = Self(rawValue: "invalid-json")
    /// A certificate's key usage does not allow the use of its key.
    public static let invalidKeyUsage = Self(rawValue: "invalid-key-usage")
    /// A length has the reserved value FF, or an end-of-contents marker has content.
    public static let invalidLength = Self(rawValue: "invalid-length")
    /// A NULL has content.
    public static let invalidNull = Self(rawValue: "invalid-null")
    /// A JSON number is malformed.
    public static let invalidNumber = Self(rawValue: "invalid-number")
    /// An OBJECT IDENTIFIER is empty, incomplete or not encoded in the fewest bytes.
    public static let invalidObjectIdentifier = Self(rawValue: "invalid-object-identifier")
    /// The PEM file has a wrong label, no end line, or text after its end.
    public static let invalidPEM = Self(rawValue: "invalid-pem")
    /// The signature does not verify with the key of the signer's certificate.
    public static let invalidSignature = Self(rawValue: "invalid-signature")
    /// The signed attributes do not conform to RFC 5652.
    public static let invalidSignedAttributes = Self(rawValue: "invalid-signed-attributes")
    /// A string has a character that its type does not allow.
    public static let invalidString = Self(rawValue: "invalid-string")
    /// A date or time is malformed or does not exist.
    public static let invalidTime = Self(rawValue: "invalid-time")
    /// A JSON string is not valid UTF-8.
    public static let invalidUTF8 = Self(rawValue: "invalid-utf8")
    /// The key does not have the size that the version of the transaction receipt requires.
    public static let keySizeMismatch = Self(rawValue: "key-size-mismatch")
    /// The input has what a language writes around a value or in place of one, or was shortened.
    public static let leakedText = Self(rawValue: "leaked-text")
    /// A length does not fit in 63 bits.
    public static let lengthOverflow = Self(rawValue: "length-overflow")
    /// Libcrypto failed for a reason other than the input.
    public static let libcryptoFailure = Self(rawValue: "libcrypto-failure")
    /// A certificate cannot be read.
    public static let malformedCertificate = Self(rawValue: "malformed-certificate")
    /// A certificate in the JWS header is not base64.
    public static let malformedCertificates = Self(rawValue: "malformed-certificates")
    /// The JWS header has no `alg`.
    public static let missingAlgorithm = Self(rawValue: "missing-algorithm")
    /// The JWS header has no certificates (`x5c`).
    public static let missingCertificates = Self(rawValue: "missing-certificates")
    /// The message has no content.
    public static let missingContent = Self(rawValue: "missing-content")
    /// A required element is missing.
    public static let missingElement = Self(rawValue: "missing-element")
    /// The intermediate certificate does not have Apple's marker extension.
    public static let missingIntermediateMarker = Self(rawValue: "missing-intermediate-marker")
    /// A required key of the transaction receipt is missing.
    public static let missingKey = Self(rawValue: "missing-key")
    /// The signer's certificate does not have Apple's marker extension for this purpose.
    public static let missingLeafMarker = Self(rawValue: "missing-leaf-marker")
    /// A required JSON member is missing.
    public static let missingMember = Self(rawValue: "missing-member")
    /// The JSON object has no member with evidence, such as `receipt-data`.
    public static let missingReceiptData = Self(rawValue: "missing-receipt-data")
    /// The message does not contain its signer's certificate.
    public static let missingSignerCertificate = Self(rawValue: "missing-signer-certificate")
    /// Elements are nested more deeply than the limit allows.
    public static let nestingTooDeep = Self(rawValue: "nesting-too-deep")
    /// The JWS has no bundle id, and the policy has no app Apple id to compare.
    public static let noAppAppleID = Self(rawValue: "no-app-apple-id")
    /// A verifier needs at least one bundle id to accept.
    public static let noBundleID = Self(rawValue: "no-bundle-id")
    /// A verifier needs at least one environment to accept.
    public static let noEnvironment = Self(rawValue: "no-environment")
    /// A verifier needs at least one root certificate to trust.
    public static let noTrustAnchor = Self(rawValue: "no-trust-anchor")
    /// A length is not encoded in the fewest bytes.
    public static let nonMinimalLength = Self(rawValue: "non-minimal-length")
    /// A tag number is not encoded in the fewest bytes.
    public static let nonMinimalTag = Self(rawValue: "non-minimal-tag")
    /// A JSON number is out of range.
    public static let numberOutOfRange = Self(rawValue: "number-out-of-range")
    /// Libcrypto could not allocate memory.
    public static let outOfMemory = Self(rawValue: "out-of-memory")
    /// A JWS must have exactly three parts, separated by dots.
    public static let partCount = Self(rawValue: "part-count")
    /// The notification and its signed part name different apps or environments.
    public static let partMismatch = Self(rawValue: "part-mismatch")
    /// The transaction receipt has no purchase date.
    public static let purchaseDateMissing = Self(rawValue: "purchase-date-missing")
    /// A value of the purchase date is not a valid date.
    public static let purchaseDateUnreadable = Self(rawValue: "purchase-date-unreadable")
    /// The receipt is genuine, but has a date in the future.
    public static let receiptFromTheFuture = Self(rawValue: "receipt-from-the-future")
    /// The receipt is genuine, but is older than the policy accepts.
    public static let receiptTooOld = Self(rawValue: "receipt-too-old")
    /// The transaction receipt has version 2, which is signed with an RSA key of 1024 bits, and the policy does not
    /// allow it.
    public static let rsa1024NotAllowed = Self(rawValue: "rsa-1024-not-allowed")
    /// The input has several pieces of evidence.
    public static let severalPieces = Self(rawValue: "several-pieces")
    /// The transaction receipt's signature ends before its certificate.
    public static let signatureTruncated = Self(rawValue: "signature-truncated")
    /// The JWS payload has no signing date.
    public static let signedDateMissing = Self(rawValue: "signed-date-missing")
    /// The JWS payload has more than one signing date.
    public static let signedDateRepeated = Self(rawValue: "signed-date-repeated")
    /// The signing date of the JWS is not a valid date.
    public static let signedDateUnreadable = Self(rawValue: "signed-date-unreadable")
    /// The JWS is genuine, but its signing date is in the future.
    public static let signedInTheFuture = Self(rawValue: "signed-in-the-future")
    /// The JWS is genuine, but is older than the policy accepts.
    public static let signedTooLongAgo = Self(rawValue: "signed-too-long-ago")
    /// The message has no signer or too many signers (a receipt has exactly one).
    public static let signerCount = Self(rawValue: "signer-count")
    /// A tag number is 2^28 or more.
    public static let tagNumberTooLarge = Self(rawValue: "tag-number-too-large")
    /// There are more elements than the limit allows.
    public static let tooManyElements = Self(rawValue: "too-many-elements")
    /// The property list has more than 256 keys.
    public static let tooManyKeys = Self(rawValue: "too-many-keys")
    /// There are extra bytes after the end of the structure.
    public static let trailingData = Self(rawValue: "trailing-data")
    /// The input is the id of a transaction, which proves nothing.
    public static let transactionID = Self(rawValue: "transaction-id")
    /// The evidence was cut off.
    public static let truncated = Self(rawValue: "truncated")
    /// The JSON has a character that is not allowed at this position.
    public static let unexpectedCharacter = Self(rawValue: "unexpected-character")
    /// The content does not have the required type.
    public static let unexpectedContentType = Self(rawValue: "unexpected-content-type")
    /// An end-of-contents marker stands outside an element of indefinite length.
    public static let unexpectedEndOfContents = Self(rawValue: "unexpected-end-of-contents")
    /// An element does not have the type that the structure requires.
    public static let unexpectedTag = Self(rawValue: "unexpected-tag")
    /// A JSON member has a value of the wrong type.
    public static let unexpectedType = Self(rawValue: "unexpected-type")
    /// An element has a value that the structure does not allow.
    public static let unexpectedValue = Self(rawValue: "unexpected-value")
    /// A certificate has an unknown critical extension.
    public static let unknownCriticalExtension = Self(rawValue: "unknown-critical-extension")
    /// The evidence is genuine, but its environment is unknown.
    public static let unknownEnvironment = Self(rawValue: "unknown-environment")
    /// The signer's certificate was not issued by an intermediate that is pinned for the version of the transaction
    /// receipt.
    public static let unpinnedIssuer = Self(rawValue: "unpinned-issuer")
    /// A key or a value of the property list is not in quotation marks.
    public static let unquotedString = Self(rawValue: "unquoted-string")
    /// The input is not a JWS, binary PKCS#7, base64, PEM, a JSON object or a property list.
    public static let unrecognizedForm = Self(rawValue: "unrecognized-form")
    /// The input is JSON about a purchase without Apple's signature.
    public static let unsignedTransaction = Self(rawValue: "unsigned-transaction")
    /// The members of a SET OF are not in DER order.
    public static let unsortedSet = Self(rawValue: "unsorted-set")
    /// The `alg` of the JWS header is not ES256.
    public static let unsupportedAlgorithm = Self(rawValue: "unsupported-algorithm")
    /// The property list has a comment.
    public static let unsupportedComment = Self(rawValue: "unsupported-comment")
    /// A string of the property list has a backslash.
    public static let unsupportedEscape = Self(rawValue: "unsupported-escape")
    /// A key has a type or a curve that is not accepted.
    public static let unsupportedKey = Self(rawValue: "unsupported-key")
    /// A value of the property list is not a string.
    public static let unsupportedNesting = Self(rawValue: "unsupported-nesting")
    /// The version of the transaction receipt's signature is not 2, 3 or 4.
    public static let unsupportedVersion = Self(rawValue: "unsupported-version")
    /// The signer's certificate does not chain to a trusted root.
    public static let untrustedChain = Self(rawValue: "untrusted-chain")
    /// A root certificate cannot be used.
    public static let unusableTrustAnchor = Self(rawValue: "unusable-trust-anchor")
    /// The input is a text in UTF-16.
    public static let utf16 = Self(rawValue: "utf-16")
    /// A digest algorithm is too weak (MD5, or SHA-1 where the policy refuses it).
    public static let weakAlgorithm = Self(rawValue: "weak-algorithm")
    /// An RSA key has a size or an exponent that is not accepted.
    public static let weakKey = Self(rawValue: "weak-key")
}
