package import Instants

// Values of the universal types. `tagged:` is an implicit tag, which is written in primitive form.
extension ASN1Writer {
    /// Writes an INTEGER.
    package mutating func writeInteger(_ value: some FixedWidthInteger, tagged tag: ASN1Tag = .integer) {
        append(tag.asPrimitive)
        // The significant bits and the sign bit.
        let bitCount = type(of: value).bitWidth - (value < 0 ? ~value : value).leadingZeroBitCount + 1
        let count = (bitCount + 7) / 8
        append(length: count)
        for index in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: value >> (index * 8))) }
    }

    /// Writes an INTEGER of any size from big-endian two's complement. Superfluous octets are discarded. Empty octets
    /// are the number 0.
    package mutating func writeInteger(twosComplement octets: Span<UInt8>, tagged tag: ASN1Tag = .integer) {
        var first = 0
        while octets.count - first > 1, ASN1Element.isSuperfluous(octets[first], before: octets[first + 1]) {
            first += 1
        }
        append(tag.asPrimitive)
        append(length: max(octets.count - first, 1))
        octets.isEmpty ? append(0) : append(octets.extracting(first...))
    }

    /// Writes a non-negative INTEGER of any size from its big-endian magnitude. Empty octets are the number 0.
    package mutating func writeInteger(magnitude octets: Span<UInt8>, tagged tag: ASN1Tag = .integer) {
        var first = 0
        while first < octets.count, octets[first] == 0 { first += 1 }
        let needsZero = first == octets.count || octets[first] >= 0x80
        append(tag.asPrimitive)
        append(length: octets.count - first + (needsZero ? 1 : 0))
        if needsZero { append(0) }
        append(octets.extracting(first...))
    }

    /// Writes a BOOLEAN.
    package mutating func writeBoolean(_ value: Bool, tagged tag: ASN1Tag = .boolean) {
        append(tag.asPrimitive)
        append(length: 1)
        append(value ? 0xFF : 0x00)
    }

    /// Writes a NULL.
    package mutating func writeNull(tagged tag: ASN1Tag = .null) {
        append(tag.asPrimitive)
        append(length: 0)
    }

    /// Writes an OBJECT IDENTIFIER.
    package mutating func writeObjectIdentifier(
        _ identifier: ASN1ObjectIdentifier, tagged tag: ASN1Tag = .objectIdentifier
    ) {
        write(tag.asPrimitive, content: identifier.content.span)
    }

    /// Writes an OCTET STRING.
    package mutating func writeOctetString(_ octets: Span<UInt8>, tagged tag: ASN1Tag = .octetString) {
        write(tag.asPrimitive, content: octets)
    }

    /// Writes an OCTET STRING whose content a closure writes.
    ///
    /// - Throws: The error that `body` throws.
    package mutating func writeOctetString<Failure: Error>(
        tagged tag: ASN1Tag = .octetString, _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) {
        try write(tag.asPrimitive, body)
    }

    /// Writes a BIT STRING. Unused bits are written as 0 (X.690, 11.2.1).
    ///
    /// - Throws: `invalid-bit-string` for more than 7 unused bits, or unused bits without an octet.
    package mutating func writeBitString(
        _ octets: Span<UInt8>, unusedBitCount: Int = 0, tagged tag: ASN1Tag = .bitString
    ) throws(ASN1EncodingError) {
        guard 0...(octets.isEmpty ? 0 : 7) ~= unusedBitCount else { throw .invalidBitString }
        append(tag.asPrimitive)
        append(length: octets.count + 1)
        append(UInt8(unusedBitCount))
        guard !octets.isEmpty else { return }
        append(octets.extracting(..<(octets.count - 1)))
        append(octets[octets.count - 1] & (0xFF << UInt8(unusedBitCount)))
    }

    /// Writes a BIT STRING of whole octets, which a closure writes.
    ///
    /// - Throws: The error that `body` throws.
    package mutating func writeBitString<Failure: Error>(
        tagged tag: ASN1Tag = .bitString, _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) {
        try write(tag.asPrimitive) { (writer) throws(Failure) in
            writer.append(0)
            try body(&writer)
        }
    }

    // MARK: Strings

    /// Writes a UTF8String.
    package mutating func writeUTF8String(_ text: String, tagged tag: ASN1Tag = .utf8String) {
        append(tag.asPrimitive)
        append(length: text.utf8.count)
        append(text)
    }

    // MARK: Times

    /// Writes a UTCTime, `YYMMDDHHMMSSZ`.
    ///
    /// - Throws: `invalid-time` for a year outside 1950–2049 (RFC 5280, 4.1.2.5.1), or for a fraction of a second.
    package mutating func writeUTCTime(_ time: Instant, tagged tag: ASN1Tag = .utcTime) throws(ASN1EncodingError) {
        let parts = time.components
        guard 1950...2049 ~= parts.year, parts.millisecond == 0 else { throw .invalidTime }
        append(tag.asPrimitive)
        append(length: 13)
        append(digits: parts.year % 100, 2)
        appendMonthToSecond(parts)
        append(UInt8(ascii: "Z"))
    }

    /// Writes a GeneralizedTime, `YYYYMMDDHHMMSS[.f…]Z`, with a fraction if there are milliseconds.
    ///
    /// - Throws: `invalid-time` for a year outside 0–9999.
    package mutating func writeGeneralizedTime(
        _ time: Instant, tagged tag: ASN1Tag = .generalizedTime
    ) throws(ASN1EncodingError) {
        let parts = time.components
        guard 0...9999 ~= parts.year else { throw .invalidTime }
        append(tag.asPrimitive)
        // X.690, 11.7.3: no trailing zeros, and no point without a fraction.
        var (fraction, fractionDigits) = (parts.millisecond, parts.millisecond == 0 ? 0 : 3)
        while fractionDigits > 0, fraction % 10 == 0 {
            (fraction, fractionDigits) = (fraction / 10, fractionDigits - 1)
        }
        append(length: fractionDigits == 0 ? 15 : 16 + fractionDigits)
        append(digits: parts.year, 4)
        appendMonthToSecond(parts)
        if fractionDigits > 0 {
            append(UInt8(ascii: "."))
            append(digits: fraction, fractionDigits)
        }
        append(UInt8(ascii: "Z"))
    }

    /// Writes RFC 5280's `Time`: a UTCTime for the years 1950–2049, and a GeneralizedTime for all others (4.1.2.5).
    ///
    /// - Throws: `invalid-time` for a year outside 0–9999, or for a fraction of a second, which RFC 5280 does not
    ///   allow.
    package mutating func writeTime(_ time: Instant) throws(ASN1EncodingError) {
        let parts = time.components
        guard parts.millisecond == 0 else { throw .invalidTime }
        1950...2049 ~= parts.year ? try writeUTCTime(time) : try writeGeneralizedTime(time)
    }

    private mutating func appendMonthToSecond(_ parts: Instant.Components) {
        append(digits: parts.month, 2)
        append(digits: parts.day, 2)
        append(digits: parts.hour, 2)
        append(digits: parts.minute, 2)
        append(digits: parts.second, 2)
    }
}
