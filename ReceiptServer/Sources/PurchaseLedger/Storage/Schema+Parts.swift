extension Schema {
    /// Returns the statements for dividing large subscriptions. The rows are inserted at a subscription's next write.
    static func parts(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            // The original transaction of a divided subscription.
            "ALTER TABLE families ADD COLUMN subscription \(text)",
            // The part that each transaction is in, identified by the date the part begins.
            """
            CREATE TABLE periods (environment \(text) NOT NULL, bundle_id \(text) NOT NULL,
                transaction_id \(text) NOT NULL, family_id BIGINT NOT NULL, part BIGINT NOT NULL, line_item \(text),
                PRIMARY KEY (environment, bundle_id, transaction_id))
            """,
            "CREATE INDEX periods_of_part ON periods (family_id, part)",
            "CREATE INDEX periods_of_line_item ON periods (family_id, line_item) WHERE line_item IS NOT NULL",
            // Until version 9. The period of each part, and the date from which time alone can change its decision;
            // NULL if only new evidence can.
            """
            CREATE TABLE parts (family_id BIGINT NOT NULL, begins_at BIGINT NOT NULL, ends_at BIGINT NOT NULL,
                changes_at BIGINT, PRIMARY KEY (family_id, begins_at))
            """,
            "CREATE INDEX parts_changing ON parts (family_id, changes_at) WHERE changes_at IS NOT NULL",
        ]
    }

    /// The end of each transaction's period, and when time alone changes what was decided about the transaction. Those
    /// of its part decide the same, and stay until the part is written.
    static let endsOfPeriods =
        ["ends_at", "changes_at"].map { "ALTER TABLE periods ADD COLUMN \($0) BIGINT" } + [
            """
            UPDATE periods SET
                ends_at = (SELECT parts.ends_at FROM parts
                    WHERE parts.family_id = periods.family_id AND parts.begins_at = periods.part),
                changes_at = (SELECT parts.changes_at FROM parts
                    WHERE parts.family_id = periods.family_id AND parts.begins_at = periods.part)
            """,
            "DROP TABLE parts",
            "CREATE INDEX periods_changing ON periods (family_id, changes_at) WHERE changes_at IS NOT NULL",
        ]

    /// 1 if the tokens of all parts of a divided subscription are noted in `waiting_tokens`.
    static let tokensOfParts = ["ALTER TABLE families ADD COLUMN tokens_noted BIGINT"]
}
