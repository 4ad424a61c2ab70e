@_spi(Ledger) public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AppAccountToken {
    /// Creates the token of a UUID.
    public init(_ uuid: UUID) { self.init(signed: uuid.uuidString) }

    /// The token as a UUID; `nil` if Apple signed another text.
    public var uuid: UUID? { UUID(uuidString: description) }
}
