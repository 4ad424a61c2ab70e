import LibcryptoHandles
public import Instants
import SpanASN1
import StrictText
import Synchronization

/// The contents of a receipt as a plain value, verified or not.
///
/// It consists of the bytes of the payload and a table of their fields. Two receipts are equal if their payloads are
/// equal byte for byte. ``ReceiptContents`` describes the fields. See also ``VerifiedReceipt`` and
/// ``UnverifiedReceipt``.
public struct Receipt: Sendable {
    let storage: Storage

    final class Storage: Sendable {
        /// The received container, or its conversion to DER if it was BER.
        let bytes: [UInt8]
        /// The range of the payload in `bytes`.
        let payload: Range<Int>
        let table: ReceiptTable
        /// The cached ``payloadHash``; 0 before the first access.
        private let knownHash = Atomic<Int>(0)

        init(bytes: [UInt8], payload: Range<Int>, table: ReceiptTable) {
            self.bytes = bytes
            self.payload = payload
            self.table = table
        }

        /// The hash of the whole payload, computed once. It differs between processes.
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

        func string(_ field: ByteRange) -> String {
            let bytes = bytes
            return String(utf8: bytes.span.extracting(field.range.shifted(by: payload.lowerBound)))
        }
    }
}

/// The fields of a ``Receipt``, a ``VerifiedReceipt`` or an ``UnverifiedReceipt``.
///
/// A field is `nil` if its attribute is missing or an empty string. A field whose meaning is inferred is also `nil` if
/// its value has an unexpected type; the attribute is then in ``unknownAttributes``. The numbers in brackets are
/// attribute types (``AttributeType``).
///
/// To compare identifiers, compare their `utf8`, as this library does. Swift's `==` on strings tests canonical
/// equivalence: two spellings of one character are equal, and an attacker can choose strings whose comparison takes
/// time in the square of their length.
public protocol ReceiptContents {
    /// The contents as a plain value.
    var _contents: Receipt { get }
}

extension Receipt: ReceiptContents {
    /// The receipt itself.
    public var _contents: Receipt { self }
}

extension ReceiptContents {
    var table: ReceiptTable { _contents.storage.table }

    private func string(_ type: AttributeType) -> String? { table.bytes(type).map(_contents.storage.string) }
    private func octets(_ type: AttributeType) -> [UInt8]? {
        table.bytes(type).map { Array(_contents.storage.octets($0)) }
    }
    private func id(_ type: AttributeType) -> String? { table.number(type).map { String(decimal: $0) } }

    /// The receipt's type: `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox` or `Xcode` [0].
    public var receiptType: String? { string(.receiptType) }
    /// The environment of ``receiptType``; `nil` if it is missing or unknown.
    public var environment: AppStoreEnvironment? {
        let storage = _contents.storage
        guard let type = storage.table.bytes(.receiptType) else { return nil }
        return AppStoreEnvironment(receiptType: storage.octets(type).span)
    }
    /// The app's Apple id; 0 in the sandbox [1].
    public var appItemID: String? { id(.appItemID) }
    /// The app's bundle identifier (`CFBundleIdentifier`) [2].
    public var bundleID: String? { string(.bundleID) }
    /// `CFBundleVersion` on iOS, `CFBundleShortVersionString` on macOS [3].
    public var applicationVersion: String? { string(.applicationVersion) }
    /// An opaque value that is part of the device hash [4].
    public var opaqueValue: [UInt8]? { octets(.opaqueValue) }
    /// The device hash: the SHA-1 of device identifier, opaque value and encoded bundle id [5].
    public var sha1Hash: [UInt8]? { octets(.sha1Hash) }
    /// The date the original receipt was created; missing in the sandbox [8].
    public var originalCreationDate: Instant? { table.date(.originalCreationDate) }
    /// The version of Apple's server, as ASCII packed into an integer (inferred) [9].
    public var serverBuild: Int64? { table.number(.serverBuild) }
    /// The age rating, such as `4+` (inferred) [10].
    public var ageRating: String? { string(.ageRating) }
    /// The seller's id (inferred) [11].
    public var sellerID: String? { id(.sellerID) }
    /// The date the receipt was created, at which its certificate chain is validated by default [12].
    public var creationDate: Instant? { table.date(.creationDate) }
    /// The system version of the device, such as 180602 for 18.6.2 (inferred) [13].
    public var clientVersion: Int64? { table.number(.clientVersion) }
    /// Apple's id of the download [15].
    public var downloadID: String? { id(.downloadID) }
    /// Apple's id of the app's version [16].
    public var versionExternalIdentifier: String? { id(.versionExternalIdentifier) }
    /// The purchases, in the order of the receipt [17].
    public var inAppPurchases: InAppPurchases { InAppPurchases(storage: _contents.storage) }
    /// The date the app was first bought; always 2013-08-01T07:00:00Z in the sandbox [18].
    public var originalPurchaseDate: Instant? { table.date(.originalPurchaseDate) }
    /// The app's version when it was first bought; missing in receipts from Xcode [19].
    public var originalApplicationVersion: String? { string(.originalApplicationVersion) }
    /// The date the receipt expires. Only volume purchases have one, and receipts from Xcode, in the year 4001 [21].
    public var expirationDate: Instant? { table.date(.expirationDate) }
    /// The platform: 2 for a Mac, 3 for iOS (inferred) [25].
    public var platform: Int64? { table.number(.platform) }
    /// The date the app was pre-ordered (inferred) [32].
    public var preorderDate: Instant? { table.date(.preorderDate) }

    /// All attributes of the receipt, undecoded, in its order. Those of type 17 are its purchases.
    public var attributes: some Sequence<ReceiptAttribute> & Sendable {
        let storage = _contents.storage
        return ReceiptAttributes(storage: storage, range: storage.payloadContent)
    }

    /// The attributes for which this type has no field, undecoded, in the receipt's order.
    public var unknownAttributes: [ReceiptAttribute] {
        attributes.filter { $0.type != .inAppPurchase && !table.shows($0.type) }
    }

    /// Returns whether the receipt was made for a device.
    ///
    /// It was if ``sha1Hash`` is the SHA-1 of the device identifier, ``opaqueValue`` and the encoded ``bundleID``.
    ///
    /// - Parameter deviceIdentifier: On iOS, the 16 bytes of `identifierForVendor`. On macOS, the 6 bytes of the
    ///   hardware address of the primary network interface.
    /// - Throws: An error of the category `host` if libcrypto on this host does not compute SHA-1.
    public func matches(deviceIdentifier: [UInt8]) throws(VerificationError) -> Bool {
        guard let opaqueValue, let sha1Hash, table.has(.bundleID) else { return false }
        let hashed = deviceIdentifier + opaqueValue + _contents.storage.octets(table.encodedBundleID)
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
        return leftBytes.span.extracting(left.payload).hasSameBytes(as: rightBytes.span.extracting(right.payload))
    }

    /// Hashes the whole payload, once for a value and its copies.
    ///
    /// Hashes are seeded, so an attacker cannot choose receipts that collide in a set.
    public func hash(into hasher: inout Hasher) { hasher.combine(storage.payloadHash) }
}
