public import CMSTrust

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// With this conformance, `localizedDescription` is the description of the error. It is in English.
extension CMSVerificationError: LocalizedError {
    /// What is wrong, with the signer and the place where they are known.
    public var errorDescription: String? { description }
}
