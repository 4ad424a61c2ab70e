import AppStoreReceipt
import ServerThreads
import StrictText

/// The statements that turn the stored lineages into the decided ones. No others write lineages.
struct LineageWriter {
    private let stored: Lineages
    private let decided: Lineages
    private let structure: StructuralChanges
    private let dialect: SQLDialect
    private let now: Instant
    private(set) var statements: [SQLStatement] = []

    /// - Parameters:
    ///   - stored: The loaded lineages.
    ///   - decided: The same lineages after the decision.
    ///   - now: The date of the change.
    init(from stored: Lineages, to decided: Lineages, _ dialect: SQLDialect, at now: Instant) throws(LedgerError) {
        (self.stored, self.decided, self.dialect, self.now) = (stored, decided, dialect, now)
        structure = decided.structure
        try writeStructure()
        try writeLineages()
        writeEvidence()
        writeRenewals()
        writeGrants()
        writeTokenNotes()
        for id in decided.byID.keys.sorted() { writeDivision(of: id) }
    }

    private mutating func run(_ text: String, _ parameters: [SQLValue]) {
        statements.append(SQLStatement(text, parameters))
    }

    private mutating func insert(_ table: String, _ rows: [[SQLValue]], _ tail: String = "") {
        statements += SQLInsertion(table, tail).statements(rows)
    }

    private static let identifiers = "identifiers (environment, bundle_id, transaction_id, family_id)"
    private static let isKey = "identifier_id = \(TransactionKey.id)"

    /// Returns the contents of all lineages by transaction.
    private func flattened<Value>(
        _ lineages: Lineages, _ contents: (Lineage) -> [TransactionKey: Value]
    ) -> [TransactionKey: Value] {
        if lineages.byID.count == 1, let lineage = lineages.byID.values.first { return contents(lineage) }
        return lineages.byID.values.reduce(into: [:]) { $0.merge(contents($1)) { first, _ in first } }
    }

    // MARK: Lineages

    private mutating func writeStructure() throws(LedgerError) {
        for id in structure.undivided where stored.byID[id] != nil {
            run("DELETE FROM periods WHERE family_id = $1", [.integer(id)])
        }
        try insert(structure.created.filter { !isClaimedNow($0) })
        // Claims get their numbers in this order.
        var claimed: [Int64] = []
        for id in structure.claimed where isClaimedNow(id) {
            if structure.created.contains(id) {
                claimed.append(id)
                continue
            }
            try insert(claimed)
            claimed = []
            try updateLineage(id)
        }
        try insert(claimed)
        for (from, into) in structure.merged { join(from, into) }
        insert(
            Self.identifiers,
            structure.inserted.sorted().map {
                $0.columns + [decided.identifiers[$0].map(SQLValue.integer) ?? .null]
            })
        for key in structure.moved {
            run(
                """
                UPDATE identifiers SET family_id = $4
                WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
                """,
                key.columns + [decided.identifiers[key].map(SQLValue.integer) ?? .null])
        }
        insert(
            Self.identifiers, structure.names.map { $0.key.columns + [.integer($0.lineage)] }, " ON CONFLICT DO NOTHING"
        )
        insert(
            "uncertain_claims", structure.uncertain.map { [.integer($0), SQLValue(now)] }, " ON CONFLICT DO NOTHING")
        insert(
            "transfers (family_id, from_account, to_account, reason, transferred_at)",
            structure.transfers.map {
                [.integer($0.lineage), .text($0.from), .text($0.to), .text($0.reason), SQLValue(now)]
            })
    }

    private mutating func join(_ from: Int64, _ into: Int64) {
        let ids = [SQLValue.integer(from), .integer(into)]
        run("UPDATE identifiers SET family_id = $2 WHERE family_id = $1", ids)
        run(
            """
            INSERT INTO waiting_tokens SELECT token, CAST($2 AS BIGINT), told_at FROM waiting_tokens WHERE family_id = $1
            ON CONFLICT DO NOTHING
            """, ids)
        run("DELETE FROM waiting_tokens WHERE family_id = $1", [ids[0]])
        run(
            """
            UPDATE uncertain_claims SET family_id = $2 WHERE family_id = $1
                AND NOT EXISTS (SELECT 1 FROM uncertain_claims WHERE family_id = $2)
            """, ids)
        // SQLite reuses the number.
        run("UPDATE transfers SET family_id = $2 WHERE family_id = $1", ids)
        run("DELETE FROM families WHERE id = $1", [ids[0]])
    }

    /// The values of a lineage's row, except `claim_number`.
    private static func values(_ lineage: Lineage) throws(LedgerError) -> [SQLValue] {
        let lifecycle = try lineage.lifecycle.map { (state) throws(LedgerError) in try StoredJSON.encode(state) }
        return [
            .integer(lineage.id), SQLValue(lineage.owner?.account),
            lineage.owner.map { SQLValue($0.claimedAt) } ?? .null, SQLValue(lineage.owner?.basis?.json),
            lineage.isOfMember ? .integer(1) : .null,
            SQLValue(lifecycle), SQLValue(lineage.division?.original.string),
            lineage.division?.areTokensNoted ?? false ? .integer(1) : .null,
            lineage.givesNoAccess ? .integer(1) : .null,
        ]
    }

    /// Whether a lineage got an owner whose claim the database numbers.
    private func isClaimedNow(_ id: Int64) -> Bool {
        guard let owner = decided.byID[id]?.owner, case .last = owner.order else { return false }
        return true
    }

    private static func claimNumber(_ lineage: Lineage) -> SQLValue? { lineage.owner.map { $0.order.column } ?? .null }

    /// Inserts lineages whose claims have numbers, or whose claims the database numbers in this order.
    private mutating func insert(_ ids: [Int64]) throws(LedgerError) {
        let table = """
            families (id, account, claimed_at, basis, is_member, lifecycle, subscription, tokens_noted, gives_no_access,
                claim_number)
            """
        var expression: String?
        var rows: [[SQLValue]] = []
        for lineage in decided.with(ids) {
            let number = Self.claimNumber(lineage)
            if number == nil { expression = dialect.nextClaimNumber }
            rows.append(try Self.values(lineage) + (number.map { [$0] } ?? []))
        }
        statements += SQLInsertion(table, numbering: expression, dialect).statements(rows)
    }

    private mutating func writeLineages() throws(LedgerError) {
        let changed = decided.byID.filter { id, lineage in
            !isClaimedNow(id) && stored.byID[id].map { Self.haveDifferentRows($0, lineage) } ?? false
        }
        for (id, lineage) in changed.sorted(by: { $0.key < $1.key }) {
            guard var renamed = stored.byID[id] else { continue }
            renamed.owner?.account = lineage.owner?.account ?? ""
            if Self.haveDifferentRows(renamed, lineage) {
                try updateLineage(id)
            } else {
                // A deletion reads no evidence, and so does not know whether the lineage gives access.
                run("UPDATE families SET account = $2 WHERE id = $1", [.integer(id), SQLValue(lineage.owner?.account)])
            }
        }
    }

    private static func haveDifferentRows(_ first: Lineage, _ second: Lineage) -> Bool {
        first.owner != second.owner || first.isOfMember != second.isOfMember || first.lifecycle != second.lifecycle
            || first.division?.original != second.division?.original
            || first.division?.areTokensNoted != second.division?.areTokensNoted
            || first.givesNoAccess != second.givesNoAccess
    }

    private mutating func updateLineage(_ id: Int64) throws(LedgerError) {
        guard let lineage = decided.byID[id] else { return }
        let number = Self.claimNumber(lineage)
        run(
            """
            UPDATE families SET account = $2, claimed_at = $3, basis = $4, is_member = $5, lifecycle = $6,
                subscription = $7, tokens_noted = $8, gives_no_access = $9,
                claim_number = \(number == nil ? dialect.nextClaimNumber : "$10")
            WHERE id = $1
            """, try Self.values(lineage) + (number.map { [$0] } ?? []))
    }

    // MARK: Evidence

    private static let evidenceTable: String = {
        let columns = ["identifier_id", "variant", "signer"] + Purchase.storedColumns
        return "evidence (\(columns.joined(separator: ", ")))"
    }()

    private mutating func writeEvidence() {
        let before = flattened(stored) { $0.evidence }
        let changed = flattened(decided) { $0.evidence }.filter { before[$0.key] != $0.value }
        var inserted: [[SQLValue]] = []
        for (key, variants) in changed.sorted(by: { $0.key < $1.key }) {
            let known = before[key] ?? []
            for variant in known where !variants.contains(where: { $0.number == variant.number }) {
                run(
                    "DELETE FROM evidence WHERE \(Self.isKey) AND variant = $4",
                    key.columns + [.integer(variant.number)])
            }
            for variant in variants {
                guard let old = known.first(where: { $0.number == variant.number }) else {
                    inserted.append(
                        key.columns + [.integer(variant.number), SQLValue(variant.signer)]
                            + variant.purchase.storedValues)
                    continue
                }
                guard old.purchase != variant.purchase else { continue }
                run(
                    "UPDATE evidence SET \(Purchase.changes) WHERE \(Self.isKey) AND variant = $4",
                    key.columns + [.integer(variant.number)] + variant.purchase.storedValues)
            }
        }
        statements += SQLInsertion(Self.evidenceTable, ofTransactions: true).statements(inserted)
    }

    private mutating func writeRenewals() {
        for (key, renewal) in decided.renewals.sorted(by: { $0.key < $1.key }) where stored.renewals[key] != renewal {
            run(
                """
                INSERT INTO renewals VALUES ($1, $2, $3, $4)
                ON CONFLICT (environment, original_transaction_id) DO UPDATE
                SET signed_date = excluded.signed_date, renewal = excluded.renewal
                WHERE renewals.signed_date <= excluded.signed_date
                """,
                [
                    .text(key.environment.rawValue), .text(key.originalTransactionID.string),
                    SQLValue(renewal.signedDate), .text(StoredJSON.encode(renewal)),
                ])
        }
    }

    // MARK: Grants

    private static let grantsTable: String = {
        let columns =
            ["identifier_id"] + Grant.changingColumns + Grant.lastingColumns + ["gives_no_access"]
        return "grants (\(columns.joined(separator: ", ")))"
    }()

    private mutating func writeGrants() {
        var before = flattened(stored) { $0.grants }
        for key in structure.lost.map(\.grant.transaction).sorted() {
            run("DELETE FROM grants WHERE \(Self.isKey)", key.columns)
            before[key] = nil
        }
        let changed = flattened(decided) { $0.grants }.filter { key, grant in
            grant.changedAt != nil || before[key].map { !$0.account.hasSameBytes(as: grant.account) } ?? true
        }
        var inserted: [[SQLValue]] = []
        for (key, grant) in changed.sorted(by: { $0.key < $1.key }) {
            if before[key] == nil {
                let noAccess = decided[key]?.givesNoAccess ?? false ? SQLValue.integer(1) : .null
                inserted.append(key.columns + grant.changingValues + grant.lastingValues + [noAccess])
            } else if grant.changedAt != nil {
                run("UPDATE grants SET \(Grant.changes) WHERE \(Self.isKey)", key.columns + grant.changingValues)
            } else {
                // The account was deleted. Nothing else of its grants changed.
                run("UPDATE grants SET account = $4 WHERE \(Self.isKey)", key.columns + [.text(grant.account)])
            }
        }
        statements += SQLInsertion(Self.grantsTable, ofTransactions: true).statements(inserted)
        writeAccess(of: before)
    }

    /// - Parameter grants: Those with a row.
    private mutating func writeAccess(of grants: [TransactionKey: Grant]) {
        // The column of a grant that stays in its lineage changes only if the lineage does.
        let isSame =
            structure.merged.isEmpty && structure.moved.isEmpty
            && decided.byID.allSatisfy { id, lineage in
                stored.byID[id].map { $0.givesNoAccess == lineage.givesNoAccess } ?? true
            }
        guard !isSame else { return }
        let (gaveNoAccess, giveNoAccess) = (Self.withoutAccess(stored), Self.withoutAccess(decided))
        for key in gaveNoAccess.symmetricDifference(giveNoAccess).sorted() where grants[key] != nil {
            run(
                "UPDATE grants SET gives_no_access = $4 WHERE \(Self.isKey)",
                key.columns + [giveNoAccess.contains(key) ? .integer(1) : .null])
        }
    }

    /// The granted transactions of lineages that give no access.
    private static func withoutAccess(_ lineages: Lineages) -> Set<TransactionKey> {
        Set(lineages.byID.values.lazy.filter(\.givesNoAccess).flatMap(\.grants.keys))
    }

    // MARK: Tokens

    private mutating func writeTokenNotes() {
        guard decided.holders != nil else { return }
        for (id, lineage) in decided.byID.sorted(by: { $0.key < $1.key }) {
            var before = stored.byID[id]?.tokenNotes ?? [:]
            for (from, into) in structure.merged where into == id {
                before.merge(stored.byID[from]?.tokenNotes ?? [:]) { mine, _ in mine }
            }
            guard before != lineage.tokenNotes else { continue }
            for token in before.keys where lineage.tokenNotes[token] == nil {
                run(
                    "DELETE FROM waiting_tokens WHERE token = $1 AND family_id = $2",
                    [.text(token.description), .integer(id)])
            }
            for (token, note) in lineage.tokenNotes where before[token] != note {
                run(
                    """
                    INSERT INTO waiting_tokens VALUES ($1, $2, $3)
                    ON CONFLICT (token, family_id) DO UPDATE SET told_at = excluded.told_at
                    """, [.text(token.description), .integer(id), note == .reported ? SQLValue(now) : .null])
            }
        }
    }

    // MARK: Large subscriptions

    private mutating func writeDivision(of id: Int64) {
        guard let periods = decided.byID[id]?.division?.periods else { return }
        let isNew = structure.undivided.contains(id)
        let before = isNew ? [:] : stored.byID[id]?.division?.periods ?? [:]
        for (key, period) in periods.filter({ before[$0.key] != $0.value }).sorted(by: { $0.key < $1.key }) {
            run(
                """
                INSERT INTO periods (identifier_id, family_id, part, ends_at, line_item, changes_at)
                VALUES (\(TransactionKey.id), $4, $5, $6, $7, $8)
                ON CONFLICT (identifier_id) DO UPDATE
                SET part = excluded.part, ends_at = excluded.ends_at, line_item = excluded.line_item,
                    changes_at = excluded.changes_at
                """, key.columns + [.integer(id)] + period.columns)
        }
    }
}

/// A statement that inserts rows into a table.
struct SQLInsertion {
    private let table: String
    private let tail: String
    /// Whether each row begins with the columns of a transaction: its number is inserted in their place.
    private let isOfTransactions: Bool
    /// The last value of each row, if it isn't a parameter.
    private let expression: String?
    /// A statement is prepared for each power of two up to this one.
    private let maximumRowCount: Int

    init(_ table: String, _ tail: String = "", ofTransactions isOfTransactions: Bool = false) {
        (self.table, self.tail, self.isOfTransactions) = (table, tail, isOfTransactions)
        (expression, maximumRowCount) = (nil, 32)
    }

    /// - Parameter expression: The next number of a sequence, for rows that have none. For SQLite, it is a query, which
    ///   doesn't see the other rows of its statement.
    init(_ table: String, numbering expression: String?, _ dialect: SQLDialect) {
        (self.table, tail, isOfTransactions, self.expression) = (table, "", false, expression)
        maximumRowCount = expression == nil || dialect.isServer ? 32 : 1
    }

    func statements(_ rows: [[SQLValue]]) -> [SQLStatement] {
        var statements: [SQLStatement] = []
        var rest = rows[...]
        var count = maximumRowCount
        while let first = rest.first {
            while count > rest.count { count /= 2 }
            let shape = Shape(
                table: table, tail: tail, isOfTransactions: isOfTransactions, expression: expression, rows: count,
                columns: first.count)
            statements.append(SQLStatement(Self.texts.text(shape), Array(rest.prefix(count).joined())))
            rest = rest.dropFirst(count)
        }
        return statements
    }

    private static let texts = Texts()

    private struct Shape: Hashable {
        let table: String
        let tail: String
        let isOfTransactions: Bool
        let expression: String?
        let rows: Int
        let columns: Int

        var text: String {
            var text = "INSERT INTO \(table) VALUES "
            for row in 0..<rows {
                var values = (1...columns).map { "$\(row * columns + $0)" }
                if isOfTransactions { values.replaceSubrange(..<3, with: [TransactionKey.id(at: row * columns + 1)]) }
                if let expression { values.append(expression) }
                text += "\(row == 0 ? "" : ", ")(\(values.joined(separator: ", ")))"
            }
            return text + tail
        }
    }

    /// The texts, each made once: every grant has several.
    private final class Texts: @unchecked Sendable {
        private let monitor = Monitor()
        /// Guarded by the monitor.
        private var known: [Shape: String] = [:]

        func text(_ shape: Shape) -> String {
            monitor.locked {
                if let text = known[shape] { return text }
                let text = shape.text
                known[shape] = text
                return text
            }
        }
    }
}
