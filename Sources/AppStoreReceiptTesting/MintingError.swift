import LibcryptoHandles
import Instants
import SpanASN1

/// The reason something could not be minted. The raw values are stable words.
///
/// Deliberate faults are not errors: a builder writes any value that has an encoding.
public struct MintingError: Error, Hashable, Sendable {
    /// The stable words for the reasons.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// libcrypto on this host does not sign with the digest algorithm. (MD5 and SHA-1 are often disabled.)
        case algorithmUnavailable = "algorithm-unavailable"
        /// libcrypto could not allocate memory.
        case outOfMemory = "out-of-memory"
        /// libcrypto failed for another reason.
        case libcryptoFailure = "libcrypto-failure"
        /// A private key cannot be read, or is encrypted.
        case malformedKey = "malformed-key"
        /// A key of the requested kind or size cannot be made, or the key cannot make the signature.
        case unsuitableKey = "unsuitable-key"
        /// A certificate whose name or serial number is needed cannot be read.
        case malformedCertificate = "malformed-certificate"
        /// A file of a stored authority is missing.
        case missingFile = "missing-file"
        /// The type cannot express a character, date, number or bit string.
        case inexpressibleValue = "inexpressible-value"
    }

    /// The reason.
    public let code: Code

    /// Creates an error with a reason, such as for your own fake.
    public init(code: Code) { self.code = code }

    package static let algorithmUnavailable = Self(code: .algorithmUnavailable)
    package static let outOfMemory = Self(code: .outOfMemory)
    package static let libcryptoFailure = Self(code: .libcryptoFailure)
    package static let malformedKey = Self(code: .malformedKey)
    package static let unsuitableKey = Self(code: .unsuitableKey)
    package static let malformedCertificate = Self(code: .malformedCertificate)
    package static let missingFile = Self(code: .missingFile)
    package static let inexpressibleValue = Self(code: .inexpressibleValue)
}

extension MintingError: CustomStringConvertible {
    /// What is wrong.
    public var description: String {
        switch code {
        case .algorithmUnavailable: "libcrypto on this host does not sign with the digest algorithm"
        case .outOfMemory: "libcrypto could not allocate memory"
        case .libcryptoFailure: "libcrypto failed"
        case .malformedKey: "the private key cannot be read, or is encrypted"
        case .unsuitableKey: "no key of this kind or size can be made, or the key cannot make the signature"
        case .malformedCertificate: "the certificate cannot be read"
        case .missingFile: "a file of the authority is missing"
        case .inexpressibleValue: "a character, date, number or bit string cannot be expressed in its type"
        }
    }
}

extension MintingError {
    static func calling<Result>(_ body: () throws(LibcryptoError) -> Result) throws(MintingError) -> Result {
        do throws(LibcryptoError) {
            return try body()
        } catch {
            throw switch error.kind {
            case .algorithmUnavailable: .algorithmUnavailable
            case .allocationFailed: .outOfMemory
            case .malformedKey: .malformedKey
            case .unsuitableKey: .unsuitableKey
            case .malformedCertificate, .malformedRevocationList: .malformedCertificate
            case .operationFailed: .libcryptoFailure
            }
        }
    }

    static func reading<Result>(_ body: () throws(ASN1DecodingError) -> Result) throws(MintingError) -> Result {
        do throws(ASN1DecodingError) {
            return try body()
        } catch {
            throw .malformedCertificate
        }
    }
}

extension Optional {
    /// `??` with a typed error.
    func orElse(_ make: () throws(MintingError) -> Wrapped) throws(MintingError) -> Wrapped {
        if let self { return self }
        return try make()
    }
}

extension ASN1Writer {
    /// Writes a UTCTime or a GeneralizedTime, as X.509 requires (RFC 5280, 4.1.2.5).
    mutating func write(_ time: Instant) throws(MintingError) {
        do throws(ASN1EncodingError) {
            try writeTime(time)
        } catch {
            throw .inexpressibleValue
        }
    }
}
