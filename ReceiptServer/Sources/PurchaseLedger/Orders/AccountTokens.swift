@_spi(Ledger) import AppStoreReceipt
import StrictText

/// The stored data about the tokens of some lineages: their accounts, and the tokens that wait for an account.
struct AccountTokens {
    /// The account of a token.
    struct Holder {
        let account: String
        /// Whether the account was deleted, so that the name is a random one (R13).
        let isRetired: Bool
    }

    /// The state of a token in a lineage.
    enum Note {
        /// The token belongs to no account yet.
        case waiting
        /// It belongs to an account other than the owner, and the conflict was reported.
        case told
    }

    private struct Place: Hashable {
        let token: AppAccountToken
        let family: Int64
    }

    private var holders: [AppAccountToken: Holder] = [:]
    private var notes: [Place: Note] = [:]

    /// Returns the token of a purchase, or `nil` if it isn't a UUID. Apple never signs any other form.
    static func token(of purchase: Purchase) -> AppAccountToken? {
        purchase.appAccountToken.flatMap { AppAccountToken(uuid: $0.description) }
    }

    subscript(token: AppAccountToken) -> Holder? { holders[token] }

    func note(_ token: AppAccountToken, _ family: Int64) -> Note? { notes[Place(token: token, family: family)] }

    /// A token that will belong to an account.
    struct Registration {
        let token: AppAccountToken
        let account: String
        let isMade: Bool
    }

    /// The statements that lock and read tokens. Locks of tokens are taken after those of lineages and identifiers, and
    /// before those of accounts that get events.
    ///
    /// Readers of a token and its registration exclude each other. Otherwise, a purchase could be recorded as waiting
    /// just after its token was registered.
    struct Lookup {
        private let locks: [SQLStatement]
        private let registration: Registration?
        private let insertion: [SQLStatement]
        private let questions: [SQLQuestion]
        private let families: Set<Int64>

        init(
            _ tokens: Set<AppAccountToken>, _ families: [Int64], registering registration: Registration?,
            _ dialect: SQLDialect, at now: Instant
        ) {
            self.registration = registration
            self.families = Set(families)
            let registered = Set([registration?.token].compactMap(\.self))
            let all = tokens.union(registered).map(\.description)
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            locks = TokenLocks.statements(reading: tokens, writing: registered, dialect)
            insertion =
                registration.map { registration in
                    [
                        SQLStatement(
                            """
                            INSERT INTO account_tokens VALUES ($1, $2, $3, $4, NULL)
                            ON CONFLICT (token) DO NOTHING RETURNING token
                            """,
                            [
                                .text(registration.token.description), .text(registration.account),
                                .text(registration.isMade ? "made" : "stored"), SQLValue(now),
                            ]),
                        SQLStatement(
                            "SELECT family_id FROM waiting_tokens WHERE token = $1",
                            [.text(registration.token.description)]),
                    ]
                } ?? []
            questions = [
                SQLQuestion(
                    "SELECT token, account, retired_at FROM account_tokens WHERE token \(dialect.oneOf("$1", all.count))",
                    oneOf: all.map(SQLValue.text), dialect),
                SQLQuestion(
                    "SELECT family_id, token, told_at FROM waiting_tokens WHERE family_id \(dialect.oneOf("$1", families.count))",
                    oneOf: families.map(SQLValue.integer), dialect),
            ]
        }

        var statements: [SQLStatement] { locks + insertion + questions.flatMap(\.statements) }

        /// Reads the results of ``statements``.
        ///
        /// - Throws: A conflict if another transaction registered the token, or recorded that another lineage waits for
        ///   it, at the same time.
        func read(_ rows: some Collection<[SQLRow]>) throws(LedgerError) -> AccountTokens {
            var answers = Array(rows.dropFirst(locks.count))[...]
            if registration != nil, let inserted = answers.popFirst(), let waiting = answers.popFirst() {
                guard !inserted.isEmpty else { throw .conflict }
                for row in waiting { guard try families.contains(row.integer(0)) else { throw .conflict } }
            }
            var tokens = AccountTokens()
            let count = questions[0].statements.count
            for row in answers.prefix(count).joined() {
                tokens.holders[AppAccountToken(signed: try row.text(0))] = Holder(
                    account: try row.text(1), isRetired: try row.optionalDate(2) != nil)
            }
            for row in answers.dropFirst(count).joined() {
                let place = Place(token: AppAccountToken(signed: try row.text(1)), family: try row.integer(0))
                tokens.notes[place] = try row.optionalDate(2) == nil ? .waiting : .told
            }
            return tokens
        }
    }
}

extension SQLConnection {
    /// Records that a token of a lineage waits for its account, or that its conflict was reported. Without a note,
    /// removes either record.
    func note(
        _ note: AccountTokens.Note?, _ token: AppAccountToken, _ family: Int64, at now: Instant
    ) throws(LedgerError) {
        let key: [SQLValue] = [.text(token.description), .integer(family)]
        guard let note else {
            return try write("DELETE FROM waiting_tokens WHERE token = $1 AND family_id = $2", key)
        }
        try write(
            """
            INSERT INTO waiting_tokens VALUES ($1, $2, $3)
            ON CONFLICT (token, family_id) DO UPDATE SET told_at = excluded.told_at
            """, key + [note == .told ? SQLValue(now) : .null])
    }

    /// Moves the notes of a lineage to the one that it is merged with.
    func moveNotes(from family: Int64, to other: Int64) throws(LedgerError) {
        try write(
            """
            INSERT INTO waiting_tokens SELECT token, CAST($2 AS BIGINT), told_at FROM waiting_tokens WHERE family_id = $1
            ON CONFLICT DO NOTHING
            """, [.integer(family), .integer(other)])
        try write("DELETE FROM waiting_tokens WHERE family_id = $1", [.integer(family)])
    }

    /// Locks the tokens of an account, and returns them.
    ///
    /// - Throws: A conflict if the account gets or loses one at the same time.
    func lockTokens(of account: String) throws(LedgerError) -> [AppAccountToken] {
        func tokens() throws(LedgerError) -> [AppAccountToken] {
            try run("SELECT token FROM account_tokens WHERE account = $1 ORDER BY token", [.text(account)]).map {
                (row) throws(LedgerError) in AppAccountToken(signed: try row.text(0))
            }
        }
        let found = try tokens()
        for lock in TokenLocks.statements(writing: Set(found), dialect) { try write(lock.text, lock.parameters) }
        guard try tokens() == found else { throw .conflict }
        return found
    }
}
