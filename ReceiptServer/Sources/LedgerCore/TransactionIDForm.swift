package import AppStoreReceipt

/// The forms of the transaction ids that Apple has used. An unsigned id must have one of them: a spreadsheet can save
/// it as `3.4E+14`, which is many purchases or none.
package enum TransactionIDForm: CaseIterable {
    /// StoreKit's `Transaction.id` is a `UInt64`, and a string in the App Store Server API. In receipts since 2010,
    /// production ids have 14 or 15 digits, and sandbox ids 16, beginning with 1000000 or 2000000. `appTransactionId`,
    /// which Apple accepts in their place, has 18.
    case number
    /// StoreKit Testing in Xcode, and local tests of StoreKit 2, count from 0. So do the example receipts of Apple's
    /// server libraries.
    case digit

    /// The environments whose ids have this form.
    var environments: Set<AppStoreEnvironment> {
        switch self {
        case .number: Set(AppStoreEnvironment.allCases)
        case .digit: [.xcode, .localTesting]
        }
    }

    private static let maximumDigitCount = 19

    private func matches(_ id: String) -> Bool {
        guard 1...Self.maximumDigitCount ~= id.utf8.count,
            id.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
        else { return false }
        return switch self {
        case .number: id.utf8.first != UInt8(ascii: "0")
        case .digit: id.utf8.count == 1
        }
    }

    /// Returns whether Apple can have given an id to a transaction.
    ///
    /// - Parameter environment: `nil` if it is not known.
    package static func isApples(_ id: String, in environment: AppStoreEnvironment?) -> Bool {
        allCases.contains { form in
            (environment.map(form.environments.contains) ?? true) && form.matches(id)
        }
    }

    /// A valid id, in words.
    package static let words = "1 to \(maximumDigitCount) digits without a leading zero"
}
