public import FoundationEssentials

/// With this conformance, `localizedDescription` is the description of the error. It is in English.
extension LedgerError: LocalizedError {
    /// What is wrong.
    public var errorDescription: String? { description }
}
