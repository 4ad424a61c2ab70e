public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data: EvidenceSource {
    /// Calls `body` with the bytes of the data.
    public func _withEvidenceBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Data of up to 14 bytes has no address.
        try unsafe withUnsafeBytes { bytes in
            Swift.Result { () throws(Failure) in try body(unsafe Span(_unsafeBytes: bytes)) }
        }.get()
    }
}
