public import AppStoreReceiptTesting

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// With this conformance, `localizedDescription` is the description of the error. It is in English.
extension MintingError: LocalizedError {
    /// What is wrong.
    public var errorDescription: String? { description }
}

extension ReceiptSpecificationError: LocalizedError {
    /// What is wrong, and the place.
    public var errorDescription: String? { description }
}
