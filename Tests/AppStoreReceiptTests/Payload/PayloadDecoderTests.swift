import AppStoreReceipt
import SpanASN1
import TestSupport
import Testing

@Suite struct PayloadDecoderTests {
    /// `ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`
    static func attribute(_ type: Int, _ value: [UInt8], version: Int = 1) -> [UInt8] {
        tlv(0x30, tlv(0x02, integer(type)) + tlv(0x02, integer(version)) + tlv(0x04, value))
    }

    static func decode(_ attributes: [[UInt8]]) throws(VerificationError) -> UnverifiedReceipt {
        try decode(payload: tlv(0x31, Array(attributes.joined())))
    }

    static func decode(payload: [UInt8]) throws(VerificationError) -> UnverifiedReceipt {
        guard let (container, _) = try? PayloadModel.container(payload) else {
            throw VerificationError(.host(.libcryptoFailure))
        }
        return try UnverifiedReceipt(decoding: container)
    }

    /// A receipt with one purchase.
    private func purchase(_ attributes: [[UInt8]]) throws(VerificationError) -> InAppPurchase? {
        try Self.decode([Self.attribute(17, tlv(0x31, Array(attributes.joined()))), Self.filler]).inAppPurchases.first
    }

    private func error(_ attributes: [[UInt8]]) -> ASN1DecodingError? {
        do {
            _ = try Self.decode(attributes)
        } catch {
            if case .payload(let error) = error.reason { return error }
            Issue.record("\(error)")
        }
        return nil
    }

    /// The error in a purchase, with or without more behind it: the decoder reads ahead where it can.
    private func error(inPurchase attributes: [[UInt8]]) -> ASN1DecodingError? {
        let purchase = Self.attribute(17, tlv(0x31, Array(attributes.joined())))
        let found = error([purchase, Self.filler])
        let foundAtEnd = error([purchase])
        #expect(found?.kind == foundAtEnd?.kind && found?.path == foundAtEnd?.path)
        return found
    }

    private static let filler = attribute(7, [UInt8](repeating: 0, count: 64))

    static let documented = [0, 1, 2, 3, 8, 12, 15, 16, 18, 19, 21]
    static let inferred = [9, 10, 11, 13, 25, 32]
    static let documentedInPurchase = [1701, 1702, 1703, 1704, 1705, 1706, 1708, 1711, 1712, 1713, 1719, 1720, 1721]
    static let inferredInPurchase = [1707, 1710]

    /// Values that no typed attribute may have.
    private static let wrong: [[UInt8]] = [
        [], [0x0C], tlv(0x03, [0]), tlv(0x30, []), tlv(0x02, []), tlv(0x02, [0xFF]), tlv(0x02, [0, 0x7F]),
        tlv(0x02, [0, 0x80, 0, 0, 0, 0, 0, 0, 0]), tlv(0x0C, [0xFF]), tlv(0x16, [0xFF]),
        tlv(0x16, Array("yesterday".utf8)) + [0],
        tlv(0x0C, Array("x".utf8)) + [0x05, 0x00], tlv(0x2C, tlv(0x0C, [0x61])),
    ]

    @Test(arguments: documented) func `a wrong value in a documented attribute is an error`(type: Int) {
        for value in Self.wrong {
            let found = error([Self.attribute(type, value)])
            #expect(found?.path == ASN1Path(ASN1Field(rawValue: UInt16(type))), "\(value)")
        }
    }

    @Test(arguments: documentedInPurchase)
    func `a wrong value in a documented attribute of a purchase is an error`(type: Int) {
        for value in Self.wrong {
            let found = error(inPurchase: [Self.attribute(type, value)])
            #expect(found?.path == ASN1Path(ASN1Field(rawValue: UInt16(type)), index: 0), "\(value)")
        }
    }

    @Test(arguments: inferred + inferredInPurchase)
    func `a wrong value in an inferred attribute leaves the field empty and stays readable`(type: Int) throws {
        for value in Self.wrong {
            let attribute = Self.attribute(type, value)
            if type < 1701 {
                let receipt = try Self.decode([attribute])
                #expect(PayloadModel(receipt).outer.isEmpty)
                #expect(receipt.unknownAttributes.map(\.value) == [value])
            } else {
                let receipt = try Self.decode([Self.attribute(17, tlv(0x31, attribute))])
                #expect(PayloadModel(receipt).purchases == [[:]])
                #expect(receipt.inAppPurchases.first?.unknownAttributes.map(\.value) == [value])
            }
        }
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 8, 12, 15, 16, 18, 19, 21] + inferred)
    func `a repeated attribute is an error, equal or not, with a value or without`(type: Int) {
        let isDate = [8, 12, 18, 21, 32].contains(type)
        let isNumber = [1, 9, 11, 13, 15, 16, 25].contains(type)
        let isIA5 = isDate || type == 10
        let values: [[UInt8]] =
            isNumber
            ? [tlv(0x02, [1]), tlv(0x02, [2])]
            : [
                tlv(isIA5 ? 0x16 : 0x0C, []),
                tlv(isIA5 ? 0x16 : 0x0C, isDate ? Array("2024-02-29T23:59:59Z".utf8) : [0x61]),
            ]
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let attributes = [
                Self.attribute(type, values[first]), Self.attribute(7, []), Self.attribute(type, values[second]),
            ]
            let found = error(attributes)
            #expect(found?.kind == .duplicateElement)
            #expect(found?.path.field?.rawValue == UInt16(type))
        }
    }

    @Test(arguments: documentedInPurchase + inferredInPurchase)
    func `a repeated attribute of a purchase is an error, equal or not, with a value or without`(type: Int) {
        let isDate = [1704, 1706, 1708, 1712].contains(type)
        let isNumber = [1701, 1707, 1710, 1711, 1713, 1719, 1720].contains(type)
        let values: [[UInt8]] =
            isNumber
            ? [tlv(0x02, [0]), tlv(0x02, [1])]
            : [
                tlv(isDate ? 0x16 : 0x0C, []),
                tlv(isDate ? 0x16 : 0x0C, isDate ? Array("2024-02-29T23:59:59Z".utf8) : [0x61]),
            ]
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let attributes = [
                Self.attribute(type, values[first]), Self.attribute(1709, []), Self.attribute(type, values[second]),
            ]
            let found = error(inPurchase: attributes)
            #expect(found?.kind == .duplicateElement)
            #expect(found?.path == ASN1Path(ASN1Field(rawValue: UInt16(type)), index: 0))
        }
    }

    @Test func `the same attribute in two purchases is no repetition, and unknown ones may be repeated`() throws {
        let record = Self.attribute(1702, tlv(0x0C, [0x61]))
        let receipt = try Self.decode(
            [Self.attribute(17, tlv(0x31, record)), Self.attribute(17, tlv(0x31, record))]
                + [7, 7, 14, 14, 99, 99].map { Self.attribute($0, [1]) })
        #expect(receipt.inAppPurchases.map(\.productID) == ["a", "a"])
        #expect(receipt.unknownAttributes.map(\.type.rawValue) == [7, 7, 14, 14, 99, 99])
    }

    @Test func `an empty string is no value and no error`() throws {
        let strings = [0, 2, 3, 19].map { Self.attribute($0, [0x0C, 0x00]) }
        let dates = [8, 12, 18, 21, 32].map { Self.attribute($0, [0x16, 0x00]) }
        let receipt = try Self.decode(strings + dates + [Self.attribute(10, [0x16, 0x00])])
        #expect(PayloadModel(receipt).outer.isEmpty)
        let purchase = try purchase(
            [1702, 1703, 1705, 1721].map { Self.attribute($0, [0x0C, 0x00]) }
                + [1704, 1706, 1708, 1712].map { Self.attribute($0, [0x16, 0x00]) })
        #expect(purchase?.productID == nil && purchase?.expiresDate == nil && purchase?.revocationDate == nil)
    }

    @Test(
        arguments: [
            ([0], 0), ([0x7F], 0x7F), ([0, 0x80], 0x80), ([0x01, 0x00], 256), ([0x7F, 0xFF, 0xFF, 0xFF], 0x7FFF_FFFF),
            ([0x00, 0x80, 0x00, 0x00, 0x00], 1 << 31), ([0x01, 0, 0, 0, 0, 0], 1 << 40),
            ([0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .max),
        ] as [([UInt8], Int64)])
    func `integers of up to 8 bytes are read, everywhere`(row: ([UInt8], Int64)) throws {
        let receipt = try Self.decode([1, 9, 11, 13, 15, 16, 25].map { Self.attribute($0, tlv(0x02, row.0)) })
        let outer = PayloadModel(receipt).outer
        #expect(outer.count == 7 && outer.values.allSatisfy { $0 == .number(row.1) || $0 == .id("\(row.1)") })
        let purchase = try purchase([1701, 1707, 1710, 1711, 1720].map { Self.attribute($0, tlv(0x02, row.0)) })
        #expect(purchase?.quantity == Int(row.1) && purchase?.itemID == "\(row.1)")
        // 0 stands for none.
        #expect(purchase?.webOrderLineItemID == (row.1 == 0 ? nil : "\(row.1)"))
        #expect(purchase?.revocationReason == RevocationReason(rawValue: row.1))
        let types = ["Non-Consumable", "Consumable", "Non-Renewing Subscription", "Auto-Renewable Subscription"]
        #expect(purchase?.productType?.rawValue == (row.1 < 4 ? types[Int(row.1)] : "\(row.1)"))
    }

    @Test(arguments: [([0x02, 0x01, 0x00], false), ([0x02, 0x01, 0x01], true)] as [([UInt8], Bool)])
    func `a flag is 0 or 1`(row: ([UInt8], Bool)) throws {
        let purchase = try purchase([Self.attribute(1713, row.0), Self.attribute(1719, row.0)])
        #expect(purchase?.isTrialPeriod == row.1 && purchase?.isInIntroOfferPeriod == row.1)
        for value in [[0x02, 0x01, 0x02], [0x02, 0x01, 0xFF], [0x02, 0x02, 0x01, 0x00], [0x01, 0x01, 0xFF]] as [[UInt8]]
        {
            #expect(error(inPurchase: [Self.attribute(1713, value)]) != nil)
        }
    }

    @Test(
        arguments: [
            ([0x30, 0x00], ASN1DecodingError.Kind.unexpectedTag), ([], .missingElement),
            ([0x31, 0x00, 0x31, 0x00], .trailingData),
            ([0x31, 0x02, 0x05, 0x00], .unexpectedTag), ([0x31, 0x80, 0x00, 0x00], .indefiniteLength),
            ([0x11, 0x00], .unexpectedTag),
            ([0x31, 0x05, 0x30, 0x03, 0x02, 0x01, 0x01], .missingElement), ([0x31, 0x81, 0x00], .nonMinimalLength),
        ] as [([UInt8], ASN1DecodingError.Kind)])
    func `attribute 17 holds one SET of attributes`(row: ([UInt8], ASN1DecodingError.Kind)) {
        let found = error([Self.attribute(17, tlv(0x31, [])), Self.attribute(17, row.0)])
        #expect(found?.kind == row.1)
        #expect(found?.path == ASN1Path(ASN1Field(rawValue: 17), index: 1))
    }

    @Test(
        arguments: [
            ([0x30, 0x00], ASN1DecodingError.Kind.unexpectedTag), ([], .missingElement),
            ([0x31, 0x00, 0x00], .trailingData),
            ([0x31, 0x02, 0x05, 0x00], .unexpectedTag), ([0x31, 0x01], .truncated),
            ([0x31, 0x03, 0x30, 0x02, 0x05], .truncated),
            ([0x31, 0x80, 0x00, 0x00], .indefiniteLength), ([0x31, 0x02, 0x30, 0x00], .missingElement),
        ] as [([UInt8], ASN1DecodingError.Kind)])
    func `the payload is one SET of attributes`(row: ([UInt8], ASN1DecodingError.Kind)) {
        do {
            _ = try Self.decode(payload: row.0)
            Issue.record("accepted")
        } catch {
            #expect(error.stage == .payload && error.code.rawValue == row.1.rawValue)
        }
    }

    @Test func `a purchase's attribute ends within the purchase, and its value within it`() {
        for value in [tlv(0x02, [1]), tlv(0x0C, [UInt8](repeating: 0x61, count: 30))] {
            let attribute = Self.attribute(value[0] == 2 ? 1701 : 1702, value)
            for missing in 1..<attribute.count {
                #expect(error(inPurchase: [attribute.dropLast(missing)])?.path.index == 0)
            }
            // The attribute, its OCTET STRING or the element in that says one byte more or less than there is.
            for lengthIndex in [1, 10, 12] {
                for difference in [-1, 1] as [Int8] {
                    var wrong = attribute
                    wrong[lengthIndex] = UInt8(truncatingIfNeeded: Int(wrong[lengthIndex]) + Int(difference))
                    #expect(error(inPurchase: [wrong, Self.attribute(1709, [])]) != nil)
                }
            }
        }
    }

    /// The decoder reads a purchase's four lengths at once where each has two octets and the attribute's version is 1.
    /// With another version, one by one.
    @Test func `lengths of a purchase that contradict each other are the same error, read at once or one by one`() {
        func record(_ version: UInt8, _ lengths: [Int]) -> [UInt8] {
            let octets = lengths.map { [0x82, UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
            return [0x30] + octets[0] + [2, 1, 17, 2, 1, version, 4] + octets[1] + [0x31] + octets[2]
                + Self.attribute(1709, [UInt8](repeating: 0, count: 285))
        }
        let right = [314, 304, 300]
        #expect(record(1, right).count == right[0] + 4)
        let differences = [-300, -60, -10, -4, -1, 0, 1, 4, 10, 300, 60_000]
        for outer in differences {
            for middle in differences {
                for inner in differences {
                    let lengths = [right[0] + outer, right[1] + middle, right[2] + inner]
                    guard lengths.allSatisfy({ 0...0xFFFF ~= $0 }) else { continue }
                    for more in [[], [Self.filler]] {
                        let atOnce = error([record(1, lengths)] + more)
                        let oneByOne = error([record(2, lengths)] + more)
                        #expect(atOnce == oneByOne, "\(lengths)")
                        #expect((atOnce == nil) == (lengths == right), "\(lengths)")
                    }
                }
            }
        }
    }

    @Test func `a string is UTF-8 to its last byte`() throws {
        for count in 1...30 {
            for index in 0..<count {
                var text = [UInt8](repeating: 0x61, count: count)
                text[index] = 0xFF
                #expect(error(inPurchase: [Self.attribute(1702, tlv(0x0C, text))])?.kind == .invalidString)
                guard index + 1 < count else { continue }
                text.replaceSubrange(index...index + 1, with: [0xC3, 0xA4])
                let purchase = try purchase([Self.attribute(1703, tlv(0x0C, text))])
                #expect(purchase?.transactionID == String(decoding: text, as: UTF8.self))
            }
        }
    }

    @Test func `attributes are in the receipt's order, raw, known or not`() throws {
        let values: [(Int, Int, [UInt8])] = [
            (20, 1, [0x0C, 0]), (2, 1, tlv(0x0C, [0x61])), (-5, 3, [0xFF]), (4, 2, [1, 2]), (1702, 1, [9]),
            (1 << 40, -7, []), (14, 1, [1]),
        ]
        let receipt = try Self.decode(values.map { Self.attribute($0.0, $0.2, version: $0.1) })
        #expect(receipt.attributes.map(\.type.rawValue) == values.map { Int64($0.0) })
        #expect(receipt.attributes.map(\.version) == values.map { Int64($0.1) })
        #expect(receipt.attributes.map(\.value) == values.map(\.2))
        // A purchase's number outside a purchase means nothing.
        #expect(receipt.unknownAttributes.map(\.type.rawValue) == [20, -5, 1702, 1 << 40, 14])
    }

    @Test func `an empty payload is a receipt that says nothing`() throws {
        let receipt = try Self.decode([])
        #expect(PayloadModel(receipt).outer.isEmpty && receipt.inAppPurchases.isEmpty && receipt.environment == nil)
        #expect(try !receipt.matches(deviceIdentifier: []))
    }

    @Test func `purchases have a limit`() throws {
        let purchases = [[UInt8]](repeating: Self.attribute(17, tlv(0x31, [])), count: 4)
        let (container, offset) = try PayloadModel.container(tlv(0x31, Array(purchases.joined())))
        var limits = VerificationLimits()
        limits.maximumPurchaseCount = 4
        #expect(try UnverifiedReceipt(decoding: container, limits: limits).inAppPurchases.count == 4)
        limits.maximumPurchaseCount = 3
        #expect(
            throws: VerificationError(
                .payload(
                    ASN1DecodingError(
                        .tooManyElements, offset: offset + 2 + 4 * 12,
                        path: ASN1Path(ASN1Field(rawValue: 17), index: 3))))
        ) { try UnverifiedReceipt(decoding: container, limits: limits) }
    }
}
