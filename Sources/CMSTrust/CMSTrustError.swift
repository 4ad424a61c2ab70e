import LibcryptoHandles
package import SignatureTrust
package import SpanASN1
import SpanPKCS7

/// The faults that only general messages can have. The raw values are stable; programs may compare them.
package enum CMSFault: String, Sendable, CaseIterable {
    /// Separate content was given for a message that contains its content.
    case unexpectedContent = "unexpected-content"
    /// No signer has the certificate that the caller selected.
    case missingSigner = "missing-signer"
    /// Content that is not plain data was signed without signed attributes (RFC 5652, 5.3), so its type is not signed.
    case missingSignedAttributes = "missing-signed-attributes"
    /// The content has the syntax of another message's signed attributes. The signature may have been made for those.
    case signedAttributesAsContent = "signed-attributes-as-content"
    /// A signer has more attributes than ``CMSLimits/maximumAttributeCount``.
    case tooManyAttributes = "too-many-attributes"
    /// The chain is validated at the signing time, and the signer does not state one.
    case missingSigningTime = "missing-signing-time"
    /// The signing time is later than the latest that the caller accepts.
    case futureSigningTime = "future-signing-time"
    /// The certificates form more paths than ``CMSLimits/maximumIssuerCheckCount`` and ``CMSLimits/maximumPathCount``
    /// allow to try.
    case tooManyPaths = "too-many-paths"
    /// A certificate does not state the purposes of ``CMSPolicy/purposes``.
    case invalidExtendedKeyUsage = "invalid-extended-key-usage"
    /// A revocation list of the policy lists a certificate of the chain.
    case revokedCertificate = "revoked-certificate"
    /// No current revocation list covers a certificate that ``CMSPolicy/revocation`` requires to be checked.
    case missingRevocationList = "missing-revocation-list"
    /// A revocation list of the policy cannot be read, or is not a valid full list.
    case malformedRevocationList = "malformed-revocation-list"
    /// A revocation list of the policy is a delta list (RFC 5280, 5.2.4), which omits the entries of an older list.
    case deltaRevocationList = "delta-revocation-list"
    /// A revocation list of the policy has a critical extension that libcrypto does not know (RFC 5280, 5.2 and 5.3).
    case unsupportedRevocationList = "unsupported-revocation-list"

    /// A clause that says what is wrong, such as "a certificate is revoked".
    package var explanation: String {
        switch self {
        case .unexpectedContent: "separate content was given for a message that contains its content"
        case .missingSigner: "no signer of the message has the requested certificate"
        case .missingSignedAttributes: "the content is not plain data and was signed without signed attributes"
        case .signedAttributesAsContent: "the content has the form of another message's signed attributes"
        case .tooManyAttributes: "a signer has more attributes than the limit"
        case .missingSigningTime: "the message has no signing time"
        case .futureSigningTime: "the signing time is later than the latest accepted time"
        case .tooManyPaths: "the certificates form more paths than the limit"
        case .invalidExtendedKeyUsage: "a certificate does not state the required purpose"
        case .revokedCertificate: "a certificate is revoked"
        case .missingRevocationList: "no current revocation list covers a certificate"
        case .malformedRevocationList: "a revocation list cannot be read"
        case .deltaRevocationList: "a revocation list is a delta list where a full list is required"
        case .unsupportedRevocationList: "a revocation list has an unknown critical extension"
        }
    }
}

/// The reason a message's signature or its certificate chain is not trusted.
package struct CMSTrustError: Error, Hashable, Sendable {
    /// The kinds of faults.
    package enum Kind: Hashable, Sendable {
        /// A fault that a receipt or a JWS can have, too.
        case signature(SignatureTrustError.Kind)
        /// A fault that only general messages can have.
        case message(CMSFault)

        /// A stable word for programs, such as `untrusted-chain`.
        package var code: String {
            switch self {
            case .signature(let kind): kind.rawValue
            case .message(let fault): fault.rawValue
            }
        }

        /// A clause that says what is wrong, such as "a certificate is revoked".
        package var explanation: String {
            switch self {
            case .signature(.missingContent): "the message is detached, and its content was not passed with it"
            case .signature(let kind): kind.explanation
            case .message(let fault): fault.explanation
            }
        }
    }

    /// The kind of fault.
    package let kind: Kind
    /// The start of the element at fault, in bytes from the start of the received binary input; `nil` if there is no
    /// such element.
    package let offset: Int?
    /// The field of the structure; empty if it is not known. The index is that of the signer, the certificate or the
    /// list.
    package let path: ASN1Path

    init(_ kind: Kind, offset: Int? = nil, path: ASN1Path = ASN1Path()) {
        self.kind = kind
        self.offset = offset
        self.path = path
    }

    init(_ error: SignatureTrustError) { self.init(.signature(error.kind), offset: error.offset, path: error.path) }

    init(malformed error: ASN1DecodingError) { self.init(SignatureTrustError(malformed: error)) }
}

extension CMSTrustError {
    func mappingOffset(_ map: (Int) -> Int) -> CMSTrustError {
        CMSTrustError(kind, offset: offset.map(map), path: path)
    }

    /// Runs a closure that calls `SignatureTrust`.
    static func trusting<Result>(
        _ body: () throws(SignatureTrustError) -> Result
    ) throws(CMSTrustError) -> Result {
        do throws(SignatureTrustError) {
            return try body()
        } catch {
            throw CMSTrustError(error)
        }
    }

    /// Runs a closure that reads a part of a certificate, and rethrows its error as `malformed-certificate`.
    static func reading<Result>(_ body: () throws(ASN1DecodingError) -> Result) throws(CMSTrustError) -> Result {
        do throws(ASN1DecodingError) {
            return try body()
        } catch {
            throw CMSTrustError(malformed: error)
        }
    }

    /// Runs a closure that calls libcrypto.
    static func calling<Result>(_ body: () throws(LibcryptoError) -> Result) throws(CMSTrustError) -> Result {
        do throws(LibcryptoError) {
            return try body()
        } catch {
            throw CMSTrustError(
                error.kind == .malformedRevocationList
                    ? .message(.malformedRevocationList) : .signature(SignatureTrustError.Kind(error)))
        }
    }
}

extension CMSTrustError.Kind {
    /// A Boolean value that indicates whether the host is at fault, not the input.
    package var isHostFault: Bool { if case .signature(let kind) = self { kind.isHostFault } else { false } }

    /// Whether a path with this error is nearer to a valid one than one with `other`. The codes break ties.
    func isNearerToValid(than other: CMSTrustError.Kind) -> Bool { (nearness, code) > (other.nearness, other.code) }

    private var nearness: Int { if case .signature(let kind) = self { kind.nearness } else { 6 } }

    init(_ fault: ChainFault) {
        self =
            switch fault {
            case .revoked: .message(.revokedCertificate)
            case .noRevocationList, .unusableRevocationList: .message(.missingRevocationList)
            default: .signature(SignatureTrustError.Kind(fault))
            }
    }
}

extension CMSTrustError: CustomStringConvertible {
    /// The explanation and the byte offset.
    package var description: String { kind.explanation + (offset.map { " at byte \($0)" } ?? "") }
}

extension Certificate {
    func error(_ kind: CMSTrustError.Kind) -> CMSTrustError {
        CMSTrustError(kind, offset: element.offset, path: ASN1Path(.certificates))
    }
}
