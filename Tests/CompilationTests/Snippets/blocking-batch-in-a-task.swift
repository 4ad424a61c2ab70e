// A task may not block a thread that all tasks share.
import AppStoreReceipt

func count(_ lines: [String], _ verifier: AppStoreVerifier) async -> Int {
    var count = 0
    #if CONTROL
    for await _ in verifier.verdicts(on: lines) { count += 1 }
    #else
    // error: is unavailable from asynchronous contexts
    verifier.forEachVerdict(on: lines) { _ in count += 1 }
    #endif
    return count
}
