public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// With this conformance, `localizedDescription` is the description of the error. It is in English.
extension VerificationError: LocalizedError {
    /// The explanation, with the values and the place where they are known.
    public var errorDescription: String? { description }
    /// One or two sentences that say what to do.
    public var recoverySuggestion: String? { advice }
}
