import Foundation

/// Looks every 5 milliseconds whether a condition holds, until it does.
///
/// - Throws: If it does not within five minutes. That ends a test that would hang, and promises nothing about times:
///   busy machines stand still for seconds.
package func wait(until holds: () throws -> Bool, file: String = #fileID, line: Int = #line) throws {
    let end = ContinuousClock.now + .seconds(300)
    while try !holds() {
        guard ContinuousClock.now < end else { throw NeverHeld(description: "\(file):\(line): never, in five minutes") }
        usleep(5000)
    }
}

private struct NeverHeld: Error, CustomStringConvertible {
    let description: String
}
