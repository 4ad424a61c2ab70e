public import SignatureTrust
public import Instants

/// How evidence was verified: the authority that signed it, the certificates, and the date at which the chain was
/// validated.
public struct SignerVerification: Hashable, Sendable {
    /// The authorities that can sign evidence.
    @nonexhaustive
    public enum Authority: String, Codable, Hashable, Sendable {
        /// Apple: the chain ends in one of Apple's root certificates.
        case apple
        /// The owner of a root certificate that you chose with ``AppStoreTrust/roots(_:)``.
        case customRoot = "custom-root"
        /// StoreKit Testing in Xcode. Anyone who has Xcode can sign with its certificate, so it authenticates nobody.
        case storeKitTesting = "storekit-testing"
    }

    /// The authority that signed the evidence.
    public let authority: Authority
    /// The SHA-256 of the trust anchor's certificate.
    public let anchor: Fingerprint
    /// The SHA-256 of the signer's certificate.
    public let signer: Fingerprint
    /// The date the signer's certificate expires.
    public let signerExpirationDate: Instant
    /// The digest algorithm of the signature. Apple uses SHA-1 or SHA-256.
    public let digest: SignatureDigest
    /// The date at which the certificate chain was validated.
    public let validationDate: Instant
    /// The wrappers around the evidence.
    var layers = Layers()

    /// The names of the evidence's wrappers, outermost first, such as `unity`; empty if there are none.
    /// <doc:WhatClientsSend> lists them.
    public var unwrapped: [String] { layers.names }

    func inside(_ layers: Layers) -> SignerVerification {
        var verification = self
        verification.layers = layers
        return verification
    }
}

/// The JSON has the properties' names in lowercase with `_`, for logs and for storage. Dates are milliseconds since
/// 1970. It omits the wrappers around the evidence, and cannot be decoded: only a verifier makes one.
extension SignerVerification: Encodable {
    private enum CodingKeys: String, CodingKey {
        case authority, anchor, signer, digest
        case signerExpirationDate = "signer_expiration_date"
        case validationDate = "validation_date"
    }
}
