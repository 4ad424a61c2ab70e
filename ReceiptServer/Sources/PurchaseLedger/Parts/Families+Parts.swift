import AppStoreReceipt
import StrictText

/// Large subscriptions. Only the parts that decide are loaded.
extension Families {
    /// Returns what to ask about those that are divided, unless a request may join them with others.
    func partsQuestions(
        _ requests: [BroughtEvidence], _ groups: [[TransactionKey]], at now: Instant
    ) -> [PartsQuestion] {
        // A grace period can reach into any part.
        guard !divided.isEmpty, renamed.isEmpty,
            requests.allSatisfy({ $0.renewals.allSatisfy { $0.gracePeriodExpiresDate == nil } })
        else { return [] }
        var joined = splitFamilies
        for group in groups {
            let families = Set(group.compactMap { identifiers[$0] })
            if families.count > 1 { joined.formUnion(families) }
        }
        var brought: [Int64: [(purchase: Purchase, keys: PurchaseKeys)]] = [:]
        for case (let purchase, let keys?) in requests.flatMap(\.purchases) {
            guard let family = keys.all.lazy.compactMap({ identifiers[$0] }).first, divided[family] != nil else {
                continue
            }
            brought[family, default: []].append((purchase.purchase, keys))
        }
        return divided.filter { !joined.contains($0.key) }.sorted { $0.key < $1.key }.compactMap { family, original in
            PartsQuestion(family, original, brought[family] ?? [], at: now)
        }
    }

    /// Loads the parts that decide, or the whole where it does.
    ///
    /// - Parameter answers: The answers to all that was asked.
    mutating func loadParts(_ asked: [PartsQuestion], _ answers: ArraySlice<[SQLRow]>) throws(LedgerError) {
        let dialect = connection.dialect
        var answers = answers
        var loads: [(family: Int64, parts: StoredParts, renewal: SubscriptionRenewal?)] = []
        var whole: [Int64] = []
        for question in asked {
            let count = question.questions(dialect).count
            // The answer to a claim of a family depends on all its evidence.
            if let family = byID[question.family], family.account != nil,
                family.subscription == question.original.transactionID,
                let (parts, renewal) = try question.parts(answers.prefix(count))
            {
                loads.append((family.id, parts, renewal))
            } else {
                whole.append(question.family)
            }
            answers = answers.dropFirst(count)
        }
        // What only changes of the division need.
        let changing = connection.isSnapshot ? [] : loads.map(\.family)
        let changingWhole =
            connection.isSnapshot
            ? [] : byID.values.filter { $0.subscription != nil && !changing.contains($0.id) }.map(\.id)
        var questions = loads.flatMap {
            FamilyContents.questions($0.family, parts: Array($0.parts.parts.keys), dialect)
        }
        questions += FamilyContents.questions(whole, dialect)
        for load in loads where !connection.isSnapshot {
            questions.append(StoredParts.periods(load.family, parts: Array(load.parts.parts.keys), dialect))
        }
        for family in changingWhole {
            questions.append(
                SQLQuestion(
                    "SELECT begins_at, ends_at, changes_at FROM parts WHERE family_id = $1", [.integer(family)]))
            questions.append(StoredParts.periods(family, parts: nil, dialect))
        }
        guard questions.contains(where: { !$0.statements.isEmpty }) || !loads.isEmpty else { return }
        var rows = try connection.run(questions)[...]
        for (family, _, renewal) in loads {
            contents[family] = try FamilyContents(parts: rows.prefix(2), renewal)
            rows = rows.dropFirst(2)
        }
        contents.merge(try FamilyContents.contents(of: whole, rows.prefix(3))) { $1 }
        rows = rows.dropFirst(3)
        for load in loads where !connection.isSnapshot {
            var parts = load.parts
            try parts.addPeriods(rows.popFirst() ?? [])
            stored[load.family] = parts
        }
        for family in changingWhole {
            var parts = StoredParts()
            for row in rows.popFirst() ?? [] { try parts.addPart(row) }
            try parts.addPeriods(rows.popFirst() ?? [])
            stored[family] = parts
        }
    }

    /// Keeps how a subscription is divided.
    ///
    /// - Parameters:
    ///   - parts: The loaded ones; `nil` if it is not divided any more.
    ///   - changes: When time alone changes what is decided about a transaction.
    func keep(
        _ parts: SubscriptionParts?, of family: Family, _ changes: [TransactionKey: Instant]
    ) throws(LedgerError) {
        guard let parts, family.subscription ?? parts.original == parts.original else {
            return family.subscription == nil ? () : try undivide(family.id)
        }
        let id = SQLValue.integer(family.id)
        if family.subscription == nil {
            try connection.write(
                "UPDATE families SET subscription = $2 WHERE id = $1", [id, .text(parts.original.string)])
        }
        let known = stored[family.id] ?? StoredParts()
        var old = known.parts
        for part in parts.parts {
            let (begin, end) = (part.span.lowerBound, part.span.upperBound)
            let changesAt = part.transactions.compactMap { changes[$0] }.min()
            let new = StoredParts.Part(end: end, changesAt: changesAt?.millisecondsSince1970)
            if old.removeValue(forKey: begin) != new {
                try connection.write(
                    """
                    INSERT INTO parts VALUES ($1, $2, $3, $4)
                    ON CONFLICT (family_id, begins_at) DO UPDATE
                    SET ends_at = excluded.ends_at, changes_at = excluded.changes_at
                    """, [id, .integer(begin), .integer(end), changesAt.map(SQLValue.init) ?? .null])
            }
            for key in part.transactions {
                let period = StoredParts.Period(part: begin, lineItem: parts.lineItems[key])
                guard known.periods[key] != period else { continue }
                try connection.write(
                    """
                    INSERT INTO periods VALUES ($1, $2, $3, $4, $5, $6)
                    ON CONFLICT (environment, bundle_id, transaction_id) DO UPDATE
                    SET part = excluded.part, line_item = excluded.line_item
                    """, key.columns + [id, .integer(begin), SQLValue(period.lineItem?.string)])
            }
        }
        for begin in old.keys {
            try connection.write(
                "DELETE FROM parts WHERE family_id = $1 AND begins_at = $2", [id, .integer(begin)])
        }
    }

    /// What is not divided is loaded as a whole.
    func undivide(_ family: Int64) throws(LedgerError) {
        for statement in [
            "DELETE FROM parts WHERE family_id = $1", "DELETE FROM periods WHERE family_id = $1",
            "UPDATE families SET subscription = NULL WHERE id = $1",
        ] {
            try connection.write(statement, [.integer(family)])
        }
    }
}
