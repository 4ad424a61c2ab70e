public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// `localizedDescription` says what the error says; it is in English.
extension VerificationError: LocalizedError {
    /// What is wrong, with the place and the values where they are known.
    public var errorDescription: String? { description }
    /// What to do about it.
    public var recoverySuggestion: String? { advice }
}
