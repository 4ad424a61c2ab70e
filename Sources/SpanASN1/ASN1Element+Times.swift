package import Instants

// UTCTime and GeneralizedTime, as DER restricts them (X.690, 11.7 and 11.8).
extension ASN1Element {
    /// Returns the time of a UTCTime, `YYMMDDHHMMSSZ`. The years 50–99 are 1950–1999, and 00–49 are 2000–2049 (RFC
    /// 5280, 4.1.2.5.1).
    ///
    /// - Parameter tag: The implicit tag that replaces that of UTCTime.
    /// - Throws: `unexpected-tag`; `invalid-time` for another form, for a date or time that does not exist, or for a
    ///   leap second.
    package func utcTime(tagged tag: ASN1Tag = .utcTime) throws(ASN1DecodingError) -> Instant {
        try require(tag)
        var time = TimeReader(content, isDER: !relaxations.contains(.nonCanonicalTimes))
        guard let year = time.digits(2),
            let timestamp = time.read(year: year < 50 ? year + 2000 : year + 1900, hasFraction: false)
        else { throw error(.invalidTime) }
        return timestamp
    }

    /// Returns the time of a GeneralizedTime, `YYYYMMDDHHMMSS[.f…]Z`, whose fraction does not end in 0.
    ///
    /// Digits of the fraction below a millisecond are checked and discarded.
    ///
    /// - Parameter tag: The implicit tag that replaces that of GeneralizedTime.
    /// - Throws: `unexpected-tag`; `invalid-time` for another form, for a date or time that does not exist, or for a
    ///   leap second.
    package func generalizedTime(tagged tag: ASN1Tag = .generalizedTime) throws(ASN1DecodingError) -> Instant {
        try require(tag)
        var time = TimeReader(content, isDER: !relaxations.contains(.nonCanonicalTimes))
        guard let year = time.digits(4), let timestamp = time.read(year: year, hasFraction: true) else {
            throw error(.invalidTime)
        }
        return timestamp
    }

    /// Returns the time of RFC 5280's `Time`, which is a UTCTime or a GeneralizedTime.
    ///
    /// - Throws: `unexpected-tag`; `invalid-time`.
    package func time() throws(ASN1DecodingError) -> Instant {
        tag == .generalizedTime ? try generalizedTime() : try utcTime()
    }
}

private struct TimeReader: ~Escapable {
    private let text: Span<UInt8>
    private var index = 0
    private let isDER: Bool

    @_lifetime(copy text)
    init(_ text: Span<UInt8>, isDER: Bool) {
        self.text = text
        self.isDER = isDER
    }

    /// Reads the next octet if it is the given character, and returns whether it was.
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard index < text.count, text[index] == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    mutating func digits(_ count: Int) -> Int? {
        guard count <= text.count - index else { return nil }
        var value = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private mutating func digit() -> Int? {
        guard index < text.count, 0x30...0x39 ~= text[index] else { return nil }
        index += 1
        return Int(text[index - 1]) - 0x30
    }

    /// Reads everything after the year.
    mutating func read(year: Int, hasFraction: Bool) -> Instant? {
        guard let month = digits(2), let day = digits(2), let hour = digits(2), let minute = digits(2) else {
            return nil
        }
        let second = digits(2)
        guard second != nil || !isDER else { return nil }
        guard let millisecond = hasFraction && second != nil ? fraction() : 0, let offset = zone(), index == text.count,
            let local = Instant(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second ?? 0,
                millisecond: millisecond)
        else { return nil }
        let timestamp = Instant(millisecondsSince1970: local.millisecondsSince1970 - Int64(offset) * 60_000)
        return 0...9999 ~= timestamp.components.year ? timestamp : nil
    }

    /// Reads a fraction in milliseconds; `nil` if it is malformed.
    private mutating func fraction() -> Int? {
        guard skip(".") || (!isDER && skip(",")) else { return 0 }
        var milliseconds = 0
        var weight = 100
        guard var last = digit() else { return nil }
        milliseconds = last * weight
        while let digit = digit() {
            weight /= 10
            milliseconds += digit * weight
            last = digit
        }
        return isDER && last == 0 ? nil : milliseconds
    }

    /// Reads a time zone in minutes east of UTC.
    private mutating func zone() -> Int? {
        if skip("Z") { return 0 }
        guard !isDER else { return nil }
        let isWest = skip("-")
        guard isWest || skip("+"), let hours = digits(2), let minutes = index == text.count ? 0 : digits(2), hours < 24,
            minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }
}
