import Foundation

/// Looks every 5 milliseconds whether a condition holds, until it does.
///
/// - Throws: If it does not within five minutes, which is no limit of what is tested: machines stand still for seconds.
package func wait(until holds: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(300)
    while try !holds() {
        guard ContinuousClock.now < end else { throw NeverHeld() }
        usleep(5000)
    }
}

private struct NeverHeld: Error, CustomStringConvertible {
    let description = "not within five minutes"
}
