@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import PurchaseLedger
import StrictText

/// The fields of a line, in JSON or CSV.
struct ImportRecord {
    enum Column: String, CaseIterable {
        case account, environment, token, quantity, date, evidence
        case bundleID = "bundle_id"
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case productID = "product_id"
    }

    /// The reason a line is invalid.
    struct Fault: Error {
        let message: String
    }

    private static let members = JSONMembers<Column>()
    private var values: [Column: [UInt8]] = [:]
    private let isCSV: Bool
    /// The number of fields from which surrounding white space was removed.
    private(set) var trimmedCount: Int64 = 0

    /// Reads a JSON object whose members are strings. The account, the quantity and the date can be numbers.
    init(json line: [UInt8]) throws(Fault) {
        isCSV = false
        var values: [Column: [UInt8]] = [:]
        var fault: Fault?
        do throws(JSONError) {
            try JSONCursor.decode(line.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    guard let column = Self.members.member(of: name) else {
                        fault = fault ?? .unknownColumn(name.value)
                        return
                    }
                    guard values[column] == nil else { throw JSONError(.duplicateMember, offset: name.offset) }
                    switch try cursor.peekType() {
                    case .string: values[column] = try cursor.readString().bytes
                    case .number where column == .quantity || column == .date:
                        values[column] = Array("\(try cursor.readInt64())".utf8)
                    case .number where column == .account:
                        let number = try cursor.readNumber()
                        // Other numbers can be written in several ways.
                        if number.isInteger {
                            values[column] = number.raw.indices.map { number.raw[$0] }
                        } else {
                            fault = fault ?? Fault(message: "'account' must be a string or an integer")
                        }
                    case .null: break
                    default: fault = fault ?? Fault(message: "'\(column.rawValue)' must be a string")
                    }
                }
            }
        } catch {
            throw Fault(message: "not a JSON object, as byte \(error.offset) shows")
        }
        if let fault { throw fault }
        self.values = values
        trim()
    }

    /// Reads a line of CSV. An empty field counts as missing.
    init(_ columns: [Column], _ fields: [[UInt8]]) throws(Fault) {
        isCSV = true
        for (column, field) in zip(columns, fields) where !field.isEmpty { values[column] = field }
        trim()
        for (column, value) in values where value.isEmpty && column != .account { values[column] = nil }
        for column in [Column.account, .productID] {
            guard let value = values[column], ["NULL", "\\N"].contains(where: { value.elementsEqual($0.utf8) }) else {
                continue
            }
            throw Fault(
                message:
                    "'\(column.rawValue)' is \(String(decoding: value, as: UTF8.self)), which MySQL writes for none; JSON can have such a name"
            )
        }
        if let account = values[.account], Self.isShortened(account) {
            throw Fault(message: "'account' is a number that a spreadsheet shortened: export the column as text")
        }
    }

    /// Removes white space around all fields except the account, which is used byte for byte.
    private mutating func trim() {
        for (column, value) in values where column != .account {
            // Most fields have none.
            func isPlain(_ byte: UInt8?) -> Bool { byte.map { 0x21..<0x80 ~= $0 } ?? true }
            if isPlain(value.first), isPlain(value.last) { continue }
            let text = String(decoding: value, as: UTF8.self)
            let trimmed = text.trimmed
            guard trimmed.utf8.count < value.count else { continue }
            values[column] = Array(trimmed.utf8)
            trimmedCount += 1
        }
    }

    /// Returns whether a text is a number in the short form of spreadsheets, such as `3.4E+14`.
    private static func isShortened(_ text: [UInt8]) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "E"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].first == UInt8(ascii: "+"), parts[1].count > 1 else { return false }
        return !parts[0].isEmpty && (parts[0] + parts[1].dropFirst()).allSatisfy { 0x30...0x39 ~= $0 || $0 == 0x2E }
    }

    private func text(_ column: Column) -> String? { values[column].map { String(decoding: $0, as: UTF8.self) } }

    private func required(_ column: Column) throws(Fault) -> String {
        guard let text = text(column) else { throw Fault(message: "'\(column.rawValue)' is missing") }
        return text
    }

    /// Returns the contents of the line. If it names no app or environment, they are the server's, provided the server
    /// has only one.
    func line(_ verifier: AppStoreVerifier, _ dates: ImportDate) throws(Fault) -> ImportedLine {
        let account = try required(.account)
        guard 1...255 ~= account.utf8.count, !account.utf8.contains(0) else {
            throw Fault(message: "'account' must have 1 to 255 bytes without NUL")
        }
        let given = [.token, .transactionID, .evidence].filter { values[$0] != nil } as [Column]
        guard given.count == 1, let kind = given.first else {
            throw Fault(message: "exactly one of 'token', 'transaction_id' and 'evidence' is required")
        }
        switch kind {
        case .token:
            let text = try required(.token)
            guard let token = AppAccountToken(uuid: text) else {
                throw Fault(message: "'token' must be a UUID that is not nil, and is \(text.quoted)")
            }
            return .token(account: account, token)
        case .evidence:
            do throws(VerificationError) {
                return .evidence(account: account, try verifier.verify(values[.evidence] ?? []))
            } catch {
                throw Fault(message: "'evidence' is refused: \(error.code)")
            }
        default: return .spent(try spent(account, verifier.policy, dates))
        }
    }

    private func spent(
        _ account: String, _ policy: VerificationPolicy, _ dates: ImportDate
    ) throws(Fault) -> SpentTransaction {
        let named = try text(.environment).map { (text) throws(Fault) in
            guard let environment = AppStoreEnvironment(rawValue: text) else {
                throw Fault(message: "'environment' must be 'production' or 'sandbox', and is \(text.quoted)")
            }
            return environment
        }
        guard let environment = named ?? policy.onlyEnvironment else {
            throw Fault(message: "'environment' is missing")
        }
        guard let bundleID = text(.bundleID) ?? policy.onlyBundleID else {
            throw Fault(message: "'bundle_id' is missing")
        }
        guard policy.acceptedEnvironments.contains(environment), policy.accepts(bundleID: bundleID) else {
            throw Fault(message: "the app or the environment is none of --bundle-id and --environment")
        }
        let transactionID = try id(.transactionID, environment, isOptional: false) ?? ""
        let original = try id(.originalTransactionID, environment, isOptional: true)
        var quantity: Int?
        if let text = text(.quantity) {
            guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(text), number > 0 else {
                throw Fault(message: "'quantity' must be a number greater than 0, and is \(text.quoted)")
            }
            quantity = number
        }
        let spent = SpentTransaction(
            account: account, environment: environment, bundleID: bundleID, transactionID: transactionID,
            originalTransactionID: original, productID: try required(.productID), quantity: quantity,
            date: try dates.read(try required(.date)))
        guard let spent else { throw Fault(message: "a text must have 1 to 255 bytes without NUL") }
        return spent
    }

    private func id(
        _ column: Column, _ environment: AppStoreEnvironment, isOptional: Bool
    ) throws(Fault) -> String? {
        guard let id = isOptional ? text(column) : try required(column) else { return nil }
        if !isOptional, SpentTransaction.isOfSupport(id) { return id }
        guard TransactionIDForm.isApples(id, in: environment) else {
            throw Fault(
                message: "'\(column.rawValue)' must be \(TransactionIDForm.words), as Apple's are, and is \(id.quoted)")
        }
        return id
    }
}

extension ImportRecord.Fault {
    static func unknownColumn(_ name: String) -> Self {
        let names = ImportRecord.Column.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return Self(message: "an unknown name, \(name.quoted); there are \(names)")
    }
}
