import AppStoreReceipt
import AppStoreReceiptTesting
import CFork
import LibcryptoHandles
import Synchronization
import TestSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// Forks while other threads work. A test runs this program as a process of its own: the test process must not be
// forked.

/// Runs `body` in children, one after the other. Returns what each returns, and the negative number of a signal for one
/// that hangs or dies.
///
/// - Parameter isRehearsed: whether to run `body` in this process first. At the first use of a type, the Swift runtime
///   takes locks of its own.
func children(_ count: Int, isRehearsed: Bool = true, _ body: @escaping (Int) -> Int32) -> [Int32] {
    var results: [Int32] = []
    for index in (isRehearsed ? -1 : 0)..<count {
        let work = Work { body(max(index, 0)) }
        withExtendedLifetime(work) {
            let context = unsafe Unmanaged.passUnretained(work).toOpaque()
            let result = unsafe index < 0 ? run(context) : trial_in_child(run, context, 10)
            results.append(result)
        }
    }
    return results.suffix(count)
}

/// - Parameter context: a `Work`.
@unsafe
func run(_ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let context = unsafe context else { return 1 }
    return unsafe Unmanaged<Work>.fromOpaque(context).takeUnretainedValue().body()
}

final class Work {
    let body: () -> Int32
    init(_ body: @escaping () -> Int32) { self.body = body }
}

/// Threads that repeat a closure until ``stop()``.
final class Load {
    private let isOver = Flag()
    private var threads: [WorkerThread] = []

    func add(_ body: @escaping @Sendable (Int) -> Void) {
        let isOver = isOver
        threads.append(
            WorkerThread {
                var round = 0
                while !isOver.isSet {
                    body(round)
                    round += 1
                }
            })
    }

    func stop() {
        isOver.set()
        for thread in threads { thread.join() }
    }
}

final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}

/// A verifier that knows the signers, and what it accepts and refuses.
struct Evidence: Sendable {
    let verifier: AppStoreVerifier
    let receipt: [UInt8]
    let tampered: [UInt8]
    let transaction: String
    let forged: String

    init() throws {
        let elliptic = try Minted.ellipticAuthority
        verifier = try Minted.verifier()
        receipt = try ReceiptBuilder(bundleID: Minted.bundleID, purchases: [.consumable("coins", transactionID: "1")])
            .signed(by: Minted.authority)
        // The last byte is the signature's.
        tampered = receipt.dropLast() + [receipt[receipt.count - 1] ^ 1]
        let builder = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "coins", transactionID: "1")
        transaction = try builder.signed(by: elliptic)
        forged = try builder.signed(certificates: elliptic.certificates, key: SigningKey(generating: .p256))
        // Twice: a known signer takes another path.
        for _ in 0..<2 {
            guard verifiesReceipts(), verifiesTransactions() else { throw MintingError.libcryptoFailure }
        }
    }

    /// Whether the good one is verified and the bad one refused.
    func verifiesReceipts() -> Bool {
        verdict { () throws(VerificationError) in _ = try verifier.verifyReceipt(receipt) } == nil
            && verdict { () throws(VerificationError) in _ = try verifier.verifyReceipt(tampered) }
                == "invalid-signature"
    }

    func verifiesTransactions() -> Bool {
        verdict { () throws(VerificationError) in _ = try verifier.verifyTransaction(transaction) } == nil
            && verdict { () throws(VerificationError) in _ = try verifier.verifyTransaction(forged) }
                == "invalid-signature"
    }

    private func verdict(_ body: () throws(VerificationError) -> Void) -> String? {
        do throws(VerificationError) {
            try body()
            return nil
        } catch {
            return error.code.rawValue
        }
    }
}

/// 300 children of a process with four threads that verify. Each child verifies a good input and a bad one.
func verification() throws -> [Int32] {
    let evidence = try Evidence()
    let load = Load()
    for _ in 0..<3 { load.add { _ in _ = evidence.verifiesReceipts() } }
    load.add { _ in _ = evidence.verifiesTransactions() }
    let results = children(300) { index in
        (index.isMultiple(of: 3) ? evidence.verifiesTransactions() : evidence.verifiesReceipts()) ? 0 : 1
    }
    load.stop()
    return results
}

/// 300 children of a process with threads that read and write a locked value. Each child does the same.
func locks() throws -> [Int32] {
    let locked = try Locked([0])
    locked.withLock { $0.append(1) }
    guard locked.withReadLock({ $0.last == 1 }) else { return [1] }
    let load = Load()
    for _ in 0..<2 { load.add { round in locked.withLock { $0 = [Int](repeating: round, count: 1 + round % 50) } } }
    for _ in 0..<2 { load.add { _ in _ = locked.withReadLock { $0.count } } }
    let results = children(300) { _ in
        locked.withLock { $0.append(1) }
        return locked.withReadLock { $0.last == 1 } ? 0 : 1
    }
    load.stop()
    return results
}

/// Children of a process in which another thread holds a lock at the time of the fork, for writing or for reading.
func heldLocks() throws -> [Int32] {
    var results: [Int32] = []
    for isWriter in [true, false] {
        let locked = try Locked(["first"])
        locked.withLock { $0 = ["second"] }
        let (isHeld, isOver) = (Flag(), Flag())
        let thread = WorkerThread {
            func hold() {
                isHeld.set()
                while !isOver.isSet {}
            }
            if isWriter { locked.withLock { _ in hold() } } else { locked.withReadLock { _ in hold() } }
        }
        while !isHeld.isSet {}
        results += children(3, isRehearsed: false) { _ in
            // A value that a writer may have half written is not read.
            let value = locked.withReadLock { copy $0 }
            guard value == [isWriter ? "first" : "second"] else { return 1 }
            locked.withLock { $0 = ["third"] }
            // A grandchild has its parent's value.
            let grandchildren = children(1, isRehearsed: false) { _ in locked.withReadLock { $0 == ["third"] } ? 0 : 1 }
            return grandchildren == [0] ? 0 : 2
        }
        isOver.set()
        thread.join()
        results.append(locked.withReadLock { $0 == ["second"] } ? 0 : 3)
    }
    return results
}

var status: Int32 = 0
for (name, trial) in [("verification", verification), ("locks", locks), ("held locks", heldLocks)] {
    let results = try trial()
    let hung = results.count { $0 < 0 }
    let wrong = results.count { $0 > 0 }
    print("\(name): \(results.count) children, \(hung) hung, \(wrong) wrong")
    if hung + wrong > 0 { status = 1 }
}
exit(status)
