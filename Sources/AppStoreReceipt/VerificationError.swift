import LibcryptoHandles
package import SignatureTrust
package import SpanASN1
package import StrictText

/// The reason evidence was refused, or a verifier could not be made.
///
/// An input has one verdict: the checks are made in the order of ``Stage``, and the first that fails is the error. The article <doc:Errors> lists all
/// codes.
public struct VerificationError: Error, Hashable, Sendable {
    package let reason: Reason
    /// The signed part of a notification that was refused; `nil` if the evidence itself was refused.
    public let part: Part?

    package init(_ reason: Reason, part: Part? = nil) {
        self.reason = reason
        self.part = part
    }

    /// The signed parts of a notification. The raw values are the names that Apple gives them.
    public enum Part: String, Sendable, CaseIterable {
        /// The transaction. See ``VerifiedNotification/transactionInfo``.
        case transactionInfo = "signedTransactionInfo"
        /// The renewal information. See ``VerifiedNotification/renewalInfo``.
        case renewalInfo = "signedRenewalInfo"
        /// The app transaction. See ``VerifiedNotification/appTransaction``.
        case appTransactionInfo = "signedAppTransactionInfo"
    }

    /// The checks, in the order in which the verifier makes them.
    public enum Stage: String, Sendable, CaseIterable {
        /// The text around a receipt: base64, PEM or JSON.
        case input
        /// The structure of a receipt's PKCS#7 container.
        case container
        /// The three parts of a JWS and their base64url.
        case form
        /// The header of a JWS: its JSON, its algorithm, its certificates.
        case header
        /// The signature, with the key of the signer's certificate.
        case signature
        /// The date the evidence was signed.
        case date
        /// The certificate chain from the signer to a trusted root.
        case chain
        /// The attributes of a receipt, or the members of a JWS payload.
        case payload
        /// The policy: app, environment, version, device and age.
        case policy
        /// The configuration of the verifier, or the host. The evidence is not at fault.
        case verifier
    }

    /// The bytes that ``offset`` counts.
    public enum OffsetBase: String, Sendable {
        /// The text that was passed to the verifier.
        case text
        /// The binary receipt, as received.
        case binary
        /// The decoded header of a JWS.
        case header
        /// The decoded payload of a JWS.
        case payload
        /// The certificates in `x5c` of a JWS header, as DER, one after the other.
        case certificates
    }
}

// MARK: - Reasons

/// The kinds of signed containers.
package enum SignedForm: Hashable, Sendable { case receipt, jws }

extension VerificationError {
    package enum Reason: Hashable, Sendable {
        /// The text around a receipt.
        case input(InputError)
        /// The container of a receipt is not what RFC 5652 requires.
        case container(ASN1DecodingError)
        /// Not a JWS in its compact form (RFC 7515, 7.1).
        case form(FormFault, offset: Int)
        /// The header of a JWS is not JSON.
        case headerSyntax(JSONError)
        /// The header of a JWS asks for something that Apple's never do.
        case header(HeaderFault, offset: Int)
        /// The signature does not hold, or is of a kind that is not accepted.
        case signature(SignatureTrustError, SignedForm)
        /// The payload does not say, readably and once, when it was signed.
        case date(DateFault, offset: Int?)
        /// The signer is not one that the verifier trusts.
        case chain(SignatureTrustError, SignedForm)
        /// The payload of a receipt is malformed. The error's path names the attribute and the purchase.
        case payload(ASN1DecodingError)
        /// The payload of a JWS is malformed, or of another kind than was asked for.
        case members(JSONError)
        /// Genuine, but not accepted by this verifier.
        case policy(PolicyViolation, found: UTF8Bytes?, expected: UTF8Bytes?)
        /// The verifier cannot do what it is asked with the configuration it has.
        case configuration(ConfigurationFault, found: UTF8Bytes?)
        /// This host cannot do what is needed; it says nothing of the evidence.
        case host(HostFault)
    }
}

/// What is wrong with the text of a JWS.
package enum FormFault: String, Sendable, CaseIterable {
    /// Nothing, or nothing but whitespace.
    case emptyInput = "empty-input"
    /// More than ``VerificationLimits/maximumJWSByteCount``.
    case inputTooLarge = "input-too-large"
    /// Not three parts with a dot between.
    case partCount = "part-count"
    /// A part is not base64url without padding (RFC 7515, 2), in its one canonical spelling.
    case invalidBase64URL = "invalid-base64url"
}

/// What is wrong with the header of a JWS.
package enum HeaderFault: String, Sendable, CaseIterable {
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
package enum DateFault: String, Sendable, CaseIterable {
    /// A receipt without attribute 12, or with an empty one.
    case missingCreationDate = "creation-date-missing"
    /// A receipt with more than one attribute 12.
    case repeatedCreationDate = "creation-date-repeated"
    /// Attribute 12 is not one IA5String with a date of RFC 3339.
    case unreadableCreationDate = "creation-date-unreadable"
    /// A JWS without a date of signing.
    case missingSignedDate = "signed-date-missing"
    /// A JWS with more than one.
    case repeatedSignedDate = "signed-date-repeated"
    /// It is no number of milliseconds.
    case unreadableSignedDate = "signed-date-unreadable"

    var signedForm: SignedForm {
        switch self {
        case .missingCreationDate, .repeatedCreationDate, .unreadableCreationDate: .receipt
        case .missingSignedDate, .repeatedSignedDate, .unreadableSignedDate: .jws
        }
    }
}

/// Why genuine evidence is not accepted.
package enum PolicyViolation: String, Sendable, CaseIterable {
    /// The bundle id is missing or not in ``VerificationPolicy/bundleIDs``.
    case bundleIDMismatch = "bundle-id-mismatch"
    /// The app's Apple id is missing or not ``VerificationPolicy/appAppleID``.
    case appAppleIDMismatch = "app-apple-id-mismatch"
    /// The environment is missing, or a string that is not known.
    case unknownEnvironment = "unknown-environment"
    /// The environment is not in ``VerificationPolicy/environments``.
    case environmentMismatch = "environment-mismatch"
    /// A notification and one of its signed parts name different apps or environments.
    case partMismatch = "part-mismatch"
    /// Attribute 3 is missing or not the version that was given.
    case applicationVersionMismatch = "application-version-mismatch"
    /// The receipt was not made for the device that was given.
    case deviceMismatch = "device-mismatch"
    /// A receipt made longer ago than ``VerificationPolicy/maximumAge``.
    case receiptTooOld = "receipt-too-old"
    /// A receipt made after the time of the clock, or with a date after its creation date.
    case receiptFromTheFuture = "receipt-from-the-future"
    /// A JWS signed longer ago than ``VerificationPolicy/maximumAge``.
    case signedTooLongAgo = "signed-too-long-ago"
    /// A JWS signed after the time of the clock.
    case signedInTheFuture = "signed-in-the-future"
}

/// Why a verifier cannot do what it is asked. None but the last depends on the evidence.
package enum ConfigurationFault: String, Sendable, CaseIterable {
    /// ``AppStoreTrust/roots(_:)`` or ``AppStoreTrust/storeKitTesting(_:)`` without a certificate.
    case noTrustAnchor = "no-trust-anchor"
    /// ``VerificationPolicy/environments`` is empty.
    case noEnvironment = "no-environment"
    /// ``VerificationPolicy/bundleIDs`` is an empty set.
    case noBundleID = "no-bundle-id"
    /// Xcode's environments go with StoreKit Testing trust, and with no other.
    case environmentNotOfTrust = "environment-not-of-trust"
    /// A trust anchor has a key or an algorithm that is not accepted, or libcrypto cannot read it.
    case unusableTrustAnchor = "unusable-trust-anchor"
    /// What has no bundle id can be tied to the app only by its Apple id, which the policy lacks.
    case noAppAppleID = "no-app-apple-id"
}

/// What this host lacks.
package enum HostFault: String, Sendable, CaseIterable {
    /// libcrypto refuses an algorithm that receipts need: SHA-1 signatures on RHEL 9. Found when the verifier is made.
    case algorithmUnavailable = "algorithm-unavailable"
    /// libcrypto could not allocate memory.
    case outOfMemory = "out-of-memory"
    /// libcrypto failed for no reason that lies in the input.
    case libcryptoFailure = "libcrypto-failure"

    init(_ error: LibcryptoError) {
        self =
            switch error.kind {
            case .algorithmUnavailable: .algorithmUnavailable
            case .allocationFailed: .outOfMemory
            default: .libcryptoFailure
            }
    }
}

// MARK: - Making errors

extension VerificationError {
    package static func input(_ error: InputError) -> VerificationError { VerificationError(.input(error)) }
    static func host(_ error: LibcryptoError) -> VerificationError { VerificationError(.host(HostFault(error))) }

    package static func policy(
        _ violation: PolicyViolation, found: String? = nil, expected: String? = nil
    ) -> VerificationError {
        VerificationError(
            .policy(violation, found: found.map(UTF8Bytes.init), expected: expected.map(UTF8Bytes.init)))
    }

    package static func configuration(_ fault: ConfigurationFault, found: String? = nil) -> VerificationError {
        VerificationError(.configuration(fault, found: found.map(UTF8Bytes.init)))
    }

    package static func signature(_ error: SignatureTrustError, of form: SignedForm) -> VerificationError {
        VerificationError(hostReason(of: error) ?? .signature(error, form))
    }

    package static func chain(_ error: SignatureTrustError, of form: SignedForm) -> VerificationError {
        VerificationError(hostReason(of: error) ?? .chain(error, form))
    }

    /// `nil` where the host is not at fault.
    static func hostReason(of error: SignatureTrustError) -> Reason? {
        switch error.kind {
        case .algorithmUnavailable: .host(.algorithmUnavailable)
        case .outOfMemory: .host(.outOfMemory)
        case .libcryptoFailure: .host(.libcryptoFailure)
        default: nil
        }
    }

    func within(_ part: Part) -> VerificationError { VerificationError(reason, part: part) }

    /// The same error with its offset into the binary receipt changed.
    func mappingOffset(_ map: (Int) -> Int) -> VerificationError {
        switch reason {
        case .container(let error):
            VerificationError(.container(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path)))
        case .payload(let error):
            VerificationError(.payload(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path)))
        case .signature(let error, let form): VerificationError(.signature(error.mappingOffset(map), form))
        case .chain(let error, let form): VerificationError(.chain(error.mappingOffset(map), form))
        case .date(let fault, let offset): VerificationError(.date(fault, offset: offset.map(map)))
        case .input, .form, .headerSyntax, .header, .members, .policy, .configuration, .host: self
        }
    }
}

// MARK: - What is wrong, and where

extension VerificationError {
    /// A stable word for programs, such as `bundle-id-mismatch`. The article <doc:Errors> lists all of them.
    public var code: String {
        switch reason {
        case .input(let error): error.kind.rawValue
        case .container(let error), .payload(let error): error.kind.rawValue
        case .form(let fault, _): fault.rawValue
        case .headerSyntax(let error), .members(let error): error.kind.rawValue
        case .header(let fault, _): fault.rawValue
        case .signature(let error, _), .chain(let error, _): error.kind.rawValue
        case .date(let fault, _): fault.rawValue
        case .policy(let violation, _, _): violation.rawValue
        case .configuration(let fault, _): fault.rawValue
        case .host(let fault): fault.rawValue
        }
    }

    /// The check that failed.
    public var stage: Stage {
        switch reason {
        case .input: .input
        case .container: .container
        case .form: .form
        case .headerSyntax, .header: .header
        case .signature(let error, let form):
            form == .receipt && error.kind.isAboutStructure ? .container : .signature
        case .date: .date
        case .chain: .chain
        case .payload, .members: .payload
        case .policy: .policy
        case .configuration, .host: .verifier
        }
    }

    /// The position of the fault, in bytes from the start of ``offsetBase``; `nil` if there is none.
    ///
    /// If ``part`` is not `nil`, the position is in that part.
    public var offset: Int? {
        switch reason {
        case .input(let error): error.offset
        case .container(let error), .payload(let error): error.offset
        case .form(_, let offset), .header(_, let offset): offset
        case .headerSyntax(let error), .members(let error): error.offset
        case .signature(let error, _), .chain(let error, _): error.offset
        case .date(_, let offset): offset
        case .policy, .configuration, .host: nil
        }
    }

    /// The bytes that ``offset`` counts; `nil` if there is no offset.
    public var offsetBase: OffsetBase? {
        guard offset != nil else { return nil }
        switch reason {
        case .input(let error): return error.form == .binary ? .binary : .text
        case .container, .payload: return .binary
        case .form: return .text
        case .headerSyntax, .header: return .header
        case .signature(_, let form), .chain(_, let form): return form == .receipt ? .binary : .certificates
        case .date(let fault, _): return fault.signedForm == .receipt ? .binary : .payload
        case .members: return .payload
        case .policy, .configuration, .host: return nil
        }
    }

    /// The place of the fault in the structure of a receipt, such as `payload › in_app[3] › 1704 purchase date`; `nil` for a JWS.
    public var path: String? {
        switch reason {
        case .container(let error): Self.describe(error.path, in: "container")
        case .payload(let error): Self.describe(error.path, in: "payload")
        case .signature(let error, .receipt), .chain(let error, .receipt):
            Self.describe(error.path, in: "container")
        case .date(let fault, _): fault.signedForm == .receipt ? "payload › 12 creation date" : nil
        case .input, .form, .headerSyntax, .header, .signature, .chain, .members, .policy, .configuration, .host: nil
        }
    }

    private static func describe(_ path: ASN1Path, in whole: String) -> String {
        guard let field = path.field else { return whole }
        if let name = field.pkcs7Name {
            return "\(whole) › \(name)" + (path.index.map { "[\($0)]" } ?? "")
        }
        let purchase = path.index.map { " › in_app[\($0)]" } ?? ""
        guard let type = field.attributeType else { return whole + purchase + " › an unknown attribute" }
        if type == .inAppPurchase, path.index != nil { return whole + purchase }
        return whole + purchase + " › \(type.rawValue)" + (type.name.map { " \($0)" } ?? "")
    }

    /// The form that the input begins like, if it could not be read.
    package var inputForm: InputForm? {
        if case .input(let error) = reason { error.form } else { nil }
    }

    /// The value that was refused: the bundle id, the environment or the date of genuine evidence, or the part of the configuration at fault.
    ///
    /// It is `nil` if the value is not known to be signed. It can have any length and any characters. To log an error, use ``description`` or
    /// ``json``, which shorten and escape it.
    public var found: String? {
        switch reason {
        case .policy(_, let found, _), .configuration(_, let found): found?.string
        default: nil
        }
    }

    /// The value that the policy accepts instead of ``found``.
    public var expected: String? {
        if case .policy(_, _, let expected) = reason { expected?.string } else { nil }
    }
}
