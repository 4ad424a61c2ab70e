public import FoundationEssentials

/// Makes `localizedDescription` the description of the error, in English.
extension AppStoreServerError: LocalizedError {
    /// The description of the error.
    public var errorDescription: String? { description }
}
