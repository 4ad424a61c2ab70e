import Instants

/// The result of comparing the age of a date with a maximum.
enum Age {
    case allowed, tooGreat
    /// The date lies in the future by more than ``Age/clockTolerance``.
    case belowZero

    /// How far the clocks of the signer and of the verifier may differ.
    static let clockTolerance = Duration.seconds(5 * 60)
}

extension Instant {
    /// - Parameters:
    ///   - now: when the age is asked for.
    ///   - maximum: the greatest age that is allowed.
    func age(at now: Instant, maximum: Duration) -> Age {
        let age = duration(to: now)
        if age < .zero - Age.clockTolerance { return .belowZero }
        return age <= maximum ? .allowed : .tooGreat
    }
}
