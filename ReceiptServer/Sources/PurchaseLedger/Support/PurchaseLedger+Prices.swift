@_spi(Ledger) package import AppStoreReceipt

extension PurchaseLedger {
    /// Fills in prices from the submitted bytes that were kept. Skips damaged bytes.
    ///
    /// - Parameter verify: Returns the bytes' evidence if genuine.
    package func fillPricesFromKeptEvidence(_ verify: ([UInt8]) -> VerifiedEvidence?) throws(LedgerError) {
        var digests = [""]
        while let last = digests.last {
            digests = try store.read { (connection) throws(LedgerError) in
                try connection.run(
                    "SELECT digest FROM kept_evidence WHERE digest > $1 ORDER BY digest LIMIT 100", [.text(last)]
                ).map { (row) throws(LedgerError) in try row.text(0) }
            }
            for digest in digests {
                var kept: [UInt8]?
                do throws(LedgerError) {
                    kept = try keptEvidence(digest)
                } catch  where error.code == .storeFailed {
                    continue
                }
                guard let evidence = kept.flatMap(verify) else { continue }
                let purchases = Submission(evidence).purchases.map(\.signed.purchase).filter { $0.price != nil }
                guard !purchases.isEmpty else { continue }
                let isPriced = try store.read { (connection) throws(LedgerError) in
                    try connection.priceFillings(of: purchases).isEmpty
                }
                if isPriced { continue }
                try store.write { (connection) throws(LedgerError) in try connection.fillPrices(of: purchases) }
            }
        }
    }
}
