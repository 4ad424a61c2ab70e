import Instants

/// A scale of time: dates become parts of the width of a drawing.
struct Scale {
    let start: Instant
    let end: Instant

    /// - Returns: `nil` if there are no dates.
    init?(_ dates: [Instant]) {
        guard let start = dates.min(), let end = dates.max() else { return nil }
        self.start = start
        // A width of zero would leave nothing to divide by.
        self.end = end > start ? end : start.advanced(by: .seconds(3600))
    }

    var length: Int128 { Int128(end.millisecondsSince1970) - Int128(start.millisecondsSince1970) }

    /// The place of a date, in hundredths of a percent; dates beyond the scale are at its ends.
    func part(of date: Instant) -> Int {
        guard length > 0 else { return 0 }
        let distance = Int128(date.millisecondsSince1970) - Int128(start.millisecondsSince1970)
        return Int(min(max(distance * 10_000 / length, 0), 10_000))
    }

    /// The date at a part of the scale.
    func date(at part: Int) -> Instant {
        Instant(
            millisecondsSince1970: Int64(clamping: Int128(start.millisecondsSince1970) + length * Int128(part) / 10_000)
        )
    }
}
