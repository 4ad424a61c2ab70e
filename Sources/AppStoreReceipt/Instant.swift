#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
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

extension Instant {
    /// The current time, by the system's clock.
    public static var now: Instant {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Instant(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension Instant: Codable {
    /// Encodes the milliseconds since 1970 as a number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(millisecondsSince1970)
    }

    /// Decodes milliseconds since 1970 from a number.
    public init(from decoder: any Decoder) throws {
        self.init(millisecondsSince1970: try decoder.singleValueContainer().decode(Int64.self))
    }
}
