@testable import AppStoreReceipt
import AppStoreReceiptTesting
import SpanASN1
import SpanPKCS7
import StrictText
import TestSupport

/// What a payload says, by number: the answer of the library, or of a second decoder that is simple and slow.
struct PayloadModel: Equatable {
    enum Value: Equatable {
        case text(String)
        case number(Int64)
        /// A number that the library gives as a string.
        case id(String)
        case flag(Bool)
        case octets([UInt8])
        case date(Int64)
    }

    /// An attribute that has a value.
    typealias Fields = [Int64: Value]

    var outer: Fields = [:]
    var purchases: [Fields] = []
    /// Type, version and value of every attribute, in order; those of the purchases after those of the receipt.
    var attributes: [[ReceiptAttribute]] = []
}

// MARK: - The second decoder

extension PayloadModel {
    private enum Form { case text, ia5, date, number, id, idOrZero, flag, octets }

    /// RECEIPT-FORMAT's tables, and whether a wrong value is an error.
    private static let forms: [Int64: (form: Form, isDocumented: Bool)] = [
        0: (.text, true), 1: (.id, true), 2: (.text, true), 3: (.text, true), 4: (.octets, true),
        5: (.octets, true), 8: (.date, true), 9: (.number, false), 10: (.ia5, false), 11: (.id, false),
        12: (.date, true), 13: (.number, false), 15: (.id, true), 16: (.id, true), 18: (.date, true),
        19: (.text, true), 21: (.date, true), 25: (.number, false), 32: (.date, false),
    ]
    private static let purchaseForms: [Int64: (form: Form, isDocumented: Bool)] = [
        1701: (.number, true), 1702: (.text, true), 1703: (.text, true), 1704: (.date, true), 1705: (.text, true),
        1706: (.date, true), 1707: (.number, false), 1708: (.date, true), 1710: (.id, false),
        1711: (.idOrZero, true), 1712: (.date, true), 1713: (.flag, true), 1719: (.flag, true), 1720: (.number, true),
        1721: (.text, true),
    ]

    /// Reads a payload that begins at `baseOffset` of the input.
    static func decode(_ payload: [UInt8], baseOffset: Int) -> Result<PayloadModel, ASN1DecodingError> {
        var model = PayloadModel()
        do throws(ASN1DecodingError) {
            var input = ASN1Cursor(payload.span, baseOffset: baseOffset)
            let set = try input.read(.set)
            try input.finish()
            try model.readOuter(set.contents)
            return .success(model)
        } catch {
            return .failure(error)
        }
    }

    private mutating func readOuter(_ attributes: ASN1Cursor) throws(ASN1DecodingError) {
        var rest = attributes
        var seen: Set<Int64> = []
        var records: [[ReceiptAttribute]] = []
        self.attributes = [[]]
        while !rest.isAtEnd {
            let attribute = try RawAttribute(rest.read(.sequence))
            self.attributes[0].append(attribute.copy)
            if attribute.number == 17 {
                let record: ASN1Element
                do throws(ASN1DecodingError) {
                    record = try attribute.only(.set)
                } catch {
                    throw error.within(ASN1Field(rawValue: 17), index: purchases.count)
                }
                let (fields, attributes) = try Self.readPurchase(record.contents, index: purchases.count)
                purchases.append(fields)
                records.append(attributes)
            } else if let (form, isDocumented) = Self.forms[attribute.number] {
                do throws(ASN1DecodingError) {
                    guard seen.insert(attribute.number).inserted else {
                        throw attribute.element.error(.duplicateElement)
                    }
                    outer[attribute.number] = try Self.read(attribute, form, isDocumented)
                } catch {
                    throw error.within(ASN1Field(rawValue: UInt16(attribute.number)))
                }
            }
        }
        self.attributes += records
    }

    private static func readPurchase(
        _ attributes: ASN1Cursor, index: Int
    ) throws(ASN1DecodingError) -> (Fields, [ReceiptAttribute]) {
        var rest = attributes
        var fields: Fields = [:]
        var seen: Set<Int64> = []
        var all: [ReceiptAttribute] = []
        while !rest.isAtEnd {
            var number: Int64 = 17
            do throws(ASN1DecodingError) {
                let attribute = try RawAttribute(rest.read(.sequence))
                all.append(attribute.copy)
                number = attribute.number
                guard let (form, isDocumented) = purchaseForms[number] else { continue }
                guard seen.insert(number).inserted else { throw attribute.element.error(.duplicateElement) }
                fields[number] = try read(attribute, form, isDocumented)
            } catch {
                throw error.within(ASN1Field(rawValue: UInt16(number)), index: index)
            }
        }
        return (fields, all)
    }

    private struct RawAttribute: ~Escapable {
        let element: ASN1Element
        let value: ASN1Element
        let copy: ReceiptAttribute

        var number: Int64 { copy.type.rawValue }

        @_lifetime(copy element)
        init(_ element: ASN1Element) throws(ASN1DecodingError) {
            self.element = element
            var fields = element.contents
            let type = try fields.read(.integer).integer(as: Int64.self)
            let version = try fields.read(.integer).integer(as: Int64.self)
            value = try fields.read(.octetString)
            try fields.finish()
            copy = ReceiptAttribute(
                AttributeType(rawValue: type), version: version, value: [UInt8](copying: value.content))
        }

        @_lifetime(copy self)
        func only(_ tag: ASN1Tag) throws(ASN1DecodingError) -> ASN1Element {
            var content = value.contents
            let element = try content.read(tag)
            try content.finish()
            return element
        }
    }

    private static func read(
        _ attribute: RawAttribute, _ form: Form, _ isDocumented: Bool
    ) throws(ASN1DecodingError) -> Value? {
        do throws(ASN1DecodingError) {
            switch form {
            case .octets:
                return attribute.value.contentCount == 0 ? nil : .octets([UInt8](copying: attribute.value.content))
            case .text:
                let text = try attribute.only(.utf8String).utf8String()
                return text.isEmpty ? nil : .text(text)
            case .ia5:
                let text = try attribute.only(.ia5String).ia5String()
                return text.isEmpty ? nil : .text(text)
            case .date:
                let element = try attribute.only(.ia5String)
                if element.contentCount == 0 { return nil }
                guard let date = Instant(rfc3339: element.content) else { throw element.error(.invalidTime) }
                return .date(date.millisecondsSince1970)
            case .number, .id, .idOrZero, .flag:
                let element = try attribute.only(.integer)
                let number = try element.integer(as: Int64.self)
                guard 0...(form == .flag ? 1 : Int64.max) ~= number else { throw element.error(.integerOutOfRange) }
                return switch form {
                case .flag: .flag(number == 1)
                case .id: .id(String(number))
                // Every purchase that is no subscription has a 0 here.
                case .idOrZero: number == 0 ? nil : .id(String(number))
                default: .number(number)
                }
            }
        } catch {
            if isDocumented { throw error }
            return nil
        }
    }
}

// MARK: - The library's answer

extension PayloadModel {
    /// A container that nobody signed, and where the payload is in it.
    static func container(_ payload: [UInt8]) throws -> (bytes: [UInt8], payloadOffset: Int) {
        let bytes = try SignedDataBuilder(content: payload, certificates: nil, signers: []).encoded()
        let message = try SignedData(ContentInfo(bytes.span))
        return (bytes, message.content?.contentOffset ?? -1)
    }

    init(_ receipt: some ReceiptContents) {
        func set(_ number: Int64, _ value: Value?) { outer[number] = value }
        func text(_ number: Int64, _ text: String?) { set(number, text.map(Value.text)) }
        func number(_ number: Int64, _ value: Int64?) { set(number, value.map(Value.number)) }
        func id(_ number: Int64, _ text: String?) { set(number, text.map(Value.id)) }
        func date(_ number: Int64, _ date: Instant?) { set(number, date.map { .date($0.millisecondsSince1970) }) }
        text(0, receipt.receiptType)
        id(1, receipt.appItemID)
        text(2, receipt.bundleID)
        text(3, receipt.applicationVersion)
        set(4, receipt.opaqueValue.map(Value.octets))
        set(5, receipt.sha1Hash.map(Value.octets))
        date(8, receipt.originalCreationDate)
        number(9, receipt.serverBuild)
        text(10, receipt.ageRating)
        id(11, receipt.sellerID)
        date(12, receipt.creationDate)
        number(13, receipt.clientVersion)
        id(15, receipt.downloadID)
        id(16, receipt.versionExternalIdentifier)
        date(18, receipt.originalPurchaseDate)
        text(19, receipt.originalApplicationVersion)
        date(21, receipt.expirationDate)
        number(25, receipt.platform)
        date(32, receipt.preorderDate)
        attributes = [Array(receipt.attributes)]
        for purchase in receipt.inAppPurchases {
            purchases.append(Self.fields(of: purchase))
            attributes.append(Array(purchase.attributes))
        }
    }

    private static func fields(of purchase: InAppPurchase) -> Fields {
        let texts: [Int64: String?] = [
            1702: purchase.productID, 1703: purchase.transactionID, 1705: purchase.originalTransactionID,
            1721: purchase.promotionalOfferID,
        ]
        let numbers: [Int64: Int64?] = [
            1701: purchase.quantity.map(Int64.init), 1707: purchase.productType.map(Self.receiptNumber),
            1720: purchase.revocationReason?.rawValue,
        ]
        let ids: [Int64: String?] = [1710: purchase.itemID, 1711: purchase.webOrderLineItemID]
        let dates: [Int64: Instant?] = [
            1704: purchase.purchaseDate, 1706: purchase.originalPurchaseDate, 1708: purchase.expiresDate,
            1712: purchase.revocationDate,
        ]
        let flags: [Int64: Bool?] = [1713: purchase.isTrialPeriod, 1719: purchase.isInIntroOfferPeriod]
        var fields: Fields = [:]
        for (number, text) in texts { fields[number] = text.map(Value.text) }
        for (number, value) in numbers { fields[number] = value.map(Value.number) }
        for (number, id) in ids { fields[number] = id.map(Value.id) }
        for (number, date) in dates { fields[number] = date.map { .date($0.millisecondsSince1970) } }
        for (number, flag) in flags { fields[number] = flag.map(Value.flag) }
        return fields
    }

    /// The number of a product type in attribute 1707; one without a name stands for itself.
    private static func receiptNumber(_ type: ProductType) -> Int64 {
        let names = [
            "Non-Consumable", "Consumable", "Non-Renewing Subscription", "Auto-Renewable Subscription",
            "Free Subscription",
        ]
        return names.firstIndex(of: type.rawValue).map(Int64.init) ?? Int64(type.rawValue) ?? -1
    }

    /// The attributes that no field shows: of unknown numbers, and inferred ones whose value has another form.
    static func unknown(_ attributes: [ReceiptAttribute], _ fields: Fields, isPurchase: Bool) -> [ReceiptAttribute] {
        attributes.filter { attribute in
            let number = attribute.type.rawValue
            if !isPurchase, number == 17 { return false }
            guard let (_, isDocumented) = (isPurchase ? purchaseForms : forms)[number] else { return true }
            return !isDocumented && fields[number] == nil
        }
    }
}
