import SignatureTrust
import SpanASN1
import StrictText

/// The keys of a purchase or period of one owner.
struct PurchaseKeys: Hashable {
    /// More transactions of one period with different dates are not remembered.
    static let maximumFormerCount = 64

    let key: UTF8Bytes
    let former: [UTF8Bytes]

    /// - Parameter purchases: The transactions, the first one first, with original transaction ids.
    fileprivate init?(_ purchases: [Purchase], of owner: Owner) {
        guard let first = purchases.first, let key = first.key(of: owner) else { return nil }
        var seen: Set<UTF8Bytes> = [key]
        var former: [UTF8Bytes] = []
        for purchase in purchases {
            guard former.count < Self.maximumFormerCount else { break }
            for owner in owner.known(by: purchase) {
                let original = purchase.key(of: owner)
                let previous = purchase.previousOriginalTransactionID.flatMap { purchase.key(of: owner, original: $0) }
                for case let key? in [original, previous] where seen.insert(key).inserted { former.append(key) }
            }
        }
        (self.key, self.former) = (key, former)
    }

    private init(_ key: UTF8Bytes, _ former: [UTF8Bytes]) { (self.key, self.former) = (key, former) }

    /// The keys without former ones that other purchases have.
    func without(_ others: Set<UTF8Bytes>) -> PurchaseKeys {
        PurchaseKeys(key, former.filter { !others.contains($0) })
    }
}

/// Who has a purchase, as far as its keys tell owners apart.
private enum Owner: Hashable {
    case buyer
    /// A member of a family. Apple has signed the app transaction since 2025; before, the member has an original
    /// transaction of their own.
    case familyMember(appTransactionID: UTF8Bytes?)
    /// A member of a group, to whom a seat is assigned, and who can share the buyer's original transaction.
    case groupMember(id: UTF8Bytes)

    /// As one transaction says it; `nil` if it is a receipt's.
    init?(_ purchase: Purchase) {
        switch purchase.ownershipType {
        case .familyShared?: self = .familyMember(appTransactionID: purchase.appTransactionID.map(UTF8Bytes.init))
        case .assigned?: self = .groupMember(id: UTF8Bytes(purchase.appTransactionID ?? purchase.transactionID))
        case nil: return nil
        default: self = .buyer
        }
    }

    /// This owner, and those for whom the purchase was taken when less was signed.
    func known(by purchase: Purchase) -> [Owner] {
        switch self {
        case .buyer: [self]
        case .familyMember(let id): id == nil ? [self, .buyer] : [self, .familyMember(appTransactionID: nil), .buyer]
        case .groupMember: [self, .groupMember(id: UTF8Bytes(purchase.transactionID)), .buyer]
        }
    }

    var text: [UInt8] {
        switch self {
        case .buyer: []
        case .familyMember(let id): Array("family \(id?.string ?? "")".utf8)
        case .groupMember(let id): Array("group \(id.string)".utf8)
        }
    }
}

extension PurchaseKeys {
    /// The keys of a transaction that is a whole purchase or period.
    init?(of purchase: Purchase) {
        self.init([purchase].filter(\.hasOriginalTransaction), of: Owner(purchase) ?? .buyer)
    }

    /// The keys of all transactions of a period, in their order.
    ///
    /// A receipt names no owner. Its transactions are those of the buyer, if the period has others of the buyer, or of
    /// the one member whose transactions the period has.
    static func keys(of period: [Purchase]) -> [PurchaseKeys?] {
        let stated = period.map(Owner.init)
        let known = Set(stated.compactMap(\.self))
        var named = known.filter { $0 != .familyMember(appTransactionID: nil) && $0 != .buyer }
        let family = named.filter { if case .familyMember = $0 { true } else { false } }
        if named.isEmpty, known.contains(.familyMember(appTransactionID: nil)) {
            named = [.familyMember(appTransactionID: nil)]
        }
        let unstated = known.contains(.buyer) || named.count != 1 ? .buyer : named.first ?? .buyer
        let owners = stated.map { owner in
            owner == .familyMember(appTransactionID: nil) && family.count == 1
                ? family.first ?? .buyer : owner ?? unstated
        }
        var purchases: [Owner: [Purchase]] = [:]
        for (owner, purchase) in zip(owners, period) where purchase.hasOriginalTransaction {
            purchases[owner, default: []].append(purchase)
        }
        let keys = purchases.compactMap { (owner, purchases) in PurchaseKeys(purchases, of: owner).map { (owner, $0) } }
        let byOwner = Dictionary(uniqueKeysWithValues: keys)
        return owners.map { byOwner[$0] }
    }
}

extension Purchase {
    fileprivate var hasOriginalTransaction: Bool { lacksOriginalTransactionID != true }

    /// The key of the transaction alone; `nil` if this host's libcrypto has no memory.
    ///
    /// It does not depend on what a receipt cannot say, on the line item, which some evidence lacks, or on the end, which
    /// an extension moves. A receipt has dates in seconds.
    fileprivate func key(of owner: Owner, original: String? = nil) -> UTF8Bytes? {
        let isPeriod = expiresDate != nil && productType?.renews ?? true
        let begin = isPeriod ? "\(purchaseDate.secondsSince1970)" : ""
        let environment = environment?.rawValue ?? "unknown"
        var signed: [UInt8] = []
        for part in [environment, bundleID ?? "", productID, original ?? originalTransactionID, begin] {
            signed += Array("\(part.utf8.count):".utf8) + Array(part.utf8)
        }
        signed += owner.text
        guard let digest = try? Fingerprint(of: signed.span) else { return nil }
        // The digest has all of the app's id. What people read is a part of it that is safe everywhere.
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
