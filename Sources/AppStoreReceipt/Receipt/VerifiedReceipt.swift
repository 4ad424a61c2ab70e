/// A receipt whose signature and certificate chain are valid, and which the policy accepts.
///
/// Only an ``AppStoreVerifier`` makes one. There is no initializer, and it cannot be decoded from storage. Code that
/// grants something should take this type.
///
/// It says what Apple signed at ``ReceiptContents/creationDate``. It does not say what has happened since (refunds,
/// renewals), or whose receipt it is: anyone who has a copy can send it.
public struct VerifiedReceipt: ReceiptContents, Hashable, Sendable {
    /// The contents of the receipt as a plain value, whose type does not show that it was verified.
    public let receipt: Receipt
    /// The contents.
    public var _contents: Receipt { receipt }
    /// The signer and the date of the verification.
    public let verification: SignerVerification
}
