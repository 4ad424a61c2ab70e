import SignatureTrust
import Instants
import StrictText

/// The keys of a purchase or period of one owner.
struct PurchaseKeys: Hashable {
    /// The maximum number of former keys to keep.
    static let maximumFormerCount = 64

    let key: UTF8Bytes
    let former: [UTF8Bytes]

    /// The keys without former ones that other purchases have.
    func without(_ others: Set<UTF8Bytes>) -> PurchaseKeys {
        PurchaseKeys(key: key, former: former.filter { !others.contains($0) })
    }
}

/// The owner of a purchase, as far as keys distinguish owners.
private enum Owner: Hashable {
    case buyer
    /// A member of a family. Apple has signed the app transaction since 2025; before, the member has an original
    /// transaction of their own.
    case familyMember(appTransactionID: UTF8Bytes?)
    /// A member of a group, to whom a seat is assigned, and who can share the buyer's original transaction.
    case groupMember(appTransactionID: UTF8Bytes)
    /// A member of a group, without an app transaction that Apple signed.
    case memberOfTransaction(id: UTF8Bytes)

    /// A transaction's owner; `nil` if it is a receipt's.
    init?(_ purchase: Purchase) {
        switch purchase.ownershipType {
        case .familyShared?: self = .familyMember(appTransactionID: purchase.appTransactionID.map(UTF8Bytes.init))
        case .assigned?:
            self =
                purchase.appTransactionID.map { .groupMember(appTransactionID: UTF8Bytes($0)) }
                ?? .memberOfTransaction(id: UTF8Bytes(purchase.transactionID))
        case nil: return nil
        default: self = .buyer
        }
    }

    /// This owner, and those assumed when less was signed.
    func known(by purchase: Purchase) -> [Owner] {
        switch self {
        case .buyer: [self]
        case .familyMember(let id): id == nil ? [self, .buyer] : [self, .familyMember(appTransactionID: nil), .buyer]
        case .groupMember: [self, .memberOfTransaction(id: UTF8Bytes(purchase.transactionID)), .buyer]
        case .memberOfTransaction: [self, .buyer]
        }
    }

    var text: [UInt8] {
        switch self {
        case .buyer: []
        case .familyMember(let id): Array("family \(id?.string ?? "")".utf8)
        case .groupMember(let id): Array("group \(id.string)".utf8)
        case .memberOfTransaction(let id): Array("group transaction \(id.string)".utf8)
        }
    }
}

extension PurchaseKeys {
    /// The keys of a transaction that is a whole purchase or period.
    init?(of purchase: Purchase) {
        guard let keys = Self.keys(of: [Source(purchase, nil)])[0] else { return nil }
        self = keys
    }

    /// The keys of all transactions of a period, in their order.
    ///
    /// The key is that of the earliest date. The former ones are those of the other transactions and dates, those of
    /// the owners assumed when less was known, and those before a migration.
    static func keys(of period: [Source]) -> [PurchaseKeys?] {
        var indices: [Owner: [Int]] = [:]
        for (index, owner) in owners(of: period.map(\.purchase)).enumerated()
        where period[index].purchase.lacksOriginalTransactionID != true {
            indices[owner, default: []].append(index)
        }
        var keys: [PurchaseKeys?] = Array(repeating: nil, count: period.count)
        for (owner, indices) in indices {
            guard let first = indices.min(by: { period[$0].firstDate < period[$1].firstDate }),
                let key = period[first].purchase.key(of: owner, at: period[first].firstDate)
            else { continue }
            let own = indices.map { period[$0].keys(of: owner) }
            let all = Self.distinct(own.joined(), without: key)
            // Together, the transactions have all keys, however many there are.
            for (index, own) in zip(indices, own) {
                keys[index] = PurchaseKeys(key: key, former: Self.distinct(own + all, without: key))
            }
        }
        return keys
    }

    private static func distinct(_ keys: some Sequence<UTF8Bytes>, without key: UTF8Bytes) -> [UTF8Bytes] {
        var seen: Set<UTF8Bytes> = [key]
        return Array(keys.lazy.filter { seen.insert($0).inserted }.prefix(maximumFormerCount))
    }

    /// The owner of each transaction of a period.
    ///
    /// A receipt names no owner. Its transactions are the buyer's, unless all others of the period are one member's.
    private static func owners(of period: [Purchase]) -> [Owner] {
        let stated = period.map(Owner.init)
        let known = Set(stated.compactMap(\.self))
        var named = known.filter { $0 != .familyMember(appTransactionID: nil) && $0 != .buyer }
        let family = named.filter { if case .familyMember = $0 { true } else { false } }
        if named.isEmpty, known.contains(.familyMember(appTransactionID: nil)) {
            named = [.familyMember(appTransactionID: nil)]
        }
        let unstated = known.contains(.buyer) || named.count != 1 ? .buyer : named.first ?? .buyer
        return stated.map { owner in
            owner == .familyMember(appTransactionID: nil) && family.count == 1
                ? family.first ?? .buyer : owner ?? unstated
        }
    }
}

extension Source {
    /// The keys of the transaction alone.
    fileprivate func keys(of owner: Owner) -> [UTF8Bytes] {
        let originals = [purchase.originalTransactionID, purchase.previousOriginalTransactionID].compactMap(\.self)
        var keys: [UTF8Bytes] = []
        for owner in owner.known(by: purchase) {
            for original in originals {
                for date in dates {
                    if let key = purchase.key(of: owner, original: original, at: date) { keys.append(key) }
                }
            }
        }
        return keys
    }
}

extension Purchase {
    /// Whether the transaction alone has former keys.
    var canHaveFormerKeys: Bool {
        if let _ = previousOriginalTransactionID { return true }
        return !isOfBuyer
    }

    /// The key of the transaction alone; `nil` if this host's libcrypto has no memory.
    ///
    /// It does not depend on what a receipt cannot say, on the line item, which some evidence lacks, or on the end,
    /// which an extension moves. A receipt has dates in seconds.
    ///
    /// Old receipts give all restored periods the date of the restoration. Of one that had ended by then, only the end
    /// is known.
    fileprivate func key(of owner: Owner, original: String? = nil, at date: Instant) -> UTF8Bytes? {
        var period = ""
        if let end = expiresDate?.secondsSince1970, productType?.renews ?? true {
            let begin = date.secondsSince1970
            period = begin < end ? "\(begin)" : "until \(end)"
        }
        let environment = environment?.rawValue ?? "unknown"
        var signed: [UInt8] = []
        for part in [environment, bundleID ?? "", productID, original ?? originalTransactionID, period] {
            signed += Array("\(part.utf8.count):".utf8) + Array(part.utf8)
        }
        signed += owner.text
        guard let digest = try? Fingerprint(of: signed.span) else { return nil }
        // The digest has all of the app's id. The readable part has only characters that are safe everywhere.
        let app = (bundleID ?? "").utf8.prefix(155).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                byte
            default: UInt8(ascii: "_")
            }
        }
        return UTF8Bytes((Array("\(environment):".utf8) + app + Array(":\(digest)".utf8))[...])
    }
}
