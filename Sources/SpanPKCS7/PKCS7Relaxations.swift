/// The deviations from RFC 5652 that ``SignedData`` allows. The default is the empty set.
public struct PKCS7Relaxations: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Allows a signer's `[1]` without an attribute, which is read as no unsigned attributes.
    ///
    /// GnuPG (libksba) writes it, although RFC 5652, 5.3 requires at least one attribute. No signature covers the field.
    public static let emptyUnsignedAttributes = PKCS7Relaxations(rawValue: 1 << 0)
}
