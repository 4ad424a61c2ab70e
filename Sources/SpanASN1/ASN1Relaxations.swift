/// What a cursor lets pass beyond DER. The default, the empty set, is strict DER.
///
/// They are given to the first cursor and go on to every cursor and element made from it. Indefinite lengths and constructed
/// strings are not among them: these are ``BERGate``'s business.
@frozen
public struct ASN1Relaxations: OptionSet, Sendable {
    public let rawValue: UInt16

    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Lengths with leading zeros, or in the long form below 128 (BER; X.690, 10.1 forbids them in DER).
    @inlinable public static var nonMinimalLengths: ASN1Relaxations { .init(rawValue: 1 << 0) }
    /// INTEGERs and ENUMERATEDs whose first nine bits are equal, as some certificates' serial numbers and RSA keys have them
    /// (X.690, 8.3.2 forbids it even in BER). The superfluous octets are dropped.
    @inlinable public static var nonMinimalIntegers: ASN1Relaxations { .init(rawValue: 1 << 1) }
    /// Any octet but 0 for TRUE (BER; X.690, 11.1 demands 0xFF).
    @inlinable public static var nonCanonicalBooleans: ASN1Relaxations { .init(rawValue: 1 << 2) }
    /// Unused bits of a BIT STRING that are not zero (BER; X.690, 11.2.1).
    @inlinable public static var nonZeroUnusedBits: ASN1Relaxations { .init(rawValue: 1 << 3) }
    /// A DEFAULT value that is encoded all the same (BER; X.690, 11.5), such as `cA FALSE` in many certificates.
    @inlinable public static var encodedDefaults: ASN1Relaxations { .init(rawValue: 1 << 4) }
    /// Times without seconds, with an offset instead of `Z`, with a fraction that ends in 0 or begins with a comma
    /// (BER; X.690, 11.7 and 11.8). A time without any zone stays invalid: it names no point in time.
    @inlinable public static var nonCanonicalTimes: ASN1Relaxations { .init(rawValue: 1 << 5) }
    /// Any printing ASCII character in a PrintableString; certificates with `*`, `@`, `&` or `_` in one exist
    /// (X.680, 41.4 forbids it in any encoding).
    @inlinable public static var anyPrintableCharacter: ASN1Relaxations { .init(rawValue: 1 << 6) }
}
