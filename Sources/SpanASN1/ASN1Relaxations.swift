/// The deviations from DER that a cursor allows. The default is the empty set, which is strict DER.
///
/// Pass them to the first cursor: every cursor and element made from it inherits them. For indefinite lengths and
/// constructed strings, see ``BERGate``.
@usableFromInline
package struct ASN1Relaxations: BitwiseCopyable, OptionSet, Sendable {
    @usableFromInline package let rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Allows lengths with leading zeros, and lengths below 128 in the long form (BER; X.690, 10.1 forbids them in
    /// DER).
    @inlinable package static var nonMinimalLengths: ASN1Relaxations { .init(rawValue: 1 << 0) }
    /// Allows INTEGERs and ENUMERATEDs whose first nine bits are equal (X.690, 8.3.2 forbids them even in BER).
    ///
    /// The serial numbers and RSA keys of some certificates have them. The superfluous octets are discarded.
    @inlinable package static var nonMinimalIntegers: ASN1Relaxations { .init(rawValue: 1 << 1) }
    /// Allows any octet except 0 for TRUE (BER; X.690, 11.1 requires 0xFF in DER).
    @inlinable package static var nonCanonicalBooleans: ASN1Relaxations { .init(rawValue: 1 << 2) }
    /// Allows unused bits of a BIT STRING that are not zero (BER; X.690, 11.2.1).
    @inlinable package static var nonZeroUnusedBits: ASN1Relaxations { .init(rawValue: 1 << 3) }
    /// Allows encoded DEFAULT values (BER; X.690, 11.5), such as `cA FALSE` in many certificates.
    @inlinable package static var encodedDefaults: ASN1Relaxations { .init(rawValue: 1 << 4) }
    /// Allows times without seconds, with an offset instead of `Z`, or with a fraction that ends in 0 or begins with a
    /// comma (BER; X.690, 11.7 and 11.8).
    ///
    /// A time without a time zone is still invalid, because it is not a point in time.
    @inlinable package static var nonCanonicalTimes: ASN1Relaxations { .init(rawValue: 1 << 5) }
    /// Allows any printing ASCII character in a PrintableString (X.680, 41.4 forbids it in any encoding).
    ///
    /// Some certificates have `*`, `@`, `&` or `_` in one.
    @inlinable package static var anyPrintableCharacter: ASN1Relaxations { .init(rawValue: 1 << 6) }
}
