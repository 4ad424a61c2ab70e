public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension ReceiptVerifier {
    /// Verifies a receipt in any of the forms in which receipts travel. See `verify(_:applicationVersion:deviceIdentifier:)` for bytes.
    public func verify(
        _ input: Data, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(ReceiptError) -> VerifiedReceipt {
        try verify(Array(input), applicationVersion: applicationVersion, deviceIdentifier: deviceIdentifier)
    }
}
