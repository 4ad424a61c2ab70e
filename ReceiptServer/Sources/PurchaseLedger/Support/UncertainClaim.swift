package import AppStoreReceipt

/// A claim with an unknown basis, some of whose purchases turned out to be a member's.
package struct UncertainClaim: Sendable {
    package let account: String
    /// A remaining transaction.
    package let name: TransactionName
    package let splitAt: Instant
}

extension PurchaseLedger {
    /// Returns the claims of version 0.3.0 that an operator has to decide, newest first: `transfer` gives what remains
    /// to another account.
    package func uncertainClaims() throws(LedgerError) -> [UncertainClaim] {
        try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT identifiers.environment, identifiers.bundle_id,
                    MIN(identifiers.transaction_id) AS transaction_id, families.account, uncertain_claims.split_at
                FROM uncertain_claims JOIN families ON families.id = uncertain_claims.family_id
                JOIN identifiers ON identifiers.family_id = families.id
                WHERE families.basis IS NULL AND families.account IS NOT NULL
                    AND \(MemberID.isNone)
                GROUP BY families.id, families.account, uncertain_claims.split_at, identifiers.environment,
                    identifiers.bundle_id
                ORDER BY uncertain_claims.split_at DESC LIMIT 100
                """
            ).map { (row) throws(LedgerError) in
                UncertainClaim(
                    account: try row.text("account"), name: try row.transactionName, splitAt: try row.date("split_at"))
            }
        }
    }
}
