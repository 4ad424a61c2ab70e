import LibcryptoHandles
import Testing

struct SecureRandomTests {
    @Test func `random bytes are as many as asked for, and differ`() throws {
        #expect(try SecureRandom.bytes(count: 0).isEmpty)
        let first = try SecureRandom.bytes(count: 32)
        #expect(first.count == 32)
        #expect(try SecureRandom.bytes(count: 32) != first)
    }

    @Test func `a count that libcrypto cannot express is refused`() {
        expectError(.operationFailed) { try SecureRandom.bytes(count: -1) }
        expectError(.operationFailed) { try SecureRandom.bytes(count: Int.max) }
    }
}
