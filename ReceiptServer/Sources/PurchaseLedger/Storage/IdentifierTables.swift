/// The changes of versions 12 to 14: the other tables name a transaction by its number in `identifiers`.
enum IdentifierTables {
    /// A copied table has no statistics. Without them, PostgreSQL may read all of it for a request.
    static let statistics = "ANALYZE identifiers, evidence, grants, due_moments, periods, unordered_purchases"

    /// Returns the statements that give transactions their numbers.
    static func numbers(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            "ALTER TABLE identifiers RENAME TO old_identifiers",
            // Renewal information doesn't name an app, so the transaction comes first in the key.
            """
            CREATE TABLE identifiers (id \(dialect.rowNumber), environment \(text) NOT NULL, bundle_id \(text) NOT NULL,
                transaction_id \(text) NOT NULL, family_id BIGINT NOT NULL REFERENCES families (id),
                UNIQUE (transaction_id, bundle_id, environment))
            """,
            """
            INSERT INTO identifiers (environment, bundle_id, transaction_id, family_id)
            SELECT environment, bundle_id, transaction_id, family_id FROM old_identifiers
            """,
            "DROP TABLE old_identifiers",
            "CREATE INDEX identifiers_of_family ON identifiers (family_id)",
        ]
    }

    static func evidence(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return replacing(
            "evidence", copying: "variant, signed_date, purchase, signer",
            """
            CREATE TABLE evidence (identifier_id BIGINT NOT NULL, variant BIGINT NOT NULL, signed_date BIGINT NOT NULL,
                purchase \(text) NOT NULL, signer \(text), PRIMARY KEY (identifier_id, variant))
            """)
    }

    static func grants(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return replacing(
            "grants",
            copying: """
                product_id, account, quantity, granted_quantity, granted_at, changed_at, voided_at, until,
                adjusted_quantity, adjusted_from, seats, import_id, original_transaction_id, gives_no_access
                """,
            """
            CREATE TABLE grants (identifier_id BIGINT NOT NULL PRIMARY KEY, product_id \(text) NOT NULL,
                account \(text) NOT NULL, quantity BIGINT NOT NULL, granted_quantity BIGINT NOT NULL,
                granted_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, voided_at BIGINT, until BIGINT,
                adjusted_quantity BIGINT, adjusted_from BIGINT, seats BIGINT, import_id BIGINT,
                original_transaction_id \(text), gives_no_access BIGINT)\(dialect.inPrimaryKey)
            """,
            "CREATE INDEX grants_of_account ON grants (account)",
            "CREATE INDEX grants_lasting ON grants (account) WHERE gives_no_access IS NULL")
    }

    static func dueMoments(_ dialect: SQLDialect) -> [String] {
        replacing(
            "due_moments", copying: "due_at",
            """
            CREATE TABLE due_moments (identifier_id BIGINT NOT NULL PRIMARY KEY, due_at BIGINT NOT NULL)\
            \(dialect.inPrimaryKey)
            """,
            "CREATE INDEX due_moments_by_date ON due_moments (due_at)")
    }

    static func periods(_ dialect: SQLDialect) -> [String] {
        replacing(
            "periods", copying: "old_periods.family_id, part, line_item, ends_at, changes_at",
            """
            CREATE TABLE periods (identifier_id BIGINT NOT NULL PRIMARY KEY, family_id BIGINT NOT NULL,
                part BIGINT NOT NULL, line_item \(dialect.text), ends_at BIGINT, changes_at BIGINT)\
            \(dialect.inPrimaryKey)
            """,
            "CREATE INDEX periods_of_part ON periods (family_id, part)",
            "CREATE INDEX periods_of_line_item ON periods (family_id, line_item) WHERE line_item IS NOT NULL",
            "CREATE INDEX periods_changing ON periods (family_id, changes_at) WHERE changes_at IS NOT NULL")
    }

    static func unorderedPurchases(_ dialect: SQLDialect) -> [String] {
        replacing(
            "unordered_purchases", copying: "granted_at",
            """
            CREATE TABLE unordered_purchases (identifier_id BIGINT NOT NULL PRIMARY KEY, granted_at BIGINT NOT NULL)\
            \(dialect.inPrimaryKey)
            """,
            "CREATE INDEX unordered_purchases_by_date ON unordered_purchases (granted_at)")
    }

    /// Returns the statements that copy a table about transactions. They fail if a row is of a transaction without a
    /// number.
    private static func replacing(
        _ table: String, copying columns: String, _ definition: String, _ indexes: String...
    ) -> [String] {
        [
            "ALTER TABLE \(table) RENAME TO old_\(table)", definition,
            """
            INSERT INTO \(table) SELECT identifiers.id, \(columns) FROM old_\(table)
            LEFT JOIN identifiers ON identifiers.environment = old_\(table).environment
                AND identifiers.bundle_id = old_\(table).bundle_id
                AND identifiers.transaction_id = old_\(table).transaction_id
            """,
            "DROP TABLE old_\(table)",
        ] + indexes
    }
}
