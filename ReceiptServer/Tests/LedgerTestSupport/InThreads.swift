import Foundation

/// Runs work in as many threads at the same time, however few processors there are, and returns when all have ended.
package func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).map { number in Thread { body(number) } }
    for thread in threads { thread.start() }
    while !threads.allSatisfy(\.isFinished) { usleep(500) }
}
