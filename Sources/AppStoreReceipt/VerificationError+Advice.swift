import SignatureTrust
import SpanASN1
import StrictText

extension VerificationError {
    /// One or two sentences that say what to do. They name the members of this library's API.
    public var advice: String {
        switch reason {
        case .input(let error):
            switch error.kind {
            case .inputTooLarge: "If you expect receipts of this size, raise `VerificationLimits.maximumByteCount`."
            case .missingReceiptData:
                "Send the evidence by itself, or as the member `receipt-data` or `signedPayload` of a JSON object."
            case .emptyInput:
                "Check that the client sends evidence, and that your server passes on the field or the body that has it."
            case .invalidJSON: "Send one JSON object, which has the evidence as one string."
            case .unrecognizedForm, .invalidBase64, .invalidPEM:
                "Have the client send the receipt or its base64 unchanged. In a form, percent-encode `+`."
            }
        case .container(let error) where error.kind == .inputTooLarge || error.kind == .tooManyElements:
            "Apple's receipts are far below the limits. If you expect larger ones, raise `VerificationLimits`."
        case .container:
            "The receipt was damaged or cut off in transit, or is not a receipt. Have the app refresh its receipt and send it again."
        case .form(.inputTooLarge, _):
            "If you expect a JWS of this size, raise `VerificationLimits.maximumJWSByteCount`."
        case .form(.emptyInput, _):
            "Check that the client sends a JWS, and that your server passes on the field or the body that has it."
        case .form(.partCount, _), .form(.invalidBase64URL, _):
            "Pass what StoreKit or Apple's server gave as a JWS, such as `jwsRepresentation` or `signedPayload`, unchanged."
        case .headerSyntax, .header:
            "Apple does not send such a header. Refuse the evidence, and log who sent it. For a JWS from StoreKit Testing in Xcode, use `AppStoreTrust.storeKitTesting`."
        case .propertyList(let error, .propertyList):
            switch error.kind {
            case .missingKey:
                "Without a signature and what it signs, nothing is proved. Refuse the evidence. Have the client send `transactionReceipt` unchanged."
            default: "Have the client send `transactionReceipt` or its base64 unchanged."
            }
        case .propertyList(_, .payload):
            "Apple signed something that this version of the library cannot read. Keep the receipt, look for a newer version, and report the error."
        case .signatureBlob(let fault, _): fault.advice
        case .signature(let error, _), .chain(let error, _): error.kind.advice
        case .date: "Apple dates everything that it signs. Refuse the evidence, and log who sent it."
        case .payload:
            "Apple signed something that this version of the library cannot read. Keep the receipt, look for a newer version, and report the error."
        case .members:
            "Verify the evidence with the method for its kind, or with `verify(_:)`. If you did, look for a newer version of this library, and report the error."
        case .policy(let violation, _, _): violation.advice(foundEnvironment)
        case .configuration(let fault, _): fault.advice
        case .host(let fault): fault.kind.advice
        }
    }

    /// The environment in ``found``, if that is one.
    package var foundEnvironment: AppStoreEnvironment? {
        guard let found else { return nil }
        return AppStoreEnvironment.allCases.first { found.hasSameBytes(as: $0.rawValue) }
    }

    /// Returns the text at ``offset`` of a refused input, escaped and shortened for a log, such as `"2018-13-12T25:00:00Z"`. Bytes that are not text are
    /// in hexadecimal.
    ///
    /// - Parameter input: The bytes that the verifier refused.
    /// - Returns: The excerpt; `nil` if the error has no position in the input, for a JWS, and if `input` is not the refused input.
    public func excerpt(of input: [UInt8]) -> String? {
        guard part == nil, let offset else { return nil }
        switch offsetBase {
        case .text: return input.dropFirst(offset).excerpt
        case .binary: break
        default: return nil
        }
        var limits = VerificationLimits()
        limits.maximumByteCount = .max
        guard let binary = try? ReceiptInput.binary(of: input, limits) else { return nil }
        let rest = binary.dropFirst(offset)
        var cursor = ASN1Cursor(rest.span)
        let strings: [ASN1Tag] = [.utf8String, .ia5String, .printableString, .utcTime, .generalizedTime]
        if let element = try? cursor.read(), strings.contains(element.tag) {
            return [UInt8](copying: element.content)[...].excerpt
        }
        return rest.hexadecimalExcerpt
    }
}

extension SignatureBlobFault {
    fileprivate var advice: String {
        switch self {
        case .unsupportedVersion, .truncated, .certificateLength:
            "Apple does not sign like this. Refuse the evidence, and log who sent it."
        case .rsa1024NotAllowed:
            "To accept it, set `VerificationPolicy.allowsRSA1024TransactionReceipts`. Anyone who can factor Apple's 1024-bit key can then forge such receipts."
        }
    }
}

extension PolicyViolation {
    /// - Parameter environment: The environment that the policy does not accept.
    fileprivate func advice(_ environment: AppStoreEnvironment?) -> String {
        switch self {
        case .bundleIDMismatch:
            "If the app is yours, add its bundle id to `VerificationPolicy.bundleIDs`. Otherwise refuse the evidence."
        case .appAppleIDMismatch:
            "If the app is yours, correct `VerificationPolicy.appAppleID`. Otherwise refuse the evidence."
        case .unknownEnvironment:
            "Apple signed an environment that this version of the library does not know. Keep the evidence, and report the error."
        case .environmentMismatch:
            switch environment {
            case .sandbox:
                "TestFlight and App Review use the sandbox. Verify their evidence with a verifier that accepts the sandbox."
            case .production: "It is from production. Verify it with a verifier that accepts production."
            case .xcode, .localTesting:
                "It is from Xcode, where nobody pays. In tests, verify it with `AppStoreTrust.storeKitTesting`."
            case nil:
                "Verify it with a verifier that accepts its environment. TestFlight and App Review use the sandbox."
            }
        case .partMismatch:
            "The parts of Apple's notifications agree with each other. Keep the notification, and report the error."
        case .applicationVersionMismatch: "Have the app refresh its receipt after an update."
        case .deviceMismatch: "Refuse the receipt, unless you compared it with the wrong device identifier."
        case .receiptTooOld, .signedTooLongAgo:
            "Have the app send newer evidence, or raise `VerificationPolicy.maximumAge`."
        case .receiptFromTheFuture, .signedInTheFuture:
            "Check the clock of this host. If it is right, refuse the evidence."
        }
    }
}

extension ConfigurationFault {
    fileprivate var advice: String {
        switch self {
        case .noTrustAnchor: "Pass at least one root certificate."
        case .noEnvironment: "Pass the environments to accept."
        case .noBundleID: "Pass the bundle ids to accept, or `nil` to accept every app."
        case .environmentNotOfTrust:
            "Make one verifier with `AppStoreTrust.storeKitTesting` for evidence from Xcode, and another for Apple's."
        case .unusableTrustAnchor:
            "Pass self-signed root certificates whose keys and algorithms `AlgorithmPolicy` accepts. Intermediates come with the evidence."
        case .noAppAppleID: "Pass the app's Apple id as `VerificationPolicy.appAppleID`."
        }
    }
}

extension SignatureTrustError.Kind {
    /// One or two sentences that say what to do.
    var advice: String {
        switch self {
        case .signerCount, .missingContent, .unexpectedContent, .unexpectedContentType, .missingSigner,
            .missingSignerCertificate, .ambiguousSignerCertificate, .tooManyAttributes,
            .tooManyPaths:
            "Apple does not build receipts like this. Have the app refresh its receipt, and log who sent this one."
        case .unsupportedAlgorithm, .algorithmMismatch, .weakAlgorithm, .weakKey, .unsupportedKey:
            "Apple's signatures pass the default `AlgorithmPolicy`. If you narrowed it, check your change. Otherwise refuse the evidence, and log who sent it."
        case .keySizeMismatch: "Apple does not sign like this. Refuse the evidence, and log who sent it."
        case .unpinnedIssuer:
            "Apple did not sign the evidence, or signed it under an intermediate that this version of the library does not know. If Apple publishes it, add it with `AppStoreTrust.adding(_:to:)`."
        case .missingSignedAttributes, .signedAttributesAsContent, .invalidSignedAttributes, .missingSigningTime,
            .futureSigningTime:
            "Apple does not sign like this. Refuse the evidence, and log who sent it."
        case .contentDigestMismatch: "The evidence was changed after it was signed. Refuse it, and log who sent it."
        case .invalidSignature, .invalidCertificateSignature:
            "The evidence was forged or damaged. Refuse it, and log who sent it."
        case .untrustedChain, .invalidChainLength, .invalidIssuer, .invalidKeyUsage, .invalidExtendedKeyUsage,
            .unknownCriticalExtension, .missingLeafMarker, .missingIntermediateMarker, .malformedCertificate,
            .certificateTooLarge:
            "Apple did not sign the evidence. Refuse it. For evidence from StoreKit Testing in Xcode, use `AppStoreTrust.storeKitTesting`."
        case .certificateExpired:
            "Evidence outlives its signer's certificate. Validate it at its signing date, which is the default. If you did, refuse it as forged."
        case .certificateNotYetValid:
            "The evidence is dated before its signer's certificate became valid. Refuse it, and log who sent it."
        case .distrustedCertificate, .revokedCertificate:
            "You distrust a certificate of its signer. Refuse the evidence, and log who sent it."
        case .missingRevocationList, .malformedRevocationList, .deltaRevocationList, .unsupportedRevocationList:
            "Pass a current, full revocation list of each issuer."
        case .anchorNotSelfSigned: "Pass only root certificates. Intermediates come with the evidence."
        case .algorithmUnavailable:
            "Allow SHA-1 signatures on this host (on RHEL 9, run `update-crypto-policies --set DEFAULT:SHA1`), or refuse them in `AlgorithmPolicy`."
        case .outOfMemory: "Give the process more memory, then verify the evidence again."
        case .libcryptoFailure:
            "Check the OpenSSL (3.0 or later) of this host and its configuration, then verify the evidence again."
        }
    }
}
