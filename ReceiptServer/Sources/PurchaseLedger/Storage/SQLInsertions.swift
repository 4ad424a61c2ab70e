import StrictText

/// Merges statements that insert rows into one table in the same way, because each statement has a cost.
struct SQLInsertions {
    /// The maximum number of rows in a statement. A statement is prepared for each power of two.
    private static let maximumRowCount = 32

    /// The kind of a statement, for deciding which ones it can be moved ahead of.
    private enum Kind {
        /// `INSERT INTO table … VALUES (…)`, with nothing after the row except a clause that keeps an existing row.
        case insertion(table: UTF8Bytes, head: String, row: String, tail: String)
        /// `UPDATE table …` or `DELETE FROM table …`.
        case change(table: UTF8Bytes)
        case other
    }

    private struct Rows {
        let text: String
        let kind: Kind
        var rows: [[SQLValue]]
    }

    private var kinds: [String: Kind] = [:]
    private var texts: [String: [Int: String]] = [:]

    /// Returns equivalent statements. An insertion can move ahead of statements for other tables, but not of changes to
    /// its own.
    mutating func merged(_ statements: [SQLStatement]) -> [SQLStatement] {
        guard statements.count > 2 else { return statements }
        var merged: [Rows] = []
        var open: [UTF8Bytes: Int] = [:]
        for statement in statements {
            let kind = kinds[statement.text] ?? Self.kind(statement.text)
            kinds[statement.text] = kind
            switch kind {
            case .insertion(let table, _, _, _):
                if let index = open[table], merged[index].text.hasSameBytes(as: statement.text) {
                    merged[index].rows.append(statement.parameters)
                    continue
                }
                open[table] = merged.count
            case .change(let table): open[table] = nil
            case .other: open = [:]
            }
            merged.append(Rows(text: statement.text, kind: kind, rows: [statement.parameters]))
        }
        return merged.flatMap { self.statements($0) }
    }

    private mutating func statements(_ all: Rows) -> [SQLStatement] {
        guard case .insertion(_, let head, let row, let tail) = all.kind, all.rows.count > 1 else {
            return all.rows.map { SQLStatement(all.text, $0) }
        }
        var statements: [SQLStatement] = []
        var rest = all.rows[...]
        var count = Self.maximumRowCount
        while !rest.isEmpty {
            while count > rest.count { count /= 2 }
            let text =
                texts[all.text]?[count]
                ?? head + (0..<count).map { Self.row(row, from: $0 * all.rows[0].count) }.joined(separator: ", ")
                + tail
            texts[all.text, default: [:]][count] = text
            statements.append(SQLStatement(text, Array(rest.prefix(count).joined())))
            rest = rest.dropFirst(count)
        }
        return statements
    }

    private static func kind(_ text: String) -> Kind {
        func table(after words: String) -> UTF8Bytes? {
            guard text.utf8.starts(with: words.utf8) else { return nil }
            return UTF8Bytes(Array(text.utf8.dropFirst(words.utf8.count).prefix { $0 > 0x20 })[...])
        }
        if let table = table(after: "UPDATE ") ?? table(after: "DELETE FROM ") { return .change(table: table) }
        let bytes = Array(text.utf8)
        guard let table = table(after: "INSERT INTO "), let values = bytes.firstRange(of: Array("VALUES (".utf8)) else {
            return .other
        }
        // The row contains no function calls.
        guard let end = bytes[values.upperBound...].firstIndex(of: UInt8(ascii: ")")),
            !bytes[values.upperBound..<end].contains(UInt8(ascii: "("))
        else { return .other }
        let tail = bytes[(end + 1)...]
        guard tail.isEmpty || tail.elementsEqual(" ON CONFLICT DO NOTHING".utf8) else { return .other }
        return .insertion(
            table: table, head: String(decoding: bytes[..<(values.upperBound - 1)], as: UTF8.self),
            row: String(decoding: bytes[(values.upperBound - 1)...end], as: UTF8.self),
            tail: String(decoding: tail, as: UTF8.self))
    }

    /// Returns the row with renumbered parameters.
    private static func row(_ row: String, from first: Int) -> String {
        let parts = row.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
        let numbered = parts.dropFirst().map { part in
            let digits = part.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            return "$\((Int(String(decoding: digits, as: UTF8.self)) ?? 0) + first)"
                + String(decoding: part.dropFirst(digits.count), as: UTF8.self)
        }
        return String(decoding: parts[0], as: UTF8.self) + numbered.joined()
    }
}
