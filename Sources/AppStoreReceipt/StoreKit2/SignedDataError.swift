import LibcryptoHandles
public import SignatureTrust
public import StrictText

/// Why signed data was not verified. An input has one verdict: errors come in the order of ``Stage``.
public struct SignedDataError: Error, Hashable, Sendable {
    /// What is wrong.
    public let reason: Reason
    /// Which of a notification's signed parts is at fault; `nil` for the signed data that was given.
    public let part: Part?

    /// What is wrong, and where the check that failed knows it.
    public enum Reason: Hashable, Sendable {
        /// Not a JWS in its compact form (RFC 7515, 7.1).
        case form(FormFault, offset: Int)
        /// The header is not JSON.
        case headerSyntax(JSONError)
        /// The header asks for something that Apple's never do.
        case header(HeaderFault, offset: Int)
        /// The signature over header and payload does not hold, or is of a kind that is not accepted.
        case signature(SignatureTrustError)
        /// The payload does not say, readably and once, when it was signed.
        case signedDate(DateFault, offset: Int?)
        /// The signer is not one that the verifier trusts.
        case chain(SignatureTrustError)
        /// The payload is malformed, or another kind of payload than was asked for.
        case payload(JSONError)
        /// Signed by Apple, but not to be accepted by this verifier.
        case policy(PolicyViolation)
        /// The verifier cannot do what it is asked with the configuration it has.
        case configuration(ConfigurationFault)
        /// This host cannot do what is needed; it says nothing of the input.
        case host(ReceiptError.HostFault)
    }

    /// A JWS inside a notification.
    public enum Part: String, Sendable, CaseIterable {
        /// ``VerifiedNotification/transactionInfo``.
        case transactionInfo = "signedTransactionInfo"
        /// ``VerifiedNotification/renewalInfo``.
        case renewalInfo = "signedRenewalInfo"
        /// ``VerifiedNotification/appTransaction``.
        case appTransactionInfo = "signedAppTransactionInfo"
    }

    /// In the order in which they are checked.
    public enum Stage: String, Sendable, CaseIterable {
        /// The three parts and their base64url.
        case form
        /// The header: its JSON, its algorithm, its certificates.
        case header
        /// The signature over header and payload, by the first of the certificates.
        case signature
        /// When the payload says it was signed.
        case date
        /// The chain from that certificate to a trusted root.
        case chain
        /// The payload's members.
        case payload
        /// What the verifier is to accept: app, environment, age.
        case policy
        /// The verifier or the host, not the input.
        case verifier
    }

    /// What is wrong with the text.
    public enum FormFault: String, Sendable, CaseIterable {
        /// Nothing, or nothing but whitespace.
        case emptyInput = "empty-input"
        /// More than ``SignedDataPolicy/maximumByteCount``.
        case inputTooLarge = "input-too-large"
        /// Not three parts with a dot between.
        case partCount = "part-count"
        /// A part is not base64url without padding (RFC 7515, 2), in its one canonical spelling.
        case invalidBase64URL = "invalid-base64url"
    }

    /// What is wrong with the header.
    public enum HeaderFault: String, Sendable, CaseIterable {
        /// There is no `alg`.
        case missingAlgorithm = "missing-algorithm"
        /// `alg` is not `ES256`: `none`, an HMAC with a public key as its secret, or anything else.
        case unsupportedAlgorithm = "unsupported-algorithm"
        /// `crit` (RFC 7515, 4.1.11): no extension is understood.
        case criticalHeader = "critical-header"
        /// `jku`, `jwk` or `x5u`: a key from elsewhere than the chain.
        case foreignKey = "foreign-key"
        /// There is no `x5c`: the key would have to come from elsewhere.
        case missingCertificates = "missing-certificates"
        /// Not three certificates; not one in a verifier for StoreKit Testing.
        case certificateCount = "certificate-count"
        /// A certificate in `x5c` is not base64, padded and without line breaks (RFC 7515, 4.1.6).
        case malformedCertificates = "malformed-certificates"
    }

    /// What is wrong with the date of signing, at which the chain is judged.
    public enum DateFault: String, Sendable, CaseIterable {
        /// There is none.
        case missing = "signed-date-missing"
        /// There is more than one.
        case repeated = "signed-date-repeated"
        /// It is no number of milliseconds.
        case unreadable = "signed-date-unreadable"
    }

    /// Why genuine data is not accepted.
    public enum PolicyViolation: String, Sendable, CaseIterable {
        /// The bundle id is missing or not in ``SignedDataPolicy/bundleIDs``, compared byte for byte.
        case bundleIDMismatch = "bundle-id-mismatch"
        /// The app's Apple id is missing or not ``SignedDataPolicy/appAppleID``.
        case appAppleIDMismatch = "app-apple-id-mismatch"
        /// The environment is missing, or a string that is not known.
        case unknownEnvironment = "unknown-environment"
        /// The environment is not in ``SignedDataPolicy/environments``.
        case environmentMismatch = "environment-mismatch"
        /// A notification and one of its signed parts name different apps or environments.
        case partMismatch = "part-mismatch"
        /// Signed longer ago than ``SignedDataPolicy/maximumAge``.
        case signedTooLongAgo = "signed-too-long-ago"
        /// Signed after the clock's time, with ``SignedDataPolicy/rejectsFutureDates`` only; or more than five minutes after it, with
        /// ``SignedDataPolicy/maximumAge``.
        case signedInTheFuture = "signed-in-the-future"
    }

    /// Why a verifier cannot do what it is asked. None but the last depends on an input.
    public enum ConfigurationFault: String, Sendable, CaseIterable {
        /// ``AppStoreTrust/roots(_:)`` or ``AppStoreTrust/storeKitTesting(_:)`` without a certificate.
        case noTrustAnchor = "no-trust-anchor"
        /// ``SignedDataPolicy/environments`` is empty.
        case noEnvironment = "no-environment"
        /// Xcode's environment and that of local tests go with StoreKit Testing trust, and with no other.
        case environmentNotOfTrust = "environment-not-of-trust"
        /// A trust anchor has a key or an algorithm that is not accepted, or libcrypto cannot read it.
        case unusableTrustAnchor = "unusable-trust-anchor"
        /// What has no bundle id can be tied to the app only by its Apple id, which the policy lacks.
        case noAppAppleID = "no-app-apple-id"
    }

    init(_ reason: Reason, part: Part? = nil) {
        self.reason = reason
        self.part = part
    }

    init(_ error: SignatureTrustError, in wrap: (SignatureTrustError) -> Reason) {
        let reason: Reason =
            switch error.kind {
            case .algorithmUnavailable: .host(.algorithmUnavailable)
            case .outOfMemory: .host(.outOfMemory)
            case .libcryptoFailure: .host(.libcryptoFailure)
            default: wrap(error)
            }
        self.init(reason)
    }

    func within(_ part: Part) -> SignedDataError { SignedDataError(reason, part: part) }
}

extension SignedDataError {
    /// A stable word for programs.
    public var code: String {
        switch reason {
        case .form(let fault, _): fault.rawValue
        case .headerSyntax(let error), .payload(let error): error.kind.rawValue
        case .header(let fault, _): fault.rawValue
        case .signature(let error), .chain(let error): error.kind.rawValue
        case .signedDate(let fault, _): fault.rawValue
        case .policy(let violation): violation.rawValue
        case .configuration(let fault): fault.rawValue
        case .host(let fault): fault.rawValue
        }
    }

    /// The check that failed.
    public var stage: Stage {
        switch reason {
        case .form: .form
        case .headerSyntax, .header: .header
        case .signature: .signature
        case .signedDate: .date
        case .chain: .chain
        case .payload: .payload
        case .policy: .policy
        case .configuration, .host: .verifier
        }
    }

    /// What ``offset`` counts in.
    public enum OffsetBase: String, Sendable {
        /// The text of the JWS.
        case text
        /// The header, decoded.
        case header
        /// The payload, decoded.
        case payload
        /// The certificates of `x5c`, DER, one after the other.
        case certificates
    }

    /// Where, in bytes from the start of what ``offsetBase`` says; of the signed ``part``, if there is one.
    public var offset: Int? {
        switch reason {
        case .form(_, let offset), .header(_, let offset): offset
        case .headerSyntax(let error), .payload(let error): error.offset
        case .signature(let error), .chain(let error): error.offset
        case .signedDate(_, let offset): offset
        case .policy, .configuration, .host: nil
        }
    }

    /// What ``offset`` counts in; `nil` where there is no offset.
    public var offsetBase: OffsetBase? {
        guard offset != nil else { return nil }
        switch reason {
        case .form: return .text
        case .headerSyntax, .header: return .header
        case .signature, .chain: return .certificates
        case .signedDate, .payload: return .payload
        case .policy, .configuration, .host: return nil
        }
    }

    /// What is wrong, without the place.
    public var explanation: String {
        switch reason {
        case .form(let fault, _):
            switch fault {
            case .emptyInput: "an empty input"
            case .inputTooLarge: "signed data larger than allowed"
            case .partCount: "not three parts with a dot between them"
            case .invalidBase64URL: "invalid base64url"
            }
        case .headerSyntax(let error), .payload(let error): error.kind.explanation
        case .header(let fault, _):
            switch fault {
            case .missingAlgorithm: "the header names no algorithm"
            case .unsupportedAlgorithm: "the header names another algorithm than ES256"
            case .criticalHeader: "the header demands an extension that is not understood"
            case .foreignKey: "the header brings or names a key of its own"
            case .missingCertificates: "the header has no certificates"
            case .certificateCount: "the header has not the number of certificates that Apple sends"
            case .malformedCertificates: "a certificate in the header is not base64"
            }
        case .signature(let error), .chain(let error): error.kind.explanation
        case .signedDate(let fault, _):
            switch fault {
            case .missing: "the payload does not say when it was signed"
            case .repeated: "the payload says more than once when it was signed"
            case .unreadable: "the payload's signing date is not a date"
            }
        case .policy(let violation):
            switch violation {
            case .bundleIDMismatch: "the signed data is for another app: its bundle id is not an accepted one"
            case .appAppleIDMismatch: "the signed data is for another app: its Apple id is not the accepted one"
            case .unknownEnvironment: "the environment is missing or none that is known"
            case .environmentMismatch: "the signed data is from an environment that is not accepted"
            case .partMismatch: "the notification and its signed part name different apps or environments"
            case .signedTooLongAgo: "it was signed too long ago"
            case .signedInTheFuture: "it was signed in the future"
            }
        case .configuration(let fault):
            switch fault {
            case .noTrustAnchor: "a verifier needs at least one trust anchor"
            case .noEnvironment: "a verifier needs at least one environment to accept"
            case .environmentNotOfTrust:
                "the environments `xcode` and `local-testing` go with StoreKit Testing trust alone, and that with no other environment"
            case .unusableTrustAnchor: "a trust anchor has a key or an algorithm that is not accepted"
            case .noAppAppleID: "this signed data has no bundle id, and the verifier knows no Apple id of the app"
            }
        case .host(let fault): ReceiptError.host(fault).explanation
        }
    }
}

extension SignedDataError: CustomStringConvertible {
    /// A sentence for people, with the place where there is one.
    public var description: String {
        var place: [String] = []
        if let part { place.append(part.rawValue) }
        if let offset, let offsetBase { place.append("at byte \(offset) of the \(offsetBase.rawValue)") }
        return place.isEmpty ? explanation : "\(explanation) (\(place.joined(separator: " ")))"
    }
}

extension SignedDataError {
    /// Whose fault this error of a verifier is; the categories are those of receipts.
    ///
    /// A payload that cannot be read is the host's, since it is known by then that the trusted signer has made it, and so is a notification's
    /// ``part``. But a payload of another kind than was asked for is the client's, who has sent the wrong one.
    public var category: ReceiptError.Category {
        switch reason {
        case .policy: .client
        case .form, .headerSyntax, .header: part == nil ? .client : .host
        case .signature, .signedDate, .chain: part == nil ? .forgery : .host
        case .payload(let error): part == nil && error.kind == .missingMember ? .client : .host
        case .configuration, .host: .host
        }
    }
}
