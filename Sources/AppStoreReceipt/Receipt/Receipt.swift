import LibcryptoHandles
public import SpanASN1
import StrictText
import Synchronization

/// A point in time in whole milliseconds since 1970, UTC.
public typealias Instant = SpanASN1.Instant

/// Where a receipt, or data that Apple signed, comes from.
public enum AppStoreEnvironment: String, Hashable, Sendable, CaseIterable {
    /// `Production`, or `ProductionVPP` for volume purchases.
    case production
    /// `ProductionSandbox`, or `ProductionVPPSandbox` for volume purchases.
    case sandbox
    /// `Xcode`: StoreKit Testing, whose signature authenticates nobody.
    case xcode
    /// `LocalTesting`: tests of signed data, whose signature authenticates nobody. Receipts have no such environment.
    case localTesting = "local-testing"

    /// From attribute 0; `nil` for a string that is none of the five.
    public init?(receiptType: String) { self.init(name: receiptType.utf8Span.span, in: Self.receiptTypes) }

    init?(receiptType: Span<UInt8>) { self.init(name: receiptType, in: Self.receiptTypes) }

    private static let receiptTypes: [(String, AppStoreEnvironment)] = [
        ("Production", .production), ("ProductionSandbox", .sandbox), ("ProductionVPP", .production),
        ("ProductionVPPSandbox", .sandbox), ("Xcode", .xcode),
    ]

    /// By bytes: the name comes from whoever wrote the input.
    init?(name: Span<UInt8>, in names: [(String, AppStoreEnvironment)]) {
        for (known, environment) in names where name.hasSameBytes(as: known.utf8Span.span) {
            self = environment
            return
        }
        return nil
    }
}

/// What a receipt says: the payload's bytes and a table of where everything is in them.
///
/// A plain value, whoever signed it: see ``VerifiedReceipt`` and ``UnverifiedReceipt``. Two are equal when their payloads are, byte for byte.
/// All fields are described at ``ReceiptContents``.
public struct Receipt: Sendable {
    let storage: Storage

    final class Storage: Sendable {
        /// The received container, or its normalised form where it was BER.
        let bytes: [UInt8]
        /// Where the payload is in `bytes`.
        let payload: Range<Int>
        let table: ReceiptTable
        /// ``payloadHash``, once it was asked for; 0 before.
        private let knownHash = Atomic<Int>(0)

        init(bytes: [UInt8], payload: Range<Int>, table: ReceiptTable) {
            self.bytes = bytes
            self.payload = payload
            self.table = table
        }

        /// The hash of the whole payload, computed once: the same in all of this process, and in no other.
        var payloadHash: Int {
            let known = knownHash.load(ordering: .relaxed)
            guard known == 0 else { return known }
            var hasher = Hasher()
            let bytes = bytes
            hasher.combine(bytes.span.extracting(payload))
            // Two threads that compute it at once store the same number.
            let hash = hasher.finalize()
            knownHash.store(hash, ordering: .relaxed)
            return hash
        }

        func octets(_ field: ByteRange) -> ArraySlice<UInt8> {
            bytes[field.range.shifted(by: payload.lowerBound)]
        }

        func string(_ field: ByteRange) -> String { String(decoding: octets(field), as: UTF8.self) }
    }
}

/// The fields of a receipt, the same for ``Receipt``, ``VerifiedReceipt`` and ``UnverifiedReceipt``.
///
/// A field is `nil` when its attribute is absent or an empty string; nothing is made up. The numbers in brackets are the attributes'.
///
/// Strings are what the receipt says. Swift's `==` on them is canonical equivalence, which takes two spellings of one character for equal, and takes
/// time in the square of their length for strings made to be slow. Compare the `utf8` of identifiers, as this library does.
public protocol ReceiptContents {
    /// The plain value.
    var receipt: Receipt { get }
}

extension Receipt: ReceiptContents {
    /// The value itself.
    public var receipt: Receipt { self }
}

extension ReceiptContents {
    var table: ReceiptTable { receipt.storage.table }

    private func string(_ type: AttributeType) -> String? { table.bytes(type).map(receipt.storage.string) }
    private func octets(_ type: AttributeType) -> [UInt8]? {
        table.bytes(type).map { Array(receipt.storage.octets($0)) }
    }
    private func id(_ type: AttributeType) -> String? { table.number(type).map { String($0) } }

    /// `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox` or `Xcode` [0].
    public var receiptType: String? { string(.receiptType) }
    /// What ``receiptType`` stands for; `nil` when it is missing or unknown.
    public var environment: AppStoreEnvironment? {
        let storage = receipt.storage
        guard let type = storage.table.bytes(.receiptType) else { return nil }
        return AppStoreEnvironment(receiptType: storage.octets(type).span)
    }
    /// The app's Apple id; 0 in the sandbox [1].
    public var appItemID: String? { id(.appItemID) }
    /// The app's bundle identifier (`CFBundleIdentifier`) [2].
    public var bundleID: String? { string(.bundleID) }
    /// `CFBundleVersion` on iOS, `CFBundleShortVersionString` on macOS [3].
    public var applicationVersion: String? { string(.applicationVersion) }
    /// An opaque value that enters the device hash [4].
    public var opaqueValue: [UInt8]? { octets(.opaqueValue) }
    /// SHA-1 of device identifier, opaque value and encoded bundle id [5].
    public var sha1Hash: [UInt8]? { octets(.sha1Hash) }
    /// When the original receipt was made; absent in the sandbox [8].
    public var originalCreationDate: Instant? { table.date(.originalCreationDate) }
    /// The version of Apple's server, ASCII packed into an integer (inferred) [9].
    public var serverBuild: Int64? { table.number(.serverBuild) }
    /// The age rating, `4+` (inferred) [10].
    public var ageRating: String? { string(.ageRating) }
    /// The seller's id (inferred) [11].
    public var sellerID: String? { id(.sellerID) }
    /// When the receipt was made: the date at which its chain is judged [12].
    public var creationDate: Instant? { table.date(.creationDate) }
    /// The system version of the device, 180602 for 18.6.2 (inferred) [13].
    public var clientVersion: Int64? { table.number(.clientVersion) }
    /// Apple's id of the download [15].
    public var downloadID: String? { id(.downloadID) }
    /// Apple's id of the app's version [16].
    public var versionExternalIdentifier: String? { id(.versionExternalIdentifier) }
    /// The purchases, in the order of the receipt [17].
    public var inAppPurchases: InAppPurchases { InAppPurchases(storage: receipt.storage) }
    /// When the app was first bought; always 2013-08-01T07:00:00Z in the sandbox [18].
    public var originalPurchaseDate: Instant? { table.date(.originalPurchaseDate) }
    /// The app's version when it was first bought; absent in Xcode's receipts [19].
    public var originalApplicationVersion: String? { string(.originalApplicationVersion) }
    /// When the receipt expires: volume purchases, and year 4001 in Xcode's receipts [21].
    public var expirationDate: Instant? { table.date(.expirationDate) }
    /// 2 for a Mac, 3 for iOS (inferred) [25].
    public var platform: Int64? { table.number(.platform) }
    /// When the app was pre-ordered (inferred) [32].
    public var preorderDate: Instant? { table.date(.preorderDate) }

    /// All attributes of the receipt, raw, in its order; those of type 17 are its purchases.
    public var attributes: ReceiptAttributes {
        let storage = receipt.storage
        return ReceiptAttributes(storage: storage, range: storage.payloadContent)
    }

    /// The attributes that no field of this type shows, raw, in the receipt's order.
    public var unknownAttributes: [ReceiptAttribute] {
        attributes.filter { $0.type != .inAppPurchase && !table.shows($0.type) }
    }

    /// Whether the receipt was made for a device: SHA-1 of the device's identifier, attribute 4 and attribute 2 as encoded is attribute 5.
    ///
    /// - Parameter deviceIdentifier: on iOS the 16 bytes of `identifierForVendor`, on macOS the 6 bytes of the primary network interface's
    ///   hardware address.
    /// - Throws: a host error: this libcrypto does not compute SHA-1.
    public func matches(deviceIdentifier: [UInt8]) throws(VerificationError) -> Bool {
        guard let opaqueValue, let sha1Hash, table.has(.bundleID) else { return false }
        let hashed = deviceIdentifier + opaqueValue + receipt.storage.octets(table.encodedBundleID)
        do throws(LibcryptoError) {
            return try DigestAlgorithm.sha1.digest(of: hashed.span).bytes == sha1Hash
        } catch {
            throw .host(error)
        }
    }
}

extension Receipt: Hashable {
    public static func == (lhs: Receipt, rhs: Receipt) -> Bool {
        if lhs.storage === rhs.storage { return true }
        let left = lhs.storage, right = rhs.storage
        guard left.payload.count == right.payload.count else { return false }
        let leftBytes = left.bytes, rightBytes = right.bytes
        return leftBytes.span.extracting(left.payload).isIdentical(to: rightBytes.span.extracting(right.payload))
    }

    /// Hashes all of the payload, once for a value and its copies: whoever chooses the receipts of a set cannot choose their hashes.
    public func hash(into hasher: inout Hasher) { hasher.combine(storage.payloadHash) }
}
