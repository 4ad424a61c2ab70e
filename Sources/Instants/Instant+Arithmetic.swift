extension Instant: InstantProtocol {
    /// The earliest instant, 292 million years ago.
    public static let distantPast = Instant(millisecondsSince1970: .min)
    /// The latest instant, in 292 million years.
    public static let distantFuture = Instant(millisecondsSince1970: .max)

    /// Returns the instant that is later by a duration, or earlier by a negative one.
    ///
    /// The result has whole milliseconds; a fraction is discarded. It is at least ``distantPast`` and at most
    /// ``distantFuture``.
    ///
    /// - Parameter duration: The duration to add.
    public func advanced(by duration: Duration) -> Instant { moved(by: duration.wholeMilliseconds) }

    /// - Parameter milliseconds: Those of a duration: their sum with any instant's fits in 128 bits.
    func moved(by milliseconds: Int128) -> Instant {
        Instant(millisecondsSince1970: Int64(clamping: Int128(millisecondsSince1970) + milliseconds))
    }

    /// Returns the duration from this instant to another; it is negative if the other is earlier.
    ///
    /// - Parameter other: The other instant.
    public func duration(to other: Instant) -> Duration {
        .milliseconds(other.millisecondsSince1970) - .milliseconds(millisecondsSince1970)
    }
}

extension Duration {
    /// A `Duration` can have more seconds than its `components` can hold.
    fileprivate var wholeMilliseconds: Int128 { attoseconds / 1_000_000_000_000_000 }
}

// The standard library has these operators only for its own instants.
extension Instant {
    /// The instant later by a duration, as ``advanced(by:)``.
    public static func + (instant: Instant, duration: Duration) -> Instant { instant.advanced(by: duration) }

    /// The instant earlier by a duration, within the bounds of ``advanced(by:)``.
    public static func - (instant: Instant, duration: Duration) -> Instant {
        instant.moved(by: -duration.wholeMilliseconds)
    }

    /// Makes an instant later by a duration, as ``advanced(by:)``.
    public static func += (instant: inout Instant, duration: Duration) { instant = instant + duration }

    /// Makes an instant earlier by a duration, within the bounds of ``advanced(by:)``.
    public static func -= (instant: inout Instant, duration: Duration) { instant = instant - duration }

    /// How much later the first instant is than the second.
    public static func - (instant: Instant, other: Instant) -> Duration { other.duration(to: instant) }
}
