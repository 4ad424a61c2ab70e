import SignatureTrust
public import SpanASN1

/// The reason a message was refused.
public enum CMSVerificationError: Error, Hashable, Sendable {
    /// The message is not `SignedData` of RFC 5652 or RFC 2315, or exceeds a limit.
    case structure(ASN1DecodingError)
    /// A signature is not valid, or its signer is not trusted. The index of the error's path is that of the signer.
    case trust(CMSTrustError)

    /// A stable word for programs, such as `untrusted-chain`.
    public var code: String {
        switch self {
        case .structure(let error): error.kind.rawValue
        case .trust(let error): error.kind.code
        }
    }

    /// The position of the fault, in bytes from the start of the received message; `nil` if there is none.
    public var offset: Int? {
        switch self {
        case .structure(let error): error.offset
        case .trust(let error): error.offset
        }
    }

    /// The field of the structure. The index of `signerInfos` is that of the signer.
    public var path: ASN1Path {
        switch self {
        case .structure(let error): error.path
        case .trust(let error): error.path
        }
    }

    func mappingOffset(_ map: (Int) -> Int) -> CMSVerificationError {
        switch self {
        case .structure(let error):
            .structure(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path))
        case .trust(let error): .trust(error.mappingOffset(map))
        }
    }
}

extension CMSVerificationError: CustomStringConvertible {
    /// The explanation, with the signer and the byte offset.
    public var description: String {
        switch self {
        case .structure(let error): error.description
        case .trust(let error): error.path.index.map { "signer \($0): \(error)" } ?? error.description
        }
    }
}
