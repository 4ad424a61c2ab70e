public import AppStoreSigning

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// With this conformance, `localizedDescription` is the description of the error. It is in English.
extension SigningError: LocalizedError {
    /// What is wrong, with the place where it is known.
    public var errorDescription: String? { description }
}
