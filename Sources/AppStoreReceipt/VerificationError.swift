import LibcryptoHandles
package import SignatureTrust
package import SpanASN1
package import StrictText

/// The reason evidence was refused, or a verifier could not be made.
///
/// An input has one verdict: the checks are made in the order of ``Stage``, and the first that fails is the error. The
/// article <doc:Errors> lists all codes.
public struct VerificationError: Error, Hashable, Sendable {
    package let reason: Reason
    /// The signed part of a notification that was refused; `nil` if the evidence itself was refused.
    public let part: Part?
    /// What a second examination of the bytes found; `nil` if nothing.
    let circumstances: Circumstances?

    package init(_ reason: Reason, part: Part? = nil) {
        self.init(reason, part: part, nil)
    }

    init(_ reason: Reason, part: Part? = nil, _ circumstances: Circumstances?) {
        self.reason = reason
        self.part = part
        self.circumstances = circumstances
    }

    /// The names of the evidence's wrappers, outermost first, such as `unity`; empty if there are none.
    /// <doc:WhatClientsSend> lists them.
    public var unwrapped: [String] { circumstances?.layers.names ?? [] }

    /// The signed parts of a notification. The raw values are the names that Apple gives them.
    @nonexhaustive
    public enum Part: String, Sendable, CaseIterable {
        /// The transaction. See ``VerifiedNotification/transactionInfo``.
        case transactionInfo = "signedTransactionInfo"
        /// The renewal information. See ``VerifiedNotification/renewalInfo``.
        case renewalInfo = "signedRenewalInfo"
        /// The app transaction. See ``VerifiedNotification/appTransaction``.
        case appTransactionInfo = "signedAppTransactionInfo"
    }

    /// The checks, in the order in which the verifier makes them.
    @nonexhaustive
    public enum Stage: String, Sendable, CaseIterable {
        /// The text around evidence: base64, PEM or JSON, or what was sent instead of evidence.
        case input
        /// The structure of a receipt's PKCS#7 container.
        case container
        /// The three parts of a JWS and their base64url, or the property list of a transaction receipt.
        case form
        /// The header of a JWS: its JSON, its algorithm, its certificates. Or the parts of the signature of a
        /// transaction receipt.
        case header
        /// The signature, with the key of the signer's certificate.
        case signature
        /// The date the evidence was signed.
        case date
        /// The certificate chain from the signer to a trusted root.
        case chain
        /// The attributes of a receipt, the members of a JWS payload, or the keys of a transaction receipt's
        /// `purchase-info`.
        case payload
        /// The policy: app, environment, version, device and age.
        case policy
        /// The configuration of the verifier, or the host. The evidence is not at fault.
        case verifier
    }

    /// The bytes that ``offset`` counts.
    @nonexhaustive
    public enum OffsetBase: String, Sendable {
        /// The text that was passed to the verifier.
        case text
        /// The binary receipt, as received.
        case binary
        /// The decoded header of a JWS.
        case header
        /// The decoded payload of a JWS, or the decoded `purchase-info` of a transaction receipt.
        case payload
        /// The property list of a transaction receipt, decoded from base64 if it was received so.
        case propertyList = "property-list"
        /// The decoded `signature` of a transaction receipt.
        case signatureBlob = "signature"
        /// The certificates in `x5c` of a JWS header, as DER, one after the other.
        case certificates
    }
}

// MARK: - Reasons

/// The two property lists of a transaction receipt, one in the other.
package enum PropertyListPlace: Hashable, Sendable { case propertyList, payload }

extension VerificationError {
    package enum Reason: Hashable, Sendable {
        /// The text around a receipt cannot be read.
        case input(InputError)
        /// The container of a receipt does not conform to RFC 5652.
        case container(ASN1DecodingError)
        /// The text is not a JWS in its compact serialization (RFC 7515, 7.1).
        case compactJWS(CompactJWSFault, offset: Int)
        /// The header of a JWS is not JSON.
        case headerSyntax(JSONError)
        /// The header of a JWS is not one that Apple sends.
        case header(HeaderFault, offset: Int, CertificateCount? = nil)
        /// A property list of a transaction receipt, or a value in it, is malformed.
        case propertyList(PropertyListError, PropertyListPlace)
        /// The `signature` of a transaction receipt is malformed, or of a version that is not accepted.
        case signatureBlob(SignatureBlobFault, offset: Int)
        /// The signature is not valid, or is of a kind that is not accepted.
        case signature(SignatureTrustError, EvidenceKind)
        /// The payload does not have exactly one readable signing date.
        case date(DateFault, offset: Int?)
        /// The verifier does not trust the signer.
        case chain(SignatureTrustError, EvidenceKind)
        /// The payload of a receipt is malformed. The path of the error has the attribute and the purchase.
        case payload(ASN1DecodingError)
        /// The payload of a JWS is malformed, or is of another kind than the one that the method accepts.
        case members(JSONError, _ member: UTF8Bytes? = nil, expected: JWSKind? = nil)
        /// The evidence is genuine, but the policy does not accept it.
        case policy(PolicyViolation, found: UTF8Bytes?, expected: UTF8Bytes?)
        /// The configuration of the verifier does not allow the request.
        case configuration(ConfigurationFault, found: UTF8Bytes?)
        /// The host is at fault, not the evidence.
        case host(SignatureTrustError.Kind)
    }
}

/// The faults of the signing date, at which the chain is validated.
package enum DateFault: String, Sendable, CaseIterable {
    /// The receipt has no attribute 12, or an empty one.
    case missingCreationDate = "creation-date-missing"
    /// The receipt has more than one attribute 12.
    case repeatedCreationDate = "creation-date-repeated"
    /// Attribute 12 is not one IA5String with a date of RFC 3339.
    case unreadableCreationDate = "creation-date-unreadable"
    /// The JWS has no signing date.
    case missingSignedDate = "signed-date-missing"
    /// The JWS has more than one signing date.
    case repeatedSignedDate = "signed-date-repeated"
    /// The signing date is not a number of milliseconds.
    case unreadableSignedDate = "signed-date-unreadable"
    /// The transaction receipt has no purchase date.
    case missingPurchaseDate = "purchase-date-missing"
    /// A value of the purchase date of the transaction receipt is not a date.
    case unreadablePurchaseDate = "purchase-date-unreadable"
    /// The milliseconds, the GMT text and the Pacific text of the purchase date are not the same date.
    case disagreeingPurchaseDates = "dates-disagree"

    var evidenceKind: EvidenceKind {
        switch self {
        case .missingCreationDate, .repeatedCreationDate, .unreadableCreationDate: .receipt
        case .missingSignedDate, .repeatedSignedDate, .unreadableSignedDate: .jws
        case .missingPurchaseDate, .unreadablePurchaseDate, .disagreeingPurchaseDates: .transactionReceipt
        }
    }
}

// MARK: - Making errors

extension VerificationError {
    package static func input(_ error: InputError) -> VerificationError { VerificationError(.input(error)) }
    static func host(_ error: LibcryptoError) -> VerificationError {
        VerificationError(.host(SignatureTrustError.Kind(error)))
    }

    package static func policy(
        _ violation: PolicyViolation, found: String? = nil, expected: String? = nil
    ) -> VerificationError {
        VerificationError(
            .policy(violation, found: found.map(UTF8Bytes.init), expected: expected.map(UTF8Bytes.init)))
    }

    package static func configuration(_ fault: ConfigurationFault, found: String? = nil) -> VerificationError {
        VerificationError(.configuration(fault, found: found.map(UTF8Bytes.init)))
    }

    package static func signature(_ error: SignatureTrustError, of kind: EvidenceKind) -> VerificationError {
        VerificationError(error.kind.isHostFault ? .host(error.kind) : .signature(error, kind))
    }

    package static func chain(_ error: SignatureTrustError, of kind: EvidenceKind) -> VerificationError {
        VerificationError(error.kind.isHostFault ? .host(error.kind) : .chain(error, kind))
    }

    func within(_ part: Part) -> VerificationError { VerificationError(reason, part: part) }

    /// Returns the error with its offset into the binary receipt mapped.
    func mappingOffset(_ map: (Int) -> Int) -> VerificationError {
        switch reason {
        case .container(let error):
            VerificationError(.container(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path)))
        case .payload(let error):
            VerificationError(.payload(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path)))
        case .signature(let error, let kind): VerificationError(.signature(error.mappingOffset(map), kind))
        case .chain(let error, let kind): VerificationError(.chain(error.mappingOffset(map), kind))
        case .date(let fault, let offset): VerificationError(.date(fault, offset: offset.map(map)))
        case .input, .compactJWS, .headerSyntax, .header, .propertyList, .signatureBlob, .members, .policy,
            .configuration,
            .host:
            self
        }
    }
}

extension VerificationError.Reason {
    /// Whether the offset counts bytes of the text that was read.
    fileprivate var isOfText: Bool {
        switch self {
        case .input(let error): error.armor != .binary
        case .compactJWS: true
        default: false
        }
    }

    fileprivate var offset: Int? {
        switch self {
        case .input(let error): error.offset
        case .container(let error), .payload(let error): error.offset
        case .compactJWS(_, let offset), .header(_, let offset, _), .signatureBlob(_, let offset): offset
        case .propertyList(let error, _): error.offset
        case .headerSyntax(let error), .members(let error, _, _): error.offset
        case .signature(let error, _), .chain(let error, _): error.offset
        case .date(_, let offset): offset
        case .policy, .configuration, .host: nil
        }
    }
}

// MARK: - What is wrong, and where

extension VerificationError {
    /// The position of the fault, in bytes from the start of ``offsetBase``; `nil` if there is none.
    ///
    /// If ``part`` is not `nil`, the position is in that part.
    public var offset: Int? {
        guard let circumstances, reason.isOfText else { return reason.offset }
        guard let start = circumstances.start else { return nil }
        return reason.offset.map { start + $0 }
    }

    /// Whether the fault is in decoded text, so that it has no position in the received text.
    var isInDecodedText: Bool {
        guard let circumstances else { return false }
        return circumstances.start == nil && reason.isOfText && reason.offset != nil
    }

    /// The bytes that ``offset`` counts; `nil` if there is no offset.
    public var offsetBase: OffsetBase? {
        guard offset != nil else { return nil }
        switch reason {
        case .input(let error): return error.armor == .binary ? .binary : .text
        case .container, .payload: return .binary
        case .compactJWS: return .text
        case .headerSyntax, .header: return .header
        case .propertyList(_, let place): return place == .propertyList ? .propertyList : .payload
        case .signatureBlob: return .signatureBlob
        case .signature(_, let kind), .chain(_, let kind): return kind.signerOffsetBase
        case .date(let fault, _): return fault.evidenceKind == .receipt ? .binary : .payload
        case .members: return .payload
        case .policy, .configuration, .host: return nil
        }
    }

    /// The place of the fault in the structure of a receipt, such as `payload › in_app[3] › 1704 purchase date`, or of
    /// a transaction receipt, such as `purchase-info › quantity`; `nil` for a JWS.
    ///
    /// If the evidence is in another member than those that are read, it is the JSON Pointer to that member, such as
    /// `/purchase/receipt`. A client wrote it.
    public var path: String? {
        if case .member(let pointer) = circumstances?.detail { return pointer.string }
        return switch reason {
        case .container(let error): Self.describe(error.path, in: "container")
        case .payload(let error): Self.describe(error.path, in: "payload")
        case .signature(let error, .receipt), .chain(let error, .receipt):
            Self.describe(error.path, in: "container")
        case .date(let fault, _): fault.evidenceKind.datePath
        case .propertyList(let error, .payload): error.key.map { "purchase-info › \($0.rawValue)" } ?? "purchase-info"
        case .propertyList(let error, .propertyList): error.key?.rawValue
        case .signatureBlob: "signature"
        case .input, .compactJWS, .headerSyntax, .header, .signature, .chain, .members, .policy, .configuration, .host:
            nil
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

    var truncation: Truncation? {
        if case .truncation(let truncation) = circumstances?.detail { truncation } else { nil }
    }

    /// The armor that the input begins like, if it could not be read.
    package var armor: Armor? {
        if case .input(let error) = reason { error.armor } else { nil }
    }

    /// The value that was refused: the bundle id, the environment or the date of genuine evidence, or the part of the
    /// configuration at fault; or the size of truncated evidence that arrived, such as `3072 bytes`.
    ///
    /// It is `nil` if the value is not known to be signed. It can have any length and any characters. To log an error,
    /// use ``description`` or ``json``, which shorten and escape it.
    public var found: String? {
        if let truncation { return "\(truncation.arrived) \(truncation.unit.rawValue)" }
        return switch reason {
        case .policy(_, let found, _), .configuration(_, let found): found?.string
        default: nil
        }
    }

    /// The name of the required member that the payload of a JWS lacks, for the code `missing-member`; otherwise `nil`.
    public var member: String? {
        if case .members(_, let member, _) = reason { member?.string } else { nil }
    }

    /// The value that the policy accepts instead of ``found``, the size of evidence that was cut off, or the kind of
    /// JWS that the method verifies, such as `notification`.
    public var expected: String? {
        if let truncation { return "\(truncation.expected) \(truncation.unit.rawValue)" }
        return switch reason {
        case .policy(_, _, let expected): expected?.string
        case .members(_, _, let kind): kind?.rawValue
        default: nil
        }
    }
}
