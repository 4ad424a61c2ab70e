public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AppStoreVerifier {
    /// Verifies evidence of any kind. See `verify(_:)` for bytes.
    public func verify(_ evidence: Data) throws(VerificationError) -> VerifiedEvidence {
        try verify(evidence.span)
    }

    /// Verifies a receipt in any form and returns its contents. See `verifyReceipt(_:applicationVersion:deviceIdentifier:)` for bytes.
    public func verifyReceipt(
        _ receipt: Data, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        try verifyReceipt(
            receipt.span, applicationVersion: applicationVersion, deviceIdentifier: deviceIdentifier)
    }
}
