/// What is measured. The first three are libcrypto's, the others ours.
enum BenchmarkTask: String, CaseIterable {
    /// The digest of the payload and one RSA-2048 verification.
    case floor
    /// `d2i_CMS_ContentInfo` and `CMS_verify`; the payload is not decoded.
    case cmsVerify = "cms-verify"
    /// All elements by `ASN1_get_object`.
    case tlvWalk = "tlv-walk"
    /// Every field of every purchase, typed and checked; nothing verified.
    case decode
    /// The same with the attributes of each purchase in random order.
    case decodeShuffled = "decode-shuffled"
    /// From DER to a `VerifiedReceipt`, with a known chain.
    case verify
    /// The same with a leaf and an intermediate never seen before; the root alone is known.
    case verifyCold = "verify-cold"
    /// The same with a leaf never seen before, under a known intermediate: Apple changes leaves often and intermediates
    /// seldom.
    case verifyNewLeaf = "verify-new-leaf"
    /// From the base64 text.
    case verifyBase64 = "verify-base64"
    /// Verify, then touch every public field of every purchase.
    case readAll = "read-all"
    /// From the body of a request to verifyReceipt, JSON around base64, to the JSON of the answer.
    case response

    /// Whether an input is used only once.
    var needsNewChains: Bool { self == .verifyCold || self == .verifyNewLeaf }
}
