@_spi(Ledger) import AppStoreReceipt

extension SQLConnection {
    /// Locks the tokens of an account, and returns them.
    ///
    /// - Throws: A conflict if the account gets or loses one at the same time.
    func lockTokens(of account: String) throws(LedgerError) -> [AppAccountToken] {
        func tokens() throws(LedgerError) -> [AppAccountToken] {
            try run("SELECT token FROM account_tokens WHERE account = $1 ORDER BY token", [.text(account)]).map {
                (row) throws(LedgerError) in AppAccountToken(signed: try row.text(0))
            }
        }
        let found = try tokens()
        for lock in TokenLocks.statements(writing: Set(found), dialect) { try write(lock.text, lock.parameters) }
        guard try tokens() == found else { throw .conflict }
        return found
    }
}
