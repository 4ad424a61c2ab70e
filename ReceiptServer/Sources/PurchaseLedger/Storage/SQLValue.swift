import AppStoreReceipt

/// The value of a column or of a statement's parameter.
enum SQLValue: Sendable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    /// An array of integers or texts. SQLite uses JSON instead.
    case array([SQLValue])

    init(_ value: String?) { self = value.map(SQLValue.text) ?? .null }
    init(_ date: Instant) { self = .integer(date.millisecondsSince1970) }
}

/// The columns of a result, by their names.
final class SQLColumns: Sendable {
    let names: [String]
    fileprivate let numbers: [String: Int]

    init(_ names: [String]) {
        self.names = names
        numbers = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
    }
}

/// A row of a result. A value of the wrong type is an error: the ledger didn't write it.
struct SQLRow: Sendable {
    let values: [SQLValue]
    let columns: SQLColumns

    /// Returns the number of a column.
    private func number(_ name: String) throws(LedgerError) -> Int {
        guard let number = columns.numbers[name] else {
            throw LedgerError(.storeFailed, "a result has no column \(name)")
        }
        return number
    }

    func isNull(_ name: String) throws(LedgerError) -> Bool {
        if case .null = values[try number(name)] { true } else { false }
    }

    func text(_ name: String) throws(LedgerError) -> String { try text(number(name)) }

    func optionalText(_ name: String) throws(LedgerError) -> String? { try optionalText(number(name)) }

    func integer(_ name: String) throws(LedgerError) -> Int64 { try integer(number(name)) }

    func optionalInteger(_ name: String) throws(LedgerError) -> Int64? { try optionalInteger(number(name)) }

    func date(_ name: String) throws(LedgerError) -> Instant { try date(number(name)) }

    func optionalDate(_ name: String) throws(LedgerError) -> Instant? { try optionalDate(number(name)) }

    func text(_ column: Int) throws(LedgerError) -> String {
        guard case .text(let text) = values[column] else { throw unexpected(column) }
        return text
    }

    func optionalText(_ column: Int) throws(LedgerError) -> String? {
        if case .null = values[column] { return nil }
        return try text(column)
    }

    func integer(_ column: Int) throws(LedgerError) -> Int64 {
        switch values[column] {
        case .integer(let value): return value
        // libpq returns text.
        case .text(let text): if let value = Int64(text) { return value }
        case .null, .array, .bytes: break
        }
        throw unexpected(column)
    }

    func optionalInteger(_ column: Int) throws(LedgerError) -> Int64? {
        if case .null = values[column] { return nil }
        return try integer(column)
    }

    func bytes(_ column: Int) throws(LedgerError) -> [UInt8] {
        switch values[column] {
        case .bytes(let bytes): return bytes
        // libpq returns text: `\x` and hexadecimal digits.
        case .text(let text):
            if text.utf8.starts(with: "\\x".utf8), let bytes = Self.bytes(text.utf8.dropFirst(2)) { return bytes }
        case .null, .array, .integer: break
        }
        throw unexpected(column)
    }

    func date(_ column: Int) throws(LedgerError) -> Instant {
        Instant(millisecondsSince1970: try integer(column))
    }

    func optionalDate(_ column: Int) throws(LedgerError) -> Instant? {
        if case .null = values[column] { return nil }
        return try date(column)
    }

    private static func bytes(_ digits: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            guard let value = Character(UnicodeScalar(digit)).hexDigitValue.map(UInt8.init) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    private func unexpected(_ column: Int) -> LedgerError {
        LedgerError(.storeFailed, "column \(column + 1) of a result has an unexpected value")
    }
}
