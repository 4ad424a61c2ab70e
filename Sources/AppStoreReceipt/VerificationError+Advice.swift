import SignatureTrust
import SpanASN1
import StrictText

extension VerificationError {
    /// What to do about it, in one or two sentences, for whoever calls this library. (The command's advice names its options.)
    public var advice: String {
        switch reason {
        case .input(let error):
            switch error.kind {
            case .inputTooLarge: "If you expect receipts of this size, raise `VerificationLimits.maximumByteCount`."
            case .missingReceiptData: "Send the evidence by itself, or as a member `receipt-data` or `signedPayload`."
            default: "Have the client send the receipt or its base64 unchanged. In a form, percent-encode `+`."
            }
        case .container(let error) where error.kind == .inputTooLarge || error.kind == .tooManyElements:
            "Apple's receipts are far below the limits of `VerificationLimits`. Raise them if you expect larger ones."
        case .container:
            "The receipt was damaged or cut off on its way, or is not a receipt. Have the app refresh its receipt and send it again."
        case .form(.inputTooLarge, _):
            "If you expect a JWS of this size, raise `VerificationLimits.maximumJWSByteCount`."
        case .form: "Have the client send `jwsRepresentation` unchanged."
        case .headerSyntax, .header:
            "Apple does not send such a header: refuse it, and watch who sends it. A JWS from StoreKit Testing in Xcode needs `AppStoreTrust.storeKitTesting`."
        case .signature(let error, _), .chain(let error, _): error.kind.advice
        case .date: "Apple dates everything it signs: refuse it."
        case .payload:
            "Apple signed something that this version cannot read. Keep the receipt, look for a newer version of this library, and report it."
        case .members:
            "Verify it with the method for its kind. If it is of that kind, look for a newer version of this library, and report it."
        case .policy(let violation, _, _): violation.advice
        case .configuration(let fault, _): fault.advice
        case .host(let fault): fault.kind.advice
        }
    }

    /// What stands at ``offset`` of an input that was refused, escaped and shortened, for a log: `"2018-13-12T25:00:00Z"`, or the first bytes in
    /// hexadecimal of what is not a string.
    ///
    /// - Parameter input: the bytes that were given to the verifier.
    /// - Returns: `nil` for an error without a place in the input, for a JWS, and where `input` is not what was refused.
    public func excerpt(of input: [UInt8]) -> String? {
        guard part == nil, let offset else { return nil }
        switch offsetBase {
        case .text: return input.dropFirst(offset).quoted(limit: 32)
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
            return [UInt8](copying: element.content)[...].quoted(limit: 32)
        }
        return rest.isEmpty ? nil : rest.prefix(8).hexadecimal + (rest.count > 8 ? "…" : "")
    }
}

extension ArraySlice<UInt8> {
    /// The first characters between quotation marks; `nil` where there are none.
    func quoted(limit: Int) -> String? {
        guard !isEmpty else { return nil }
        // Nothing but ASCII: other characters can break lines, hide or turn around what stands beside them.
        let text = String(decoding: prefix(limit), as: UTF8.self).unicodeScalars.map { $0.escaped(asASCII: true) }
            .joined()
        return "\"" + text + (count > limit ? "…\"" : "\"")
    }

    fileprivate var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    }
}

extension PolicyViolation {
    fileprivate var advice: String {
        switch self {
        case .bundleIDMismatch:
            "If it is your app, add its bundle id to `VerificationPolicy.bundleIDs`. Otherwise refuse it."
        case .appAppleIDMismatch: "If it is your app, correct `VerificationPolicy.appAppleID`. Otherwise refuse it."
        case .unknownEnvironment:
            "Keep it and report it: Apple signed an environment that this version of the library does not know."
        case .environmentMismatch:
            "Evidence from TestFlight and App Review is from the sandbox: verify it with a verifier that accepts the sandbox."
        case .partMismatch: "Keep the notification and report it: the parts that Apple sends agree."
        case .applicationVersionMismatch: "Have the app refresh its receipt after an update."
        case .deviceMismatch: "Refuse it, unless the identifier is not the one that the receipt was made with."
        case .receiptTooOld, .signedTooLongAgo:
            "Have the app send newer evidence, or raise `VerificationPolicy.maximumAge`."
        case .receiptFromTheFuture, .signedInTheFuture: "Check this host's clock. If it is right, refuse the evidence."
        }
    }
}

extension ConfigurationFault {
    fileprivate var advice: String {
        switch self {
        case .noTrustAnchor: "Give at least one root certificate."
        case .noEnvironment: "Name the environments to accept."
        case .noBundleID: "Name the bundle ids to accept, or give `nil` to accept every app."
        case .environmentNotOfTrust:
            "Make one verifier with `AppStoreTrust.storeKitTesting` for evidence from Xcode, and another for Apple's."
        case .unusableTrustAnchor: "Give a root certificate whose key and algorithm `AlgorithmPolicy` accepts."
        case .noAppAppleID: "Give the app's Apple id as `VerificationPolicy.appAppleID`."
        }
    }
}

extension SignatureTrustError.Kind {
    /// What to do about it, in one or two sentences.
    var advice: String {
        switch self {
        case .signerCount, .missingContent, .unexpectedContent, .unexpectedContentType, .missingSigner,
            .missingSignerCertificate, .ambiguousSignerCertificate, .tooManyAttributes,
            .tooManyPaths:
            "Apple does not build receipts like this. Have the app refresh its receipt, and watch who sends such ones."
        case .unsupportedAlgorithm, .algorithmMismatch, .weakAlgorithm, .weakKey, .unsupportedKey,
            .missingSignedAttributes, .signedAttributesAsContent, .invalidSignedAttributes, .missingSigningTime,
            .futureSigningTime:
            "Unless you narrowed `AlgorithmPolicy`: Apple never signs with this algorithm. Refuse it, and watch who sends it."
        case .contentDigestMismatch: "It was altered after it was signed: refuse it, and watch who sends it."
        case .invalidSignature, .invalidCertificateSignature:
            "It was forged or damaged: refuse it, and watch who sends it."
        case .untrustedChain, .invalidChainLength, .invalidIssuer, .invalidKeyUsage, .invalidExtendedKeyUsage,
            .unknownCriticalExtension, .missingLeafMarker, .missingIntermediateMarker, .malformedCertificate,
            .certificateTooLarge:
            "Apple did not sign it: refuse it. Evidence from StoreKit Testing in Xcode needs `AppStoreTrust.storeKitTesting`."
        case .certificateExpired:
            "Evidence outlives its signer's certificate: judge it at its date of signing, the default. If you do, it is forged."
        case .certificateNotYetValid:
            "It is dated before its signer's certificate became valid: refuse it, and watch who sends it."
        case .distrustedCertificate, .revokedCertificate:
            "You distrust its signer: refuse it, and watch who sends it."
        case .missingRevocationList, .malformedRevocationList, .deltaRevocationList, .unsupportedRevocationList:
            "Give a current revocation list of each issuer."
        case .algorithmUnavailable: "Allow SHA-1 signatures on this host, or refuse them in `AlgorithmPolicy`."
        case .outOfMemory: "Give this host more memory, then verify the evidence again."
        case .libcryptoFailure:
            "Check this host's OpenSSL (3.0 or later) and its configuration, then verify the evidence again."
        }
    }
}
