import SpanASN1

/// What a policy that bounds an age says of a date.
enum Age {
    case allowed, tooGreat
    /// The date lies in the future by more than ``Age/clockTolerance``.
    case belowZero

    /// How far the clocks of who dates and of who verifies may be apart, in milliseconds.
    static let clockTolerance: Int64 = 5 * 60 * 1000
}

extension Instant {
    /// - Parameters:
    ///   - now: when the age is asked for.
    ///   - maximum: the greatest age that is allowed, in milliseconds.
    func age(at now: Instant, maximum: Int64) -> Age {
        let (age, isOverflow) = now.millisecondsSince1970.subtractingReportingOverflow(millisecondsSince1970)
        if isOverflow { return now < self ? .belowZero : .tooGreat }
        if age < -Age.clockTolerance { return .belowZero }
        return age <= maximum ? .allowed : .tooGreat
    }
}
