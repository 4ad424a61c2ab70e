package import SpanASN1
package import StrictText

/// The reason a message was refused, or no verifier was made.
public struct CMSVerificationError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The message is not `SignedData` of RFC 5652 or RFC 2315, or exceeds a limit.
        case structure(ASN1DecodingError)
        /// The text of a message or of a file of the policy is malformed PEM, or has the wrong blocks. If the path has
        /// no field, it is the message.
        case pem(PEMFileError, ASN1Path)
        /// A signature is not valid, or its signer is not trusted. The index of the error's path is that of the signer.
        case trust(CMSTrustError)
        /// No verifier can be made from the policy. The index of the error's path is that of the certificate or the
        /// list.
        case policy(CMSTrustError)
    }

    package let reason: Reason

    package static func structure(_ error: ASN1DecodingError) -> Self { Self(reason: .structure(error)) }
    package static func trust(_ error: CMSTrustError) -> Self { Self(reason: .trust(error)) }
    package static func policy(_ error: CMSTrustError) -> Self { Self(reason: .policy(error)) }

    /// A stable word for programs, such as `untrusted-chain`.
    public var code: Code {
        switch reason {
        case .structure(let error): Code(rawValue: error.kind.rawValue)
        case .pem: .invalidPEM
        case .trust(let error), .policy(let error): Code(rawValue: error.kind.code)
        }
    }

    /// The position of the fault, in bytes from the start of the message; `nil` if there is none.
    ///
    /// For a message in PEM, it is the position in the decoded message, or in the text if the code is
    /// ``Code/invalidPEM``.
    public var offset: Int? {
        switch reason {
        case .structure(let error): error.offset
        case .pem(let error, _): error.offset
        case .trust(let error), .policy(let error): error.offset
        }
    }

    /// The index of the signer whose signature or chain is at fault; for a fault of the policy, of the certificate or
    /// list.
    public var index: Int? { if case .structure = reason { nil } else { path.index } }

    /// A Boolean value that indicates whether this host is at fault, not the message.
    package var isHostFault: Bool {
        switch reason {
        case .structure, .pem: false
        case .trust(let error), .policy(let error): error.kind.isHostFault
        }
    }

    /// The field of the structure.
    package var path: ASN1Path {
        switch reason {
        case .structure(let error): error.path
        case .pem(_, let path): path
        case .trust(let error), .policy(let error): error.path
        }
    }

    func mappingOffset(_ map: (Int) -> Int) -> CMSVerificationError {
        switch reason {
        case .structure(let error):
            .structure(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path))
        case .trust(let error): .trust(error.mappingOffset(map))
        case .pem, .policy: self
        }
    }
}

extension CMSVerificationError: CustomStringConvertible {
    /// The explanation, with the signer and the byte offset.
    public var description: String {
        switch reason {
        case .structure(let error): error.description
        case .pem(let error, _): error.description
        case .trust(let error): error.path.index.map { "signer \($0): \(error)" } ?? error.description
        case .policy(let error): error.description
        }
    }
}
