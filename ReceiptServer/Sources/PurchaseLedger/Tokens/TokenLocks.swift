import AppStoreReceipt

/// Locks of tokens until the end of the transaction: shared locks to look up a token's account, and exclusive locks to
/// change it.
///
/// Tokens share 256 locks, taken in a fixed order: PostgreSQL's lock table has a few thousand entries, and an account
/// can have 10,000 tokens.
enum TokenLocks {
    private static let count: UInt64 = 256

    static func statements(
        reading read: Set<AppAccountToken> = [], writing written: Set<AppAccountToken>, _ dialect: SQLDialect
    ) -> [SQLStatement] {
        guard let statement = dialect.tokenLocks, !(read.isEmpty && written.isEmpty) else { return [] }
        var locks: [UInt64: Bool] = [:]
        for token in read { locks[number(token)] = false }
        for token in written { locks[number(token)] = true }
        let values = locks.sorted { $0.key < $1.key }.map { number, isAlone in
            SQLValue.integer(Int64(number) * 2 + (isAlone ? 1 : 0))
        }
        return [SQLStatement(statement, [.array(values)])]
    }

    /// FNV-1a: every server must compute the same number.
    private static func number(_ token: AppAccountToken) -> UInt64 {
        token.description.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } % count
    }
}
