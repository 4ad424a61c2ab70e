import Foundation

/// Runs `body` on `count` concurrent threads, even on one processor, and returns when all have ended.
package func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).map { number in Thread { body(number) } }
    for thread in threads { thread.start() }
    while !threads.allSatisfy(\.isFinished) { usleep(500) }
}
