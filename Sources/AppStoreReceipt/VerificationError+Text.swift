import SignatureTrust
import SpanASN1
import StrictText

extension VerificationError: CustomStringConvertible {
    /// The explanation, with the value found, the value expected and the place, where they are known.
    ///
    /// It is safe to log: values from the evidence are escaped and shortened.
    public var description: String {
        var text = explanation
        if let found { text += ": found \(found.excerpt)" }
        if let expected { text += "\(found == nil ? ":" : ",") expected \(expected.excerpt)" }
        var place: [String] = []
        if let part { place.append(part.rawValue) }
        if let path { place.append(path) }
        if let offset, let offsetBase { place.append("at byte \(offset) of the \(offsetBase.text)") }
        return place.isEmpty ? text : "\(text) (\(place.joined(separator: " ")))"
    }

    /// A clause that says what is wrong, without the values and the place.
    public var explanation: String {
        switch reason {
        case .input(let error): error.kind.explanation
        case .container(let error), .payload(let error): error.kind.explanation
        case .form(let fault, _): fault.explanation
        case .headerSyntax(let error), .members(let error, _): error.kind.explanation
        case .header(_, _, let count?):
            "the JWS header must have \(count.expected) certificates in `x5c`, but has \(count.found)"
        case .header(let fault, _, nil): fault.explanation
        case .propertyList(let error, _): error.kind.explanation
        case .signatureBlob(let fault, _): fault.explanation
        case .signature(let error, _), .chain(let error, _): error.kind.explanation
        case .date(let fault, _): fault.explanation
        case .policy(let violation, _, _): violation.explanation
        case .configuration(let fault, _): fault.explanation
        case .host(let fault): fault.kind.explanation
        }
    }
}

extension VerificationError.OffsetBase {
    var text: String {
        switch self {
        case .text: "text"
        case .binary: "binary receipt"
        case .header: "JWS header"
        case .payload: "signed payload"
        case .propertyList: "property list"
        case .signatureBlob: "decoded signature"
        case .certificates: "JWS certificates"
        }
    }
}

extension FormFault {
    var explanation: String {
        switch self {
        case .emptyInput: "the input is empty"
        case .inputTooLarge: "the JWS is larger than the limit"
        case .partCount: "a JWS must have exactly three parts, separated by dots"
        case .invalidBase64URL: "a part of the JWS is not base64url"
        }
    }
}

extension PropertyListError.Kind {
    package var explanation: String {
        switch self {
        case .truncated: "the property list ends before its closing brace"
        case .unexpectedCharacter: "the property list has a character that is not allowed at this position"
        case .unquotedString: "a key or a value of the property list is not in quotation marks"
        case .unsupportedEscape: "a string of the property list has a backslash"
        case .unsupportedComment: "the property list has a comment"
        case .unsupportedNesting: "a value of the property list is not a string"
        case .invalidString: "a string of the property list has a control character"
        case .invalidUTF8: "a string of the property list is not valid UTF-8"
        case .duplicateKey: "a key of the property list is repeated"
        case .tooManyKeys: "the property list has more than \(PropertyList.maximumKeyCount) keys"
        case .trailingData: "there is extra text after the end of the property list"
        case .missingKey: "a required key of the transaction receipt is missing"
        case .invalidBase64: "a value of the transaction receipt is not base64"
        case .unexpectedValue: "a value of the transaction receipt does not have the format of its key"
        case .datesDisagree: "the milliseconds, the GMT text and the Pacific text of a date are not the same date"
        }
    }
}

extension SignatureBlobFault {
    var explanation: String {
        switch self {
        case .unsupportedVersion: "the version of the transaction receipt's signature is not 2, 3 or 4"
        case .truncated: "the transaction receipt's signature ends before its certificate"
        case .certificateLength: "the stated length of the transaction receipt's certificate is not its length"
        case .rsa1024NotAllowed:
            "the transaction receipt has version 2, which is signed with an RSA key of 1024 bits, and the policy does not allow it"
        }
    }
}

extension HeaderFault {
    var explanation: String {
        switch self {
        case .missingAlgorithm: "the JWS header has no `alg`"
        case .unsupportedAlgorithm: "the `alg` of the JWS header is not ES256"
        case .criticalHeader: "the JWS header requires an extension that is not supported (`crit`)"
        case .foreignKey: "the JWS header has a key or the address of a key (`jwk`, `jku` or `x5u`)"
        case .missingCertificates: "the JWS header has no certificates (`x5c`)"
        case .certificateCount: "the JWS header does not have three certificates (one, with StoreKit Testing trust)"
        case .malformedCertificates: "a certificate in the JWS header is not base64"
        }
    }
}

extension DateFault {
    var explanation: String {
        switch self {
        case .missingCreationDate: "the receipt has no creation date"
        case .repeatedCreationDate: "the receipt has more than one creation date"
        case .unreadableCreationDate: "the creation date of the receipt is not a valid date"
        case .missingSignedDate: "the JWS payload has no signing date"
        case .repeatedSignedDate: "the JWS payload has more than one signing date"
        case .unreadableSignedDate: "the signing date of the JWS is not a valid date"
        case .missingPurchaseDate: "the transaction receipt has no purchase date"
        case .unreadablePurchaseDate: "a value of the purchase date is not a valid date"
        case .disagreeingPurchaseDates: PropertyListError.Kind.datesDisagree.explanation
        }
    }
}

extension PolicyViolation {
    var explanation: String {
        switch self {
        case .bundleIDMismatch: "the evidence is genuine, but its bundle id is not accepted"
        case .appAppleIDMismatch: "the evidence is genuine, but its app Apple id is not accepted"
        case .unknownEnvironment: "the evidence is genuine, but its environment is missing or unknown"
        case .environmentMismatch: "the evidence is genuine, but its environment is not accepted"
        case .partMismatch: "the notification and its signed part name different apps or environments"
        case .applicationVersionMismatch: "the receipt is genuine, but is for another version of the app"
        case .deviceMismatch: "the receipt is genuine, but was made for another device"
        case .receiptTooOld: "the receipt is genuine, but is older than the policy accepts"
        case .receiptFromTheFuture: "the receipt is genuine, but has a date in the future"
        case .signedTooLongAgo: "the JWS is genuine, but is older than the policy accepts"
        case .signedInTheFuture: "the JWS is genuine, but its signing date is in the future"
        }
    }
}

extension ConfigurationFault {
    var explanation: String {
        switch self {
        case .noTrustAnchor: "a verifier needs at least one root certificate to trust"
        case .noEnvironment: "a verifier needs at least one environment to accept"
        case .noBundleID: "a verifier needs at least one bundle id to accept, or nil for every app"
        case .environmentNotOfTrust:
            "the environments `xcode` and `local-testing` require StoreKit Testing trust, and it accepts no other environments"
        case .unusableTrustAnchor: "a root certificate cannot be used"
        case .noAppAppleID: "the JWS has no bundle id, and the policy has no app Apple id to compare"
        }
    }
}

extension HostFault {
    /// The same fault in `SignatureTrust`, whose words are used.
    var kind: SignatureTrustError.Kind {
        switch self {
        case .algorithmUnavailable: .algorithmUnavailable
        case .outOfMemory: .outOfMemory
        case .libcryptoFailure: .libcryptoFailure
        }
    }
}
