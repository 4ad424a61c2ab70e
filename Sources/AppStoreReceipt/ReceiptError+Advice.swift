import SignatureTrust
import SpanASN1

// For people: what to do about an error, and what stands where it is.

extension ReceiptError {
    /// What to do about it, in one or two sentences.
    public var advice: String {
        switch self {
        case .input(let error):
            switch error.kind {
            case .inputTooLarge: "Raise `VerificationLimits.maximumByteCount` if you expect receipts of this size."
            case .missingReceiptData: "Send the receipt as the member `receipt-data`, or by itself."
            default:
                "Have the client send the file's bytes or their base64, unchanged: in a form, `+` must be percent-encoded."
            }
        case .container(let error) where error.kind == .inputTooLarge || error.kind == .tooManyElements:
            "Apple's receipts are far below the limits; `VerificationLimits` holds them."
        case .container:
            "It was damaged or cut on its way, or is no receipt. Have the app refresh its receipt and send it again."
        case .signature(let error), .chain(let error): error.kind.advice
        case .creationDate: "Apple dates every receipt: this is no receipt of an app."
        case .payload:
            "A trusted signer has made what cannot be read here. Keep the receipt, look for a newer version of this library, report it."
        case .policy(let violation):
            switch violation {
            case .bundleIDMismatch: "Another app's receipt, unless a bundle id is missing in `ReceiptPolicy.bundleIDs`."
            case .unknownEnvironment:
                "Keep the receipt and report it: Apple has signed a type that this library does not know."
            case .environmentMismatch:
                "Receipts of TestFlight and App Review are from the sandbox: send them to a verifier that accepts it."
            case .applicationVersionMismatch: "Have the app refresh its receipt after an update."
            case .deviceMismatch: "Another device's receipt, or another identifier than the one that it was made with."
            case .receiptTooOld: "Have the app refresh its receipt, or raise `ReceiptPolicy.maximumAge`."
            case .receiptFromTheFuture: "Check this host's clock; if it is right, refuse the receipt."
            }
        case .configuration(let fault):
            switch fault {
            case .noTrustAnchor: "Give at least one root certificate."
            case .noEnvironment: "Name the environments to accept."
            case .environmentNotOfTrust:
                "Make one verifier for Xcode's receipts, with StoreKit Testing trust, and another for Apple's."
            case .unusableTrustAnchor: "Give a root with a key and an algorithm that `AlgorithmPolicy` accepts."
            }
        case .host(let fault):
            switch fault {
            case .algorithmUnavailable: SignatureTrustError.Kind.algorithmUnavailable.advice
            case .outOfMemory: SignatureTrustError.Kind.outOfMemory.advice
            case .libcryptoFailure: SignatureTrustError.Kind.libcryptoFailure.advice
            }
        }
    }

    /// What stands at ``offset`` in an input that was refused, escaped and shortened, for a log: `"2018-13-12T25:00:00Z"`, or the first octets
    /// in hexadecimal of what is no string.
    ///
    /// - Parameter input: the bytes that were given to the verifier.
    /// - Returns: `nil` for an error without a place, or with one behind the end of `input`, and where `input` is not what was refused.
    public func excerpt(of input: [UInt8]) -> String? {
        guard let offset else { return nil }
        if isOffsetIntoText { return input.dropFirst(offset).quoted }
        var limits = VerificationLimits()
        limits.maximumByteCount = .max
        guard let binary = try? ReceiptInput.binary(of: input, limits) else { return nil }
        let rest = binary.dropFirst(offset)
        var cursor = ASN1Cursor(rest.span)
        let strings: [ASN1Tag] = [.utf8String, .ia5String, .printableString, .utcTime, .generalizedTime]
        if let element = try? cursor.read(), strings.contains(element.tag) {
            return [UInt8](copying: element.content)[...].quoted
        }
        return rest.isEmpty ? nil : rest.prefix(8).hexadecimal + (rest.count > 8 ? "…" : "")
    }
}

extension ArraySlice<UInt8> {
    /// The first characters between quotation marks; `nil` where there are none.
    fileprivate var quoted: String? {
        guard !isEmpty else { return nil }
        let limit = 32
        // Nothing but ASCII: other characters can break lines, hide or turn around what stands beside them.
        let text = String(decoding: prefix(limit), as: UTF8.self).unicodeScalars.map { $0.escaped(asASCII: true) }
            .joined()
        return "\"" + text + (count > limit ? "…\"" : "\"")
    }

    fileprivate var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    }
}

extension SignedDataError {
    /// What to do about it, in one or two sentences.
    public var advice: String {
        switch reason {
        case .form(.inputTooLarge, _):
            "Raise `SignedDataPolicy.maximumByteCount` if you expect signed data of this size."
        case .form: "Have the client send `jwsRepresentation` unchanged."
        case .headerSyntax, .header:
            "Apple's headers are not so: refuse it, and watch who sends it. Signed data of StoreKit Testing in Xcode needs `AppStoreTrust.storeKitTesting`."
        case .signature(let error), .chain(let error): error.kind.advice
        case .signedDate: "Apple dates what it signs: refuse it."
        case .payload:
            "Ask for the kind that was sent. If it is of that kind, look for a newer version of this library, and report it."
        case .policy(let violation):
            switch violation {
            case .bundleIDMismatch: ReceiptError.policy(.bundleIDMismatch).advice
            case .appAppleIDMismatch: "Another app's, unless the Apple id in the policy is wrong."
            case .unknownEnvironment: ReceiptError.policy(.unknownEnvironment).advice
            case .environmentMismatch:
                "Transactions of TestFlight and App Review are from the sandbox: send them to a verifier that accepts it."
            case .partMismatch: "Keep the notification and report it: Apple's parts agree."
            case .signedTooLongAgo: "Have the app send a newer one, or raise `SignedDataPolicy.maximumAge`."
            case .signedInTheFuture: "Check this host's clock; if it is right, refuse it."
            }
        case .configuration(let fault):
            switch fault {
            case .noTrustAnchor: ReceiptError.configuration(.noTrustAnchor).advice
            case .noEnvironment: ReceiptError.configuration(.noEnvironment).advice
            case .environmentNotOfTrust: ReceiptError.configuration(.environmentNotOfTrust).advice
            case .unusableTrustAnchor: ReceiptError.configuration(.unusableTrustAnchor).advice
            case .noAppAppleID: "Give `SignedDataPolicy.appAppleID`, the app's Apple id."
            }
        case .host(let fault): ReceiptError.host(fault).advice
        }
    }
}

extension EvidenceError {
    /// What to do about it, in one or two sentences.
    public var advice: String {
        switch self {
        case .receipt(let error): error.advice
        case .signedData(let error): error.advice
        }
    }
}

extension SignatureTrustError.Kind {
    /// What to do about it, in one or two sentences.
    var advice: String {
        switch self {
        case .signerCount, .missingContent, .unexpectedContent, .unexpectedContentType, .missingSigner,
            .missingSignerCertificate, .ambiguousSignerCertificate, .tooManyAttributes:
            "Apple's receipts are not built so: have the app refresh its receipt, and watch who sends such ones."
        case .unsupportedAlgorithm, .algorithmMismatch, .weakAlgorithm, .weakKey, .unsupportedKey,
            .missingSignedAttributes, .signedAttributesAsContent, .invalidSignedAttributes, .missingSigningTime,
            .futureSigningTime:
            "Apple does not sign so, unless `AlgorithmPolicy` was narrowed: refuse it, and watch who sends it."
        case .contentDigestMismatch: "It was altered after it was signed: refuse it, and watch who sends it."
        case .invalidSignature, .invalidCertificateSignature:
            "It was forged or damaged: refuse it, and watch who sends it."
        case .untrustedChain, .invalidChainLength, .invalidIssuer, .invalidKeyUsage, .invalidExtendedKeyUsage,
            .unknownCriticalExtension, .missingLeafMarker, .missingIntermediateMarker, .malformedCertificate,
            .certificateTooLarge:
            "Not signed by whom it should be: refuse it. Receipts of StoreKit Testing in Xcode need `AppStoreTrust.storeKitTesting`."
        case .certificateExpired:
            "Receipts outlive their signers: judge them at their creation date, the default. If you do, it is forged."
        case .certificateNotYetValid: "It is dated before its signer's certificate: refuse it, and watch who sends it."
        case .distrustedCertificate, .revokedCertificate: "You distrust its signer: refuse it, and watch who sends it."
        case .missingRevocationList, .malformedRevocationList, .deltaRevocationList, .unsupportedRevocationList:
            "Give a current, full revocation list of each issuer."
        case .algorithmUnavailable: "Allow SHA-1 signatures on this host, or refuse them in `AlgorithmPolicy`."
        case .outOfMemory: "Give this host more memory, then verify the receipt again."
        case .libcryptoFailure:
            "Check this host's OpenSSL (3.0 or later) and its configuration, then verify the receipt again."
        }
    }
}
