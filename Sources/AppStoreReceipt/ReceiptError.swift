import LibcryptoHandles
public import SignatureTrust
public import SpanASN1

/// Why a receipt was not verified. An input has one verdict: errors come in the order of ``Stage``.
public enum ReceiptError: Error, Hashable, Sendable {
    /// The text around the receipt: base64, PEM or JSON.
    case input(InputError)
    /// The PKCS#7 container is not what RFC 5652 says.
    case container(ASN1DecodingError)
    /// The signature does not hold, or is of a kind that is not accepted.
    case signature(SignatureTrustError)
    /// The receipt does not say, readably and exactly once, when it was made.
    case creationDate(CreationDateFault, offset: Int?)
    /// The signer is not one that the verifier trusts.
    case chain(SignatureTrustError)
    /// The payload is malformed. The error's path names the attribute and the purchase.
    case payload(ASN1DecodingError)
    /// The receipt is genuine, but not one that the verifier is to accept.
    case policy(PolicyViolation)
    /// The verifier cannot be made as asked.
    case configuration(ConfigurationFault)
    /// This host cannot do what is needed; it says nothing of the receipt.
    case host(HostFault)

    /// In the order in which they are checked.
    public enum Stage: String, Sendable, CaseIterable {
        /// The text around the receipt.
        case input
        /// The structure of the PKCS#7 container.
        case container
        /// The signature over the payload, by the certificate that came with it.
        case signature
        /// The receipt's creation date.
        case date
        /// The chain from that certificate to a trusted root.
        case chain
        /// All other attributes of the payload.
        case payload
        /// What the verifier is to accept: app, environment, version, device, age.
        case policy
        /// The verifier or the host, not the receipt.
        case verifier
    }

    /// What is wrong with attribute 12, the date at which the chain is judged.
    public enum CreationDateFault: String, Sendable, CaseIterable {
        /// There is none, or it is empty.
        case missing = "creation-date-missing"
        /// There is more than one.
        case repeated = "creation-date-repeated"
        /// It is not one IA5String with a date of RFC 3339.
        case unreadable = "creation-date-unreadable"
    }

    /// Why a genuine receipt is not accepted.
    public enum PolicyViolation: String, Sendable, CaseIterable {
        /// The bundle id is missing or not in ``ReceiptPolicy/bundleIDs``, compared byte for byte.
        case bundleIDMismatch = "bundle-id-mismatch"
        /// Attribute 0 is missing, or a string that is not known.
        case unknownEnvironment = "unknown-environment"
        /// The environment is not in ``ReceiptPolicy/environments``.
        case environmentMismatch = "environment-mismatch"
        /// Attribute 3 is missing or not the version that was given to `verify`.
        case applicationVersionMismatch = "application-version-mismatch"
        /// The receipt was not made for the device that was given to `verify`.
        case deviceMismatch = "device-mismatch"
        /// Made longer ago than ``ReceiptPolicy/maximumAge``.
        case receiptTooOld = "receipt-too-old"
        /// Something in it lies after its creation date, or that after the clock's time, with ``ReceiptPolicy/rejectsFutureDates`` only; or
        /// the creation date more than five minutes after it, with ``ReceiptPolicy/maximumAge``.
        case receiptFromTheFuture = "receipt-from-the-future"
    }

    /// Why a verifier cannot be made as asked. None of them depends on a receipt.
    public enum ConfigurationFault: String, Sendable, CaseIterable {
        /// ``AppStoreTrust/roots(_:)`` or ``AppStoreTrust/storeKitTesting(_:)`` without a certificate.
        case noTrustAnchor = "no-trust-anchor"
        /// ``ReceiptPolicy/environments`` is empty.
        case noEnvironment = "no-environment"
        /// Xcode's environment goes with StoreKit Testing trust, and with no other.
        case environmentNotOfTrust = "environment-not-of-trust"
        /// A trust anchor has a key or an algorithm that ``ReceiptPolicy/algorithms`` refuses, or libcrypto cannot read it.
        case unusableTrustAnchor = "unusable-trust-anchor"
    }

    /// What this host lacks.
    public enum HostFault: String, Sendable, CaseIterable {
        /// libcrypto refuses an algorithm that receipts need: SHA-1 signatures on RHEL 9. Found when the verifier is made.
        case algorithmUnavailable = "algorithm-unavailable"
        /// libcrypto could not allocate memory.
        case outOfMemory = "out-of-memory"
        /// libcrypto failed for no reason that lies in the input.
        case libcryptoFailure = "libcrypto-failure"
    }
}

extension ReceiptError {
    /// A stable word for programs. Codes of syntax are `ASN1DecodingError.Kind`'s, those of trust `SignatureTrustError.Kind`'s.
    public var code: String {
        switch self {
        case .input(let error): error.kind.rawValue
        case .container(let error), .payload(let error): error.kind.rawValue
        case .signature(let error), .chain(let error): error.kind.rawValue
        case .creationDate(let fault, _): fault.rawValue
        case .policy(let violation): violation.rawValue
        case .configuration(let fault): fault.rawValue
        case .host(let fault): fault.rawValue
        }
    }

    /// The check that failed.
    public var stage: Stage {
        switch self {
        case .input: .input
        case .container: .container
        case .signature(let error): error.kind.isAboutStructure ? .container : .signature
        case .creationDate: .date
        case .chain: .chain
        case .payload: .payload
        case .policy: .policy
        case .configuration, .host: .verifier
        }
    }

    /// Where, in bytes from the start of the received binary receipt; for ``input(_:)``, from the start of the text.
    public var offset: Int? {
        switch self {
        case .input(let error): error.offset
        case .container(let error), .payload(let error): error.offset
        case .signature(let error), .chain(let error): error.offset
        case .creationDate(_, let offset): offset
        case .policy, .configuration, .host: nil
        }
    }

    /// Where in the structure: `payload › in_app[3] › 1704 purchase date`.
    public var path: String? {
        switch self {
        case .container(let error): describe(error.path, in: "container")
        case .payload(let error): describe(error.path, in: "payload")
        case .signature(let error), .chain(let error): describe(error.path, in: "container")
        case .creationDate: "payload › 12 creation date"
        case .input, .policy, .configuration, .host: nil
        }
    }

    private func describe(_ path: ASN1Path, in whole: String) -> String {
        guard let field = path.field else { return whole }
        if let name = field.pkcs7Name {
            return "\(whole) › \(name)" + (path.index.map { "[\($0)]" } ?? "")
        }
        let purchase = path.index.map { " › in_app[\($0)]" } ?? ""
        guard let type = field.attributeType else { return whole + purchase + " › an unknown attribute" }
        if type == .inAppPurchase, path.index != nil { return whole + purchase }
        return whole + purchase + " › \(type.rawValue)" + (type.name.map { " \($0)" } ?? "")
    }

    init(_ error: SignatureTrustError, in wrap: (SignatureTrustError) -> ReceiptError) {
        switch error.kind {
        case .algorithmUnavailable: self = .host(.algorithmUnavailable)
        case .outOfMemory: self = .host(.outOfMemory)
        case .libcryptoFailure: self = .host(.libcryptoFailure)
        default: self = wrap(error)
        }
    }

    static func host(_ error: LibcryptoError) -> ReceiptError { .host(HostFault(error)) }

    /// The same error with its offset into the binary bytes changed.
    func mappingOffset(_ map: (Int) -> Int) -> ReceiptError {
        switch self {
        case .container(let error):
            .container(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path))
        case .payload(let error): .payload(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path))
        case .signature(let error): .signature(error.mappingOffset(map))
        case .chain(let error): .chain(error.mappingOffset(map))
        case .creationDate(let fault, let offset): .creationDate(fault, offset: offset.map(map))
        case .input, .policy, .configuration, .host: self
        }
    }
}

extension ReceiptError.HostFault {
    init(_ error: LibcryptoError) {
        self =
            switch error.kind {
            case .algorithmUnavailable: .algorithmUnavailable
            case .allocationFailed: .outOfMemory
            default: .libcryptoFailure
            }
    }
}

extension ReceiptError: CustomStringConvertible {
    /// A sentence for people, with the place where there is one.
    public var description: String {
        if case .input(let error) = self { return error.description }
        let place = [path, offset.map { "at byte \($0)" }].compactMap(\.self).joined(separator: " ")
        return place.isEmpty ? explanation : "\(explanation) (\(place))"
    }

    /// What is wrong, without the place.
    public var explanation: String {
        switch self {
        case .input(let error): error.kind.explanation
        case .container(let error), .payload(let error): error.kind.explanation
        case .signature(let error), .chain(let error): error.kind.explanation
        case .creationDate(let fault, _):
            switch fault {
            case .missing: "the receipt does not say when it was made"
            case .repeated: "the receipt says more than once when it was made"
            case .unreadable: "the receipt's creation date is not a date"
            }
        case .policy(let violation):
            switch violation {
            case .bundleIDMismatch: "the receipt is for another app: its bundle id is not an accepted one"
            case .unknownEnvironment: "the receipt's type is missing or none that is known"
            case .environmentMismatch: "the receipt is from an environment that is not accepted"
            case .applicationVersionMismatch: "the receipt is for another version of the app"
            case .deviceMismatch: "the receipt was made for another device"
            case .receiptTooOld: "the receipt was made too long ago"
            case .receiptFromTheFuture: "the receipt has a date in the future"
            }
        case .configuration(let fault):
            switch fault {
            case .noTrustAnchor: "a verifier needs at least one trust anchor"
            case .noEnvironment: "a verifier needs at least one environment to accept"
            case .environmentNotOfTrust:
                "the environment `xcode` goes with StoreKit Testing trust alone, and that with no other environment"
            case .unusableTrustAnchor: "a trust anchor has a key or an algorithm that is not accepted"
            }
        case .host(let fault):
            switch fault {
            case .algorithmUnavailable: SignatureTrustError.Kind.algorithmUnavailable.explanation
            case .outOfMemory: SignatureTrustError.Kind.outOfMemory.explanation
            case .libcryptoFailure: SignatureTrustError.Kind.libcryptoFailure.explanation
            }
        }
    }
}
