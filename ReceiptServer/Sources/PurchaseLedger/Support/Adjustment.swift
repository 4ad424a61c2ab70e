package import AppStoreReceipt
import LibcryptoHandles
import StrictText

/// A change that support makes to what an account has.
package struct Adjustment: Sendable {
    package enum Change: Sendable {
        /// Sets the quantity of a grant of the account.
        case quantity(TransactionName, Int64)
        /// Lets a grant of the account follow the signed evidence again.
        case asSigned(TransactionName)
        /// Grants a product without evidence. An idempotency key keeps a repeated request from granting it twice.
        case product(environment: AppStoreEnvironment, bundleID: String, productID: String, quantity: Int64)
    }

    package let change: Change
    /// The operator and the reason, to be recorded.
    package let reason: String
    package let idempotencyKey: String?

    package init(_ change: Change, reason: String, idempotencyKey: String? = nil) {
        (self.change, self.reason, self.idempotencyKey) = (change, reason, idempotencyKey)
    }

    /// What the account has after the change.
    package struct Answer: Sendable {
        package let name: TransactionName
        package let productID: String
        package let previousQuantity: Int64
        package let quantity: Int64
        /// The number of the answer, like that of a ``Redemption``.
        package let sequence: Int64
        /// Whether the change was already made with the same idempotency key.
        package let isRepeated: Bool
    }

    static let maximumQuantity: Int64 = 1_000_000_000

    func check() throws(LedgerError) {
        try LedgerText.check(reason, "reason")
        if let idempotencyKey { try LedgerText.check(idempotencyKey, "idempotency_key") }
        switch change {
        case .quantity(let name, let quantity):
            try name.check()
            try Self.check(quantity, 0)
        case .asSigned(let name): try name.check()
        case .product(_, let bundleID, let productID, let quantity):
            try LedgerText.check(bundleID, "bundle_id")
            try LedgerText.check(productID, "product_id")
            try Self.check(quantity, 1)
            guard idempotencyKey != nil else {
                throw LedgerError(.invalidText, "idempotency_key: required to grant a product")
            }
        }
    }

    private static func check(_ quantity: Int64, _ minimum: Int64) throws(LedgerError) {
        guard minimum...maximumQuantity ~= quantity else {
            throw LedgerError(.invalidText, "quantity: \(minimum) to \(maximumQuantity)")
        }
    }

    /// A digest of the change, which must be the same for each request with the same idempotency key.
    var digest: String {
        get throws(LedgerError) {
            switch change {
            case .quantity(let name, let quantity): try Self.digest(name.texts + ["\(quantity)"])
            case .asSigned(let name): try Self.digest(name.texts)
            case .product(let environment, let bundleID, let productID, let quantity):
                try Self.digest([environment.rawValue, bundleID, productID, "\(quantity)", ""])
            }
        }
    }

    /// Returns the key of a product that is granted to an account. It is derived from the request: if the grant is
    /// repeated after a backup was restored, a backend sets the same purchase.
    static func key(
        _ environment: AppStoreEnvironment, _ bundleID: String, _ account: String, _ idempotencyKey: String
    ) throws(LedgerError) -> TransactionKey {
        let digest = try digest([account, idempotencyKey])
        return TransactionKey(
            environment: environment, bundleID: bundleID,
            transactionID: SupportID.prefix + String(decoding: digest.utf8.prefix(32), as: UTF8.self))
    }

    private static func digest(_ texts: [String]) throws(LedgerError) -> String {
        // Separate the texts with NUL, which none of them contains.
        var bytes: [UInt8] = []
        for text in texts { bytes += Array(text.utf8) + [0] }
        return try LedgerError.onHost { () throws(LibcryptoError) in
            try DigestAlgorithm.sha256.digest(of: bytes.span).hexadecimal
        }
    }
}

extension TransactionName {
    func check() throws(LedgerError) {
        try LedgerText.check(bundleID, "bundle_id")
        try LedgerText.check(transactionID, "transaction_id")
    }

    /// Throws an error for an id that Apple can't have assigned. Look in the ledger first: it may contain one that
    /// 0.3.0 imported, or one of its own.
    func checkForm() throws(LedgerError) {
        guard TransactionIDForm.isApples(transactionID, in: environment) || SupportID.isReserved(transactionID) else {
            throw LedgerError(.invalidText, "transaction_id: \(TransactionIDForm.words)")
        }
    }

    fileprivate var texts: [String] { [environment.rawValue, bundleID, transactionID] }
}
