public import SignatureTrust
public import SpanASN1

/// A receipt whose signature, chain and policy were verified.
///
/// Only ``AppStoreVerifier`` makes one; no initialiser and no decoding does. What grants something asks for this type.
///
/// It says what Apple signed at ``ReceiptContents/creationDate``. It cannot say what happened since (refunds, renewals), nor whose receipt
/// it is: whoever holds a copy can send it.
public struct VerifiedReceipt: ReceiptContents, Hashable, Sendable {
    /// What the receipt says. The plain value no longer shows that it was verified.
    public let receipt: Receipt
    /// How the receipt was verified.
    public let verification: Verification

    init(receipt: Receipt, verification: Verification) {
        self.receipt = receipt
        self.verification = verification
    }
}

/// A receipt that was decoded and not verified: anyone can have written it.
public struct UnverifiedReceipt: ReceiptContents, Hashable, Sendable {
    /// What the receipt says, or whoever wrote it.
    public let receipt: Receipt

    init(receipt: Receipt) { self.receipt = receipt }
}

/// How evidence was verified: by whose signature, with which certificate, and at which date its chain was judged.
public struct Verification: Hashable, Sendable {
    /// Whose word it is.
    public enum Authority: String, Hashable, Sendable {
        /// A chain to one of Apple's roots: Apple signed the receipt.
        case apple
        /// A chain to a root that the caller gave.
        case customRoot = "custom-root"
        /// A certificate of StoreKit Testing. Everyone who has Xcode can sign with it: this authenticates nobody.
        case storeKitTesting = "storekit-testing"
    }

    /// Whose word it is. ``Authority/storeKitTesting`` is nobody's.
    public let authority: Authority
    /// SHA-256 of the trust anchor's certificate.
    public let anchor: Fingerprint
    /// SHA-256 of the signer's certificate.
    public let signer: Fingerprint
    /// When the signer's certificate expires or expired.
    public let signerExpiry: Instant
    /// What the payload was hashed with: SHA-1 or SHA-256 by Apple.
    public let digest: SignatureDigest
    /// The date at which the chain was judged.
    public let validationDate: Instant
}
