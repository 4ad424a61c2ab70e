/// What ``SignedData`` lets pass beyond RFC 5652. The default, the empty set, is the RFC.
public struct PKCS7Relaxations: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A signer's `[1]` without an attribute in it, which reads as no unsigned attributes. GnuPG (libksba) writes it; RFC 5652, 5.3 demands one at
    /// least. No signature covers the field.
    public static let emptyUnsignedAttributes = PKCS7Relaxations(rawValue: 1 << 0)
}
