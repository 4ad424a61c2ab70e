public import SpanASN1

/// A point in time in whole milliseconds since 1970-01-01T00:00:00Z.
public typealias Instant = SpanASN1.Instant

// The standard library has these operators for its own instants alone. They are in this module so that a backend imports no other.
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
