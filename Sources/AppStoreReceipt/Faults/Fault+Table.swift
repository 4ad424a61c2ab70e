import SignatureTrust
import SpanASN1
import StrictText

// The table of faults. The code of a row is the raw value of the kind that the check found. Kinds of the modules below
// explain themselves.

extension VerificationError.Reason {
    /// The row of this reason.
    var fault: Fault {
        switch self {
        case .input(let error): error.kind.fault
        case .container(let error): error.kind.containerFault
        case .compactJWS(let fault, _): fault.fault
        case .headerSyntax(let error):
            Fault(error.kind.rawValue, .header, .client, error.kind.explanation, { .malformedHeader })
        case .header(let fault, _, let count): fault.fault(count)
        case .propertyList(let error, .propertyList): error.kind.propertyListFault
        case .propertyList(let error, .payload):
            Fault(error.kind.rawValue, .payload, .library, error.kind.explanation, { .unreadableContents })
        case .signatureBlob(let fault, _): fault.fault
        case .signature(let error, let kind): error.kind.fault(.signature, kind)
        case .date(let fault, _): fault.fault
        case .chain(let error, let kind): error.kind.fault(.chain, kind)
        case .payload(let error):
            Fault(error.kind.rawValue, .payload, .library, error.kind.explanation, { .unreadableContents })
        case .members(let error, _, let expected): error.kind.payloadFault(isOfAnotherKind: expected != nil)
        case .policy(let violation, let found, _): violation.fault(found)
        case .configuration(let fault, _): fault.fault
        case .host(let kind): kind.fault(.verifier, .receipt)
        }
    }
}

extension InputError.Kind {
    package var fault: Fault {
        func row(_ explanation: String, _ advice: @autoclosure @escaping @Sendable () -> Advice) -> Fault {
            Fault(rawValue, .input, .client, explanation, advice)
        }
        return switch self {
        case .emptyInput:
            row(
                "the input is empty",
                [
                    .beyondCommand(
                        "Check that the client sends evidence, and that your server passes on the field or the body that has it."
                    ),
                    .inCommand("Pass a file that has evidence, or pipe evidence into the command."),
                ])
        case .inputTooLarge: row("the input is larger than the limit", .belowLimits)
        case .unrecognizedForm:
            row(
                "the input is not a JWS, binary PKCS#7, base64, PEM, a JSON object or a property list",
                .unchangedEvidence)
        case .invalidBase64: row("the base64 has an invalid character or is incomplete", .unchangedReceipt)
        case .invalidPEM: row("the PEM file has a wrong label, no end line, or text after its end", .unchangedReceipt)
        case .invalidJSON:
            row(
                "the JSON is malformed, or the member with the evidence is repeated or not a string",
                "Send one JSON object, which has the evidence as one string.")
        case .missingReceiptData:
            row(
                "the JSON object has no member with evidence, such as `receipt-data`",
                "Send the evidence by itself, or as the member `receipt-data` or `signedPayload` of a JSON object.")
        case .ambiguousEvidence:
            row(
                "several members that do not belong together have different evidence",
                "Have the client send the evidence of one purchase in one member: `jwsRepresentation` or the receipt.")
        case .evidenceInMember:
            row(
                "the evidence is in a member that is not read, which `path` names",
                "Have your server or the client send the value of that member alone.")
        case .severalPieces:
            row(
                "the input has several pieces of evidence",
                [
                    "Send each piece by itself, or all as an array where one is taken, such as to decide about entitlements.",
                    .inCommand("To verify a file with one piece in each line, use `receipt batch`."),
                ])
        case .truncated: row("the evidence was cut off", .cutOff(nil))
        case .unsignedTransaction:
            row(
                "the input is JSON about a purchase without Apple's signature",
                "Anyone can write this. Have the client send `jwsRepresentation` of the `VerificationResult`, and not `jsonRepresentation` or a part of the JWS."
            )
        case .transactionID:
            row(
                "the input is the id of a transaction, which proves nothing",
                "Have the client send `jwsRepresentation` or the receipt. If it has only the id, ask Apple for the transaction with the App Store Server API, as `/v1/recover` of the service does."
            )
        case .googlePlay:
            row(
                "the input is of Google Play",
                "Have your server send purchases from Android to Google's API. Distinguish them by the platform that the client states."
            )
        case .html:
            row(
                "the input is a page in HTML or XML",
                "A proxy, a CDN or a login page answered in place of what was asked. Check the address from which your server or the client took the evidence, and the status of that answer."
            )
        case .hexadecimal:
            row(
                "the input is a receipt in hexadecimal",
                "Have the client send `receipt.base64EncodedString()`, and not the description of the data.")
        case .utf16:
            row("the input is a text in UTF-16", "Have the client send the text in UTF-8.")
        case .leakedText:
            row(
                "the input has what a language writes around a value or in place of one, or was shortened",
                "Have the client send the value itself, and only if there is one: not `null`, `undefined`, `[object Object]`, `Optional(\"…\")` or `b'…'`, without `Bearer `, curly quotes and ellipses, and not a copy from a log."
            )
        }
    }
}

extension ASN1DecodingError.Kind {
    /// The row for the container of a receipt.
    fileprivate var containerFault: Fault {
        let isAboveLimit = self == .inputTooLarge || self == .tooManyElements
        return Fault(
            rawValue, .container, .client, explanation,
            { isAboveLimit ? .belowLimits : .damagedReceipt })
    }
}

extension CompactJWSFault {
    fileprivate var fault: Fault {
        func row(_ explanation: String, _ advice: @autoclosure @escaping @Sendable () -> Advice) -> Fault {
            Fault(rawValue, .form, .client, explanation, advice)
        }
        return switch self {
        case .emptyInput:
            row(
                "the input is empty",
                "Check that the client sends a JWS, and that your server passes on the field or the body that has it.")
        case .inputTooLarge: row("the JWS is larger than the limit", .belowLimits)
        case .partCount: row("a JWS must have exactly three parts, separated by dots", .unchangedJWS)
        case .invalidBase64URL: row("a part of the JWS is not base64url", .unchangedJWS)
        }
    }
}

extension HeaderFault {
    fileprivate func fault(_ count: CertificateCount?) -> Fault {
        func row(_ explanation: String) -> Fault { Fault(rawValue, .header, .client, explanation, { .foreignHeader }) }
        return switch self {
        case .missingAlgorithm: row("the JWS header has no `alg`")
        case .unsupportedAlgorithm: row("the `alg` of the JWS header is not ES256")
        case .criticalHeader: row("the JWS header requires an extension that is not supported (`crit`)")
        case .foreignKey: row("the JWS header has a key or the address of a key (`jwk`, `jku` or `x5u`)")
        case .missingCertificates: row("the JWS header has no certificates (`x5c`)")
        case .certificateCount:
            row(
                count.map {
                    "the JWS header must have \($0.expected) certificates in `x5c`, but has \($0.found)"
                } ?? "the JWS header does not have three certificates (one, with StoreKit Testing trust)")
        case .malformedCertificates: row("a certificate in the JWS header is not base64")
        }
    }
}

extension PropertyListError.Kind {
    /// The row for the outer property list of a transaction receipt.
    fileprivate var propertyListFault: Fault {
        Fault(
            rawValue, .form, .client, explanation,
            { self == .missingKey ? .unsigned : .unchangedTransactionReceipt })
    }

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
    fileprivate var fault: Fault {
        func row(_ explanation: String) -> Fault {
            Fault(rawValue, .header, .client, explanation, { .foreignSignature })
        }
        return switch self {
        case .unsupportedVersion: row("the version of the transaction receipt's signature is not 2, 3 or 4")
        case .truncated: row("the transaction receipt's signature ends before its certificate")
        case .certificateLength:
            row("the stated length of the transaction receipt's certificate is not its length")
        case .rsa1024NotAllowed:
            Fault(
                rawValue, .signature, .client,
                "the transaction receipt has version 2, which is signed with an RSA key of 1024 bits, and the policy does not allow it",
                {
                    [
                        "Anyone who can factor Apple's 1024-bit key can forge such receipts.",
                        "To accept them nevertheless, \(.use(.allowsRSA1024)).",
                    ]
                })
        }
    }
}

extension SignatureTrustError.Kind {
    /// The row for a stage and a kind of evidence.
    fileprivate func fault(_ stage: VerificationError.Stage, _ kind: EvidenceKind) -> Fault {
        func row(saying words: String? = nil, _ advice: @autoclosure @escaping @Sendable () -> Advice) -> Fault {
            Fault(rawValue, stage, .forger, words ?? explanation, advice)
        }
        /// A receipt without its required parts counts as damaged. In a JWS, its maker put the certificates into the
        /// header.
        func structure() -> Fault {
            kind == .receipt && stage == .signature
                ? Fault(rawValue, .container, .client, explanation, { .foreignStructure }) : row(.foreignStructure)
        }
        func host(_ advice: @autoclosure @escaping @Sendable () -> Advice) -> Fault {
            Fault(rawValue, .verifier, .host, explanation, advice)
        }
        return switch self {
        case .signerCount, .missingContent, .unexpectedContentType, .missingSignerCertificate,
            .ambiguousSignerCertificate:
            structure()
        case .unsupportedAlgorithm, .algorithmMismatch, .weakAlgorithm, .weakKey, .unsupportedKey:
            row([
                "Apple does not sign like this. Refuse the evidence, and log who sent it.",
                .inSwift("If you narrowed `AlgorithmPolicy`, check your change."),
            ])
        // Only transaction receipts have fixed key sizes and pinned intermediates.
        case .keySizeMismatch:
            row(
                saying: "the key does not have the size that the version of the transaction receipt requires",
                .foreignSignature)
        case .invalidSignedAttributes: row(.foreignSignature)
        case .contentDigestMismatch:
            row("The evidence was changed after it was signed. Refuse it, and log who sent it.")
        case .invalidSignature, .invalidCertificateSignature:
            row("The evidence was forged or damaged. Refuse it, and log who sent it.")
        case .untrustedChain:
            row([
                .if(.apple, "Apple did not sign the evidence. Refuse it."),
                .if(.unknown, "No trusted root signed the evidence. Refuse it."),
                .if(.roots, "No root that you passed signed the evidence. If Apple signed it, \(.omit(.roots))."),
                .if(
                    .storeKitTesting,
                    "The certificate that you passed for Xcode did not sign the evidence. If Apple signed it, \(.omit(.storeKitTesting))."
                ),
                .if(.apple, "If you minted it, \(.pass(.roots, "its root certificate"))."),
                .unless(.storeKitTesting, "If Xcode made it, \(.use(.storeKitTesting)) with Xcode's certificate."),
            ])
        case .unpinnedIssuer:
            row(
                saying:
                    "the signer's certificate was not issued by an intermediate that is pinned for the version of the transaction receipt",
                [
                    "Apple did not sign the evidence, or signed it under an intermediate that this version of the library does not know. Refuse it.",
                    "If Apple publishes the intermediate, \(.pass(.transactionReceiptIssuers, "it")).",
                ])
        case .invalidChainLength, .invalidIssuer, .invalidKeyUsage, .unknownCriticalExtension, .missingLeafMarker,
            .missingIntermediateMarker, .malformedCertificate,
            .certificateTooLarge:
            row([
                .unless(.roots, "Apple did not sign the evidence. Refuse it."),
                .if(.roots, "The certificates of Apple's signers are not like this. Refuse the evidence."),
            ])
        case .certificateExpired:
            row([
                .unlessDated(
                    "The evidence is dated after its signer's certificate expired. Refuse it, and log who sent it."),
                .ifDated(
                    "Evidence outlives its signer's certificate. To validate it at its signing date, \(.omit(.validationDate)). If you did, refuse it."
                ),
            ])
        case .certificateNotYetValid:
            row([
                .unlessDated(
                    "The evidence is dated before its signer's certificate became valid. Refuse it, and log who sent it."
                ),
                .ifDated(
                    "The signer's certificate was not valid yet. To validate it at the signing date, \(.omit(.validationDate)). If you did, refuse the evidence."
                ),
            ])
        case .distrustedCertificate:
            row(
                "A certificate of its signer is among those of \(.name(.distrusted)). Refuse the evidence, and log who sent it."
            )
        case .anchorNotSelfSigned:
            row("Pass only root certificates. Intermediates come with the evidence.")
        case .algorithmUnavailable:
            host([
                "Allow SHA-1 signatures on this host. On RHEL 9, run `update-crypto-policies --set DEFAULT:SHA1`.",
                .inSwift("Or refuse them in `AlgorithmPolicy`."),
            ])
        case .outOfMemory: host("Give the process more memory, then verify the evidence again.")
        case .libcryptoFailure:
            host("Check the OpenSSL (3.0 or later) of this host and its configuration, then verify the evidence again.")
        }
    }
}

extension DateFault {
    fileprivate var fault: Fault {
        func row(_ explanation: String) -> Fault {
            Fault(
                rawValue, .date, .forger, explanation,
                { "Apple dates everything that it signs. Refuse the evidence, and log who sent it." })
        }
        return switch self {
        case .missingCreationDate: row("the receipt has no creation date")
        case .repeatedCreationDate: row("the receipt has more than one creation date")
        case .unreadableCreationDate: row("the creation date of the receipt is not a valid date")
        case .missingSignedDate: row("the JWS payload has no signing date")
        case .repeatedSignedDate: row("the JWS payload has more than one signing date")
        case .unreadableSignedDate: row("the signing date of the JWS is not a valid date")
        case .missingPurchaseDate: row("the transaction receipt has no purchase date")
        case .unreadablePurchaseDate: row("a value of the purchase date is not a valid date")
        case .disagreeingPurchaseDates: row(PropertyListError.Kind.datesDisagree.explanation)
        }
    }
}

extension JSONError.Kind {
    /// The row for the payload of a JWS.
    ///
    /// - Parameter isOfAnotherKind: Whether it lacks a member of the one kind that was asked for.
    fileprivate func payloadFault(isOfAnotherKind: Bool) -> Fault {
        Fault(
            rawValue, .payload, self == .missingMember ? .client : .library, explanation,
            { isOfAnotherKind && self == .missingMember ? .anotherKind : .unreadableContents })
    }
}

extension PolicyViolation {
    /// - Parameter found: The value that the policy does not accept.
    fileprivate func fault(_ found: UTF8Bytes?) -> Fault {
        func row(_ explanation: String, _ advice: @autoclosure @escaping @Sendable () -> Advice) -> Fault {
            Fault(rawValue, .policy, .client, explanation, advice)
        }
        return switch self {
        case .missingBundleID:
            row(
                "the evidence is genuine, but names no app",
                [
                    "Apple signed it before it named the app.",
                    "Ask the App Store Server API for the transaction, which is then signed anew (`/v1/recover`).",
                ])
        case .bundleIDMismatch:
            row(
                "the evidence is genuine, but its bundle id is not accepted",
                [
                    "If the app is yours, \(.pass(.bundleIDs, "its bundle id")).",
                    "If it is not, refuse the evidence.",
                ])
        case .appAppleIDMismatch:
            row(
                "the evidence is genuine, but its app Apple id is not accepted",
                [
                    "If the app is yours, \(.pass(.appAppleID, "its Apple id")).",
                    "If it is not, refuse the evidence.",
                ])
        case .missingEnvironment:
            row(
                "the evidence is genuine, but names no environment",
                [
                    "Apple signed it before it named the environment, which can be the sandbox.",
                    "Ask the App Store Server API for the transaction, which is then signed anew (`/v1/recover`).",
                ])
        case .unknownEnvironment:
            row(
                "the evidence is genuine, but its environment is unknown",
                "Apple signed an environment that this version of the library does not know. Keep the evidence, and report the error."
            )
        case .environmentMismatch:
            row(
                "the evidence is genuine, but its environment is not accepted",
                Self.advice(
                    on: found.flatMap { found in
                        AppStoreEnvironment.allCases.first { found.string.hasSameBytes(as: $0.rawValue) }
                    }))
        case .partMismatch:
            row(
                "the notification and its signed part name different apps or environments",
                "The parts of Apple's notifications agree with each other. Keep the notification, and report the error."
            )
        case .applicationVersionMismatch:
            row(
                "the receipt is genuine, but is for another version of the app",
                "Have the app refresh its receipt after an update.")
        case .deviceMismatch:
            row(
                "the receipt is genuine, but was made for another device",
                "Refuse the receipt, unless you compared it with the wrong device identifier.")
        case .receiptTooOld: row("the receipt is genuine, but is older than the policy accepts", .tooOld)
        case .receiptFromTheFuture: row("the receipt is genuine, but has a date in the future", .fromTheFuture)
        case .signedTooLongAgo: row("the JWS is genuine, but is older than the policy accepts", .tooOld)
        case .signedInTheFuture: row("the JWS is genuine, but its signing date is in the future", .fromTheFuture)
        }
    }

    /// - Parameter environment: The environment that the policy does not accept; `nil` if it is not known.
    private static func advice(on environment: AppStoreEnvironment?) -> Advice {
        switch environment {
        case .production:
            [
                "The evidence is from production.",
                .unless(.storeKitTesting, "To accept it, \(.set(.environments, "production"))."),
                .if(.storeKitTesting, "If Apple signed it, \(.omit(.storeKitTesting)). If not, refuse it."),
            ]
        case .sandbox:
            [
                .unless(.storeKitTesting, "TestFlight and App Review use the sandbox."),
                .unless(.storeKitTesting, "To accept it, \(.set(.environments, "sandbox"))."),
                .if(.storeKitTesting, "The evidence is from the sandbox."),
                .if(.storeKitTesting, "If Apple signed it, \(.omit(.storeKitTesting)). If not, refuse it."),
            ]
        case .xcode, .localTesting:
            [
                "The evidence is from Xcode, where nobody pays.",
                "In tests, \(.use(.storeKitTesting)) with Xcode's certificate.",
            ]
        case nil:
            [
                "TestFlight and App Review use the sandbox.",
                "To accept it, \(.pass(.environments, "its environment")).",
            ]
        }
    }
}

extension ConfigurationFault {
    fileprivate var fault: Fault {
        func row(_ explanation: String, _ advice: @autoclosure @escaping @Sendable () -> Advice) -> Fault {
            Fault(rawValue, .verifier, .configuration, explanation, advice)
        }
        return switch self {
        case .noTrustAnchor:
            row("a verifier needs at least one root certificate to trust", .root)
        case .noEnvironment:
            row(
                "a verifier needs at least one environment to accept",
                "For what the App Store sells, \(.set(.environments, "production")).")
        case .noBundleID:
            row(
                "a verifier needs at least one bundle id to accept",
                [
                    "To accept your apps only, \(.pass(.bundleIDs, "their bundle ids")).",
                    "To accept every app, \(.omit(.bundleIDs)).",
                ])
        case .environmentNotNamed:
            row(
                "the options accept several environments, and the decision names none",
                "Pass the environment in which to decide. Nobody pays in the sandbox: decide in production what you sell."
            )
        case .environmentNotOfTrust:
            row(
                "the environments `xcode` and `local-testing` require StoreKit Testing trust, and it accepts no other environments",
                [
                    "Use one verifier for evidence from Xcode, and another for Apple's.",
                    "For evidence from Xcode, \(.use(.storeKitTesting)) with Xcode's certificate.",
                ])
        case .unusableTrustAnchor:
            row("a root certificate cannot be used", .root)
        case .noAppAppleID:
            row(
                "the JWS has no bundle id, and the policy has no app Apple id to compare",
                "To check such evidence, \(.pass(.appAppleID, "the app's Apple id")).")
        }
    }
}

// MARK: - Rows by their codes

extension Fault {
    /// The rows of everything that a verifier says, in the order of its stages.
    static let all: [Fault] = {
        var all = InputError.Kind.allCases.map(\.fault)
        all += ASN1DecodingError.Kind.allCases.map(\.containerFault)
        all += CompactJWSFault.allCases.map(\.fault)
        all += JSONError.Kind.allCases.map { VerificationError.Reason.headerSyntax(JSONError($0, offset: 0)).fault }
        all += HeaderFault.allCases.map { $0.fault(nil) }
        all += PropertyListError.Kind.allCases.map(\.propertyListFault)
        all += SignatureBlobFault.allCases.map(\.fault)
        all += SignatureTrustError.Kind.allCases.map { $0.fault($0.isHostFault ? .verifier : .signature, .receipt) }
        all += DateFault.allCases.map(\.fault)
        all += JSONError.Kind.allCases.map { $0.payloadFault(isOfAnotherKind: false) }
        all += PolicyViolation.allCases.map { $0.fault(nil) }
        all += ConfigurationFault.allCases.map(\.fault)
        return all
    }()

    /// The row of a code; `nil` for one that this version does not know. A code of several stages has the row of the
    /// first.
    @_spi(Surfaces) public static func named(_ code: String) -> Fault? { all.first { $0.code.hasSameBytes(as: code) } }
}
