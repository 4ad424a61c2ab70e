import Instants
import StrictText

/// The used values of the property list of a transaction receipt, decoded. The others are not signed, and are ignored.
struct TransactionReceiptParts {
    let signature: [UInt8]
    let purchaseInfo: [UInt8]

    init(_ text: Span<UInt8>) throws(VerificationError) {
        do throws(PropertyListError) {
            let list = try PropertyList(text)
            signature = try list.base64(.signature, in: text)
            purchaseInfo = try list.base64(.purchaseInfo, in: text)
        } catch {
            throw VerificationError(.propertyList(error, .propertyList))
        }
    }

    /// The signed part, read.
    func info() throws(VerificationError) -> PurchaseInfo {
        do throws(PropertyListError) {
            return try PurchaseInfo(purchaseInfo)
        } catch {
            throw VerificationError(.propertyList(error, .payload))
        }
    }
}

extension PropertyList {
    fileprivate func base64(
        _ key: TransactionReceiptKey, in text: Span<UInt8>
    ) throws(PropertyListError) -> [UInt8] {
        guard let range = value(of: key, in: text) else { throw PropertyListError(.missingKey, offset: end, key: key) }
        do throws(Base64Error) {
            return try Base64.decode(text.extracting(range), as: .strict)
        } catch {
            throw PropertyListError(.invalidBase64, offset: range.lowerBound + error.offset, key: key)
        }
    }
}

extension PurchaseInfo {
    /// The date of the purchase, with which each of its values must agree.
    func purchaseDate() throws(VerificationError) -> Instant {
        do throws(PropertyListError) {
            if let date = try date(.purchase) { return date }
            throw error(.missingKey, .purchaseDate)
        } catch {
            let fault: DateFault =
                switch error.kind {
                case .missingKey: .missingPurchaseDate
                case .datesDisagree: .disagreeingPurchaseDates
                default: .unreadablePurchaseDate
                }
            throw VerificationError(.date(fault, offset: error.offset))
        }
    }
}
