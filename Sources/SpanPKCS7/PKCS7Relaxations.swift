/// The deviations from RFC 5652 that ``SignedData`` allows. The default is the empty set.
package struct PKCS7Relaxations: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Allows a signer's `[1]` without an attribute, which is read as no unsigned attributes.
    ///
    /// GnuPG (libksba) writes it, although RFC 5652, 5.3 requires at least one attribute. No signature covers the
    /// field.
    package static let emptyUnsignedAttributes = PKCS7Relaxations(rawValue: 1 << 0)
}
