import LibcryptoHandles
import SpanASN1

/// Why something could not be minted. The raw values are stable words.
///
/// Faults on purpose are no errors: what is asked for is written, right or wrong, as long as it has an encoding.
public enum MintingError: String, Error, Hashable, Sendable {
    /// This host's libcrypto does not sign with the digest asked for (MD5 and SHA-1 are often switched off).
    case algorithmUnavailable = "algorithm-unavailable"
    /// libcrypto could not allocate memory.
    case outOfMemory = "out-of-memory"
    /// libcrypto failed for another reason.
    case libcryptoFailure = "libcrypto-failure"
    /// A private key that cannot be read, or is encrypted.
    case malformedKey = "malformed-key"
    /// A key of a kind or size that cannot be made, or cannot sign what it should.
    case unsuitableKey = "unsuitable-key"
    /// A certificate that cannot be read, where its name or serial number is needed.
    case malformedCertificate = "malformed-certificate"
    /// A part of a stored authority is not there.
    case missingFile = "missing-file"
    /// A character, date or bit string that its type cannot express.
    case inexpressibleValue = "inexpressible-value"
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
