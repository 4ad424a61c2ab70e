public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data: EvidenceSource {
    /// The bytes of the data.
    public var evidenceBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { span }
    }
}
