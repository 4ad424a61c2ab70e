package import SpanASN1

extension ASN1ObjectIdentifier {
    /// The name of the identifier, if it occurs in receipts, certificates or signed messages.
    package var name: String? { Self.names[description] }

    private static let names: [String: String] = [
        // RFC 5652, RFC 2315: content types
        "1.2.840.113549.1.7.1": "data", "1.2.840.113549.1.7.2": "signedData",
        "1.2.840.113549.1.7.3": "envelopedData", "1.2.840.113549.1.7.4": "signedAndEnvelopedData",
        "1.2.840.113549.1.7.5": "digestedData", "1.2.840.113549.1.7.6": "encryptedData",
        "1.2.840.113549.1.9.16.1.2": "authData", "1.2.840.113549.1.9.16.1.4": "TSTInfo",
        "1.2.840.113549.1.9.16.1.23": "authEnvelopedData",
        // RFC 2985, RFC 5652, RFC 5035: attributes
        "1.2.840.113549.1.9.1": "emailAddress", "1.2.840.113549.1.9.2": "unstructuredName",
        "1.2.840.113549.1.9.3": "contentType", "1.2.840.113549.1.9.4": "messageDigest",
        "1.2.840.113549.1.9.5": "signingTime", "1.2.840.113549.1.9.6": "countersignature",
        "1.2.840.113549.1.9.7": "challengePassword", "1.2.840.113549.1.9.14": "extensionRequest",
        "1.2.840.113549.1.9.15": "smimeCapabilities", "1.2.840.113549.1.9.20": "friendlyName",
        "1.2.840.113549.1.9.21": "localKeyId", "1.2.840.113549.1.9.52": "cmsAlgorithmProtection",
        "1.2.840.113549.1.9.16.2.12": "signingCertificate", "1.2.840.113549.1.9.16.2.14": "signatureTimeStampToken",
        "1.2.840.113549.1.9.16.2.47": "signingCertificateV2",
        // RFC 8017: RSA
        "1.2.840.113549.1.1.1": "rsaEncryption", "1.2.840.113549.1.1.2": "md2WithRSAEncryption",
        "1.2.840.113549.1.1.4": "md5WithRSAEncryption", "1.2.840.113549.1.1.5": "sha1WithRSAEncryption",
        "1.2.840.113549.1.1.7": "rsaesOAEP", "1.2.840.113549.1.1.8": "mgf1", "1.2.840.113549.1.1.10": "rsassaPSS",
        "1.2.840.113549.1.1.11": "sha256WithRSAEncryption", "1.2.840.113549.1.1.12": "sha384WithRSAEncryption",
        "1.2.840.113549.1.1.13": "sha512WithRSAEncryption", "1.2.840.113549.1.1.14": "sha224WithRSAEncryption",
        // RFC 5480, RFC 5758, RFC 8410: elliptic curves
        "1.2.840.10045.2.1": "ecPublicKey", "1.2.840.10045.3.1.7": "P-256", "1.3.132.0.34": "P-384",
        "1.3.132.0.35": "P-521", "1.3.132.0.10": "secp256k1", "1.2.840.10045.4.1": "ecdsaWithSHA1",
        "1.2.840.10045.4.3.1": "ecdsaWithSHA224", "1.2.840.10045.4.3.2": "ecdsaWithSHA256",
        "1.2.840.10045.4.3.3": "ecdsaWithSHA384", "1.2.840.10045.4.3.4": "ecdsaWithSHA512",
        "1.3.101.110": "X25519", "1.3.101.111": "X448", "1.3.101.112": "Ed25519", "1.3.101.113": "Ed448",
        // Digests
        "1.2.840.113549.2.5": "md5", "1.3.14.3.2.26": "sha1", "1.3.14.3.2.29": "sha1WithRSASignature",
        "2.16.840.1.101.3.4.2.1": "sha256", "2.16.840.1.101.3.4.2.2": "sha384", "2.16.840.1.101.3.4.2.3": "sha512",
        "2.16.840.1.101.3.4.2.4": "sha224", "2.16.840.1.101.3.4.2.8": "sha3-256",
        "2.16.840.1.101.3.4.2.9": "sha3-384", "2.16.840.1.101.3.4.2.10": "sha3-512",
        // X.520, RFC 4519, EV guidelines: names
        "2.5.4.3": "commonName", "2.5.4.4": "surname", "2.5.4.5": "serialNumber", "2.5.4.6": "countryName",
        "2.5.4.7": "localityName", "2.5.4.8": "stateOrProvinceName", "2.5.4.9": "streetAddress",
        "2.5.4.10": "organizationName", "2.5.4.11": "organizationalUnitName", "2.5.4.12": "title",
        "2.5.4.13": "description", "2.5.4.15": "businessCategory", "2.5.4.17": "postalCode", "2.5.4.41": "name",
        "2.5.4.42": "givenName", "2.5.4.43": "initials", "2.5.4.46": "dnQualifier", "2.5.4.65": "pseudonym",
        "2.5.4.97": "organizationIdentifier", "0.9.2342.19200300.100.1.1": "userID",
        "0.9.2342.19200300.100.1.25": "domainComponent",
        "1.3.6.1.4.1.311.60.2.1.1": "jurisdictionLocalityName",
        "1.3.6.1.4.1.311.60.2.1.2": "jurisdictionStateOrProvinceName",
        "1.3.6.1.4.1.311.60.2.1.3": "jurisdictionCountryName",
        // RFC 5280: extensions
        "2.5.29.9": "subjectDirectoryAttributes", "2.5.29.14": "subjectKeyIdentifier", "2.5.29.15": "keyUsage",
        "2.5.29.16": "privateKeyUsagePeriod", "2.5.29.17": "subjectAltName", "2.5.29.18": "issuerAltName",
        "2.5.29.19": "basicConstraints", "2.5.29.20": "cRLNumber", "2.5.29.21": "reasonCode",
        "2.5.29.24": "invalidityDate", "2.5.29.27": "deltaCRLIndicator", "2.5.29.28": "issuingDistributionPoint",
        "2.5.29.29": "certificateIssuer", "2.5.29.30": "nameConstraints", "2.5.29.31": "cRLDistributionPoints",
        "2.5.29.32": "certificatePolicies", "2.5.29.32.0": "anyPolicy", "2.5.29.33": "policyMappings",
        "2.5.29.35": "authorityKeyIdentifier", "2.5.29.36": "policyConstraints", "2.5.29.37": "extKeyUsage",
        "2.5.29.37.0": "anyExtendedKeyUsage", "2.5.29.46": "freshestCRL", "2.5.29.54": "inhibitAnyPolicy",
        "1.3.6.1.5.5.7.1.1": "authorityInfoAccess", "1.3.6.1.5.5.7.1.3": "qcStatements",
        "1.3.6.1.5.5.7.1.11": "subjectInfoAccess", "1.3.6.1.5.5.7.2.1": "cps", "1.3.6.1.5.5.7.2.2": "unotice",
        "1.3.6.1.5.5.7.3.1": "serverAuth", "1.3.6.1.5.5.7.3.2": "clientAuth", "1.3.6.1.5.5.7.3.3": "codeSigning",
        "1.3.6.1.5.5.7.3.4": "emailProtection", "1.3.6.1.5.5.7.3.8": "timeStamping",
        "1.3.6.1.5.5.7.3.9": "OCSPSigning", "1.3.6.1.5.5.7.48.1": "ocsp", "1.3.6.1.5.5.7.48.1.5": "ocspNoCheck",
        "1.3.6.1.5.5.7.48.2": "caIssuers", "1.3.6.1.4.1.11129.2.4.2": "signedCertificateTimestamps",
        "2.16.840.1.113730.1.1": "netscapeCertType", "2.16.840.1.113730.1.13": "netscapeComment",
        // Apple
        "1.2.840.113635.100.5.1": "appleCertificatePolicy",
        "1.2.840.113635.100.5.6.1": "appStoreReceiptCertificatePolicy",
        "1.2.840.113635.100.6.2.1": "worldwideDeveloperRelationsMarker",
        "1.2.840.113635.100.6.2.6": "developerIDMarker",
        "1.2.840.113635.100.6.11.1": "receiptSigningMarker",
    ]
}
