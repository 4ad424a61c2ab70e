import LibcryptoHandles
import Testing

struct LockedTests {
    @Test func `writers exclude each other and readers see whole values`() async throws {
        let locked = try Locked((0, 0))
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<1000).allSatisfy { _ in
                        locked.withLock {
                            $0.0 += 1
                            $0.1 -= 1
                        }
                        return locked.withReadLock { $0.0 + $0.1 == 0 }
                    }
                }
            }
            for await isWhole in group { #expect(isWhole) }
        }
        #expect(locked.withReadLock { $0.0 } == 8000)
    }

    @Test func `what the body throws is thrown, and the lock is free again`() throws {
        struct Failure: Error {}
        let locked = try Locked(1)
        #expect(throws: Failure.self) { try locked.withLock { _ in throw Failure() } }
        #expect(throws: Failure.self) { try locked.withReadLock { _ in throw Failure() } }
        locked.withLock { $0 = 2 }
        #expect(locked.withReadLock { $0 } == 2)
    }
}
