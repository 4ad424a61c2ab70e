import Instants
import StrictText

/// The decoded `purchase-info` of a transaction receipt, as a property list.
struct PurchaseInfo: Sendable {
    let text: [UInt8]
    let list: PropertyList

    init(_ text: [UInt8]) throws(PropertyListError) {
        self.text = text
        list = try PropertyList(text.span)
    }

    func range(_ key: TransactionReceiptKey) -> Range<Int>? {
        let text = text
        return list.value(of: key, in: text.span)
    }

    func string(_ key: TransactionReceiptKey) -> String? {
        range(key).map { String(decoding: text[$0], as: UTF8.self) }
    }

    func error(_ kind: PropertyListError.Kind, _ key: TransactionReceiptKey) -> PropertyListError {
        PropertyListError(kind, offset: range(key)?.lowerBound ?? list.end, key: key)
    }

    /// Checks that the value of a key has the key's format. Dates are checked where they are read.
    func checkFormat(of key: TransactionReceiptKey) throws(PropertyListError) {
        guard let range = range(key) else { return }
        let value = text[range]
        let isValid =
            switch key.format {
            case .digits: !value.isEmpty && value.allSatisfy(\.isDigit)
            case .flag: value.elementsEqual("true".utf8) || value.elementsEqual("false".utf8)
            case .text: !value.isEmpty || !TransactionReceiptKey.required.contains(key)
            case .date: true
            }
        guard isValid else { throw error(.unexpectedValue, key) }
    }

    /// A number of at most 64 bits.
    func integer(_ key: TransactionReceiptKey) -> Int64? {
        guard let range = range(key), !range.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in text[range] {
            guard byte.isDigit else { return nil }
            let (tens, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isSumTooLarge) = tens.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            guard !isTooLarge, !isSumTooLarge else { return nil }
            value = sum
        }
        return value
    }
}

// MARK: - Dates

extension PurchaseInfo {
    /// The three keys of a date.
    struct DateKeys {
        let gmt, milliseconds, pacific: TransactionReceiptKey

        static let purchase = DateKeys(gmt: .purchaseDate, milliseconds: .purchaseDateMS, pacific: .purchaseDatePST)
        static let originalPurchase = DateKeys(
            gmt: .originalPurchaseDate, milliseconds: .originalPurchaseDateMS, pacific: .originalPurchaseDatePST)
        static let expires = DateKeys(
            gmt: .expiresDateFormatted, milliseconds: .expiresDate, pacific: .expiresDateFormattedPST)
    }

    /// Reads a date, which up to three values state: the milliseconds, if they are there, and otherwise the text in
    /// GMT.
    ///
    /// - Returns: `nil` if none of the three is there.
    /// - Throws: `dates-disagree` if two of them are not the same second; `missing-key` for a text in Pacific time
    ///   alone, which names two dates in one hour of a year; `unexpected-value` for one that cannot be read.
    func date(_ keys: DateKeys) throws(PropertyListError) -> Instant? {
        let milliseconds = try value(keys.milliseconds) { integer(keys.milliseconds).flatMap(Self.instant) }
        let gmt = try value(keys.gmt) { text(keys.gmt, " Etc/GMT") }
        let pacific = try value(keys.pacific) { text(keys.pacific, " America/Los_Angeles") }
        guard let date = milliseconds ?? gmt else {
            guard pacific == nil else { throw error(.missingKey, keys.gmt) }
            return nil
        }
        if let gmt, gmt.secondsSince1970 != date.secondsSince1970 { throw error(.datesDisagree, keys.gmt) }
        if let pacific, pacific.secondsSince1970 != date.pacificSeconds { throw error(.datesDisagree, keys.pacific) }
        return date
    }

    private func value(
        _ key: TransactionReceiptKey, _ read: () -> Instant?
    ) throws(PropertyListError) -> Instant? {
        guard range(key) != nil else { return nil }
        guard let date = read() else { throw error(.unexpectedValue, key) }
        return date
    }

    /// The year must have four digits, because the texts can only express those.
    private static func instant(_ milliseconds: Int64) -> Instant? {
        milliseconds <= 253_402_300_799_999 ? Instant(millisecondsSince1970: milliseconds) : nil
    }

    /// Reads `2014-01-27 12:50:56` and the name of a time zone, as if it were UTC.
    private func text(_ key: TransactionReceiptKey, _ zone: String) -> Instant? {
        guard let range = range(key), range.count == 19 + zone.utf8.count else { return nil }
        let value = Array(text[range])
        guard value[19...].elementsEqual(zone.utf8) else { return nil }
        func number(_ start: Int, _ count: Int) -> Int? {
            var result = 0
            for byte in value[start..<start + count] {
                guard byte.isDigit else { return nil }
                result = result * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return result
        }
        guard value[4] == UInt8(ascii: "-"), value[7] == UInt8(ascii: "-"), value[10] == .space,
            value[13] == UInt8(ascii: ":"), value[16] == UInt8(ascii: ":"), let year = number(0, 4),
            let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2), let minute = number(14, 2),
            let second = number(17, 2)
        else { return nil }
        return Instant(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}

extension Instant {
    /// The date and time in GMT, such as `2014-01-27 12:50:56`.
    package var gmtText: String {
        let text = Instant(millisecondsSince1970: secondsSince1970 * 1000).description
        return text.prefix(10) + " " + text.dropFirst(11).dropLast()
    }

    /// The date and time on the Pacific coast, such as `2014-01-27 04:50:56`.
    package var pacificText: String { Instant(millisecondsSince1970: pacificSeconds * 1000).gmtText }

    /// The seconds of the date and time on the Pacific coast, as if these were in UTC.
    fileprivate var pacificSeconds: Int64 { secondsSince1970 + Int64(pacificOffset) }
}

extension UInt8 {
    fileprivate var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
}
