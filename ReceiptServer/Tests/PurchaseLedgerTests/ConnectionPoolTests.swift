import LedgerTestSupport
@testable import PurchaseLedger
import Testing

@Suite struct ConnectionPoolTests {
    @Test func `a connection that broke, or could not be made, leaves its place to another`() throws {
        let count = Guarded(0)
        let pool = ConnectionPool<Int>(limit: 1, patience: .zero) { () throws(LedgerError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 2 { throw LedgerError(.storeUnavailable, "away") }
            return number
        }
        func use(isUsable: Bool = true) throws -> Int {
            try pool.withConnection(isUsable: { _ in isUsable }) { (connection) throws(LedgerError) in connection }
        }
        #expect(try use() == 1)
        #expect(try use(isUsable: false) == 1)
        #expect(throws: LedgerError.self) { try use() }
        #expect(try use() == 3 && use() == 3)
    }
}
