/// What accounts have, for comparisons. A refund leaves nothing, as if there had been no grant.
package struct LedgerState: Equatable {
    package struct Row: Hashable {
        package let account: String
        package let quantity: Int64

        package init(account: String, quantity: Int64) { (self.account, self.quantity) = (account, quantity) }
    }

    /// By transaction.
    package var grants: [String: Row] = [:]

    package init() {}

    package mutating func set(_ quantity: Int64, of transaction: String, for account: String) {
        grants[transaction] = quantity == 0 ? nil : Row(account: account, quantity: quantity)
    }
}
