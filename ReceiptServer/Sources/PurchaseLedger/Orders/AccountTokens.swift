@_spi(Ledger) import AppStoreReceipt
import StrictText

/// What the tables have about the tokens of some families: whose they are, and which wait.
struct AccountTokens {
    /// The account of a token.
    struct Holder {
        let account: String
        /// Whether the account was deleted: the name is a random one (R13).
        let isRetired: Bool
    }

    /// What is noted of a token of a family.
    enum Note {
        /// Nobody has the token.
        case waiting
        /// It is another account's than the owner's, and the conflict was reported.
        case told
    }

    private struct Place: Hashable {
        let token: AppAccountToken
        let family: Int64
    }

    private var holders: [AppAccountToken: Holder] = [:]
    private var notes: [Place: Note] = [:]

    /// The token of a purchase. A text of another form than a UUID's, which Apple signs for nobody, is none.
    static func token(of purchase: Purchase) -> AppAccountToken? {
        purchase.appAccountToken.flatMap { AppAccountToken(uuid: $0.description) }
    }

    subscript(token: AppAccountToken) -> Holder? { holders[token] }

    func note(_ token: AppAccountToken, _ family: Int64) -> Note? { notes[Place(token: token, family: family)] }

    /// A token that becomes an account's.
    struct Registration {
        let token: AppAccountToken
        let account: String
        let isMade: Bool
    }

    /// The statements that lock tokens, and ask for them. Locks of tokens are taken after those of families and
    /// identifiers, and before those of accounts that get events.
    ///
    /// Readers of a token and its registration exclude each other. Otherwise a purchase could be recorded as waiting
    /// when its token has just been stored.
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

        /// Reads the answers to ``statements``.
        ///
        /// - Throws: A conflict if another transaction registered the token, or noted it of another family, at the same
        ///   time.
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
    /// Records that a token of a family waits for its account, or that its conflict was reported; or, without a note,
    /// neither.
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

    /// Moves what is noted of a family to the one that it is joined with.
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
