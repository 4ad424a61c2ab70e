import AppStoreReceipt
import HTTPService
import PurchaseLedger
import StrictText

/// The columns of a line, in JSON or CSV.
struct ImportRecord {
    enum Column: String, CaseIterable {
        case account, environment, token, quantity, date, evidence
        case bundleID = "bundle_id"
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case productID = "product_id"
    }

    /// What is wrong with a line.
    struct Fault: Error {
        let message: String
    }

    private static let members = JSONMembers<Column>()
    /// 2008-07-10. The seconds since 1970 of a database, taken as milliseconds, are of 1970.
    private static let appStoreOpening = Instant(millisecondsSince1970: 1_215_648_000_000)
    private var values: [Column: [UInt8]] = [:]

    /// Reads a JSON object whose members are strings, or numbers for the quantity and the date.
    init(json line: [UInt8]) throws(Fault) {
        var values: [Column: [UInt8]] = [:]
        var fault: Fault?
        do throws(JSONError) {
            try JSONCursor.decode(line.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    guard let column = Self.members.member(of: name) else {
                        fault = fault ?? .unknownColumn
                        return
                    }
                    guard values[column] == nil else { throw JSONError(.duplicateMember, offset: name.offset) }
                    switch try cursor.peekType() {
                    case .string: values[column] = try cursor.readString().bytes
                    case .number where column == .quantity || column == .date:
                        values[column] = Array("\(try cursor.readInt64())".utf8)
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
    }

    /// Reads the first line of CSV, with the names of the columns (RFC 4180).
    static func columns(csv line: [UInt8]) throws(Fault) -> [Column] {
        var columns: [Column] = []
        for name in try fields(line) {
            guard let column = Column.allCases.first(where: { name.elementsEqual($0.rawValue.utf8) }) else {
                throw .unknownColumn
            }
            guard !columns.contains(column) else { throw Fault(message: "'\(column.rawValue)' is there twice") }
            columns.append(column)
        }
        return columns
    }

    /// Reads a line of CSV. An empty field is a member that is not there.
    init(csv line: [UInt8], _ columns: [Column]) throws(Fault) {
        let fields = try Self.fields(line)
        guard fields.count == columns.count else {
            throw Fault(message: "\(fields.count) fields; the first line has \(columns.count)")
        }
        for (column, field) in zip(columns, fields) where !field.isEmpty { values[column] = field }
    }

    private static func fields(_ line: [UInt8]) throws(Fault) -> [[UInt8]] {
        let quote = UInt8(ascii: "\"")
        var fields: [[UInt8]] = []
        var field: [UInt8] = []
        var rest = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
        while true {
            if rest.first == quote {
                rest.removeFirst()
                while true {
                    guard let end = rest.firstIndex(of: quote) else {
                        throw Fault(message: "a quotation mark is not closed in the line")
                    }
                    field += rest[..<end]
                    rest = rest[(end + 1)...]
                    guard rest.first == quote else { break }
                    field.append(quote)
                    rest.removeFirst()
                }
                guard rest.isEmpty || rest.first == UInt8(ascii: ",") else {
                    throw Fault(message: "a field goes on after its quotation mark")
                }
            } else {
                let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
                field += rest[..<end]
                rest = rest[end...]
                guard !field.contains(quote) else { throw Fault(message: "a quotation mark within a field") }
            }
            fields.append(field)
            field = []
            guard !rest.isEmpty else { return fields }
            rest.removeFirst()
        }
    }

    private func text(_ column: Column) -> String? { values[column].map { String(decoding: $0, as: UTF8.self) } }

    private func required(_ column: Column) throws(Fault) -> String {
        guard let text = text(column) else { throw Fault(message: "'\(column.rawValue)' is missing") }
        return text
    }

    /// What the line says. The app and the environment are the server's, if it has one of each and the line does not say them.
    func line(_ verifier: AppStoreVerifier) throws(Fault) -> ImportedLine {
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
            guard let token = AppAccountToken(uuid: try required(.token)) else {
                throw Fault(message: "'token' must be a UUID that is not nil")
            }
            return .token(account: account, token)
        case .evidence:
            do throws(VerificationError) {
                return .evidence(account: account, try verifier.verify(values[.evidence] ?? []))
            } catch {
                throw Fault(message: "'evidence' is refused: \(error.code)")
            }
        default: return .spent(try spent(account, verifier.policy))
        }
    }

    private func spent(_ account: String, _ policy: VerificationPolicy) throws(Fault) -> SpentTransaction {
        let environments = policy.environments
        let only = environments.count == 1 ? environments.first : nil
        let environment = try text(.environment).map { (text) throws(Fault) in
            guard let environment = AppStoreEnvironment(rawValue: text) else {
                throw Fault(message: "'environment' must be 'production' or 'sandbox'")
            }
            return environment
        }
        guard let environment = environment ?? only else { throw Fault(message: "'environment' is missing") }
        let bundleIDs = policy.bundleIDs?.map(UTF8Bytes.init)
        guard let bundleID = text(.bundleID) ?? (bundleIDs?.count == 1 ? bundleIDs?.first?.string : nil) else {
            throw Fault(message: "'bundle_id' is missing")
        }
        guard environments.contains(environment), bundleIDs?.contains(UTF8Bytes(bundleID)) ?? true else {
            throw Fault(message: "the app or the environment is none of --bundle-id and --environment")
        }
        let quantity = text(.quantity) ?? "1"
        guard let number = Int64(quantity), number > 0 else {
            throw Fault(message: "'quantity' must be a number greater than 0")
        }
        let date = try required(.date)
        guard let date = Instant(specified: date) ?? Int64(date).map(Instant.init(millisecondsSince1970:)) else {
            throw Fault(message: "'date' must be \(Instant.specifiedSyntax), or milliseconds since 1970")
        }
        guard date >= Self.appStoreOpening else {
            throw Fault(
                message:
                    "'date' is before the App Store opened (2008-07-10); a number is milliseconds since 1970, not seconds"
            )
        }
        let spent = SpentTransaction(
            account: account, environment: environment, bundleID: bundleID,
            transactionID: try required(.transactionID), originalTransactionID: text(.originalTransactionID),
            productID: try required(.productID), quantity: number, date: date)
        guard let spent else { throw Fault(message: "a text must have 1 to 255 bytes without NUL") }
        return spent
    }
}

extension ImportRecord.Fault {
    fileprivate static let unknownColumn = Self(
        message: "an unknown name; there are "
            + ImportRecord.Column.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "))
}
