/// The tables of imports.
enum ImportTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            // The progress of imports.
            """
            CREATE TABLE imports (file \(text) PRIMARY KEY, bytes BIGINT NOT NULL, lines BIGINT NOT NULL,
                added BIGINT NOT NULL, known BIGINT NOT NULL, conflicts BIGINT NOT NULL, faults BIGINT NOT NULL)
            """
        ]
    }

    /// Returns the statements for the operator, the digest and the results of each import.
    static func runs(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            // The old table's progress identifies neither the operator nor the contents of the file.
            "DROP TABLE imports",
            """
            CREATE TABLE imports (id \(dialect.rowNumber), by_name \(text) NOT NULL, reason \(text),
                path \(text) NOT NULL, digest \(text) NOT NULL, started_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
                state \(text) NOT NULL, bytes BIGINT NOT NULL, lines BIGINT NOT NULL, added BIGINT NOT NULL,
                known BIGINT NOT NULL, conflicts BIGINT NOT NULL, faults BIGINT NOT NULL, notes BIGINT NOT NULL,
                trimmed BIGINT NOT NULL, read_digest \(text) NOT NULL, holder \(text) NOT NULL)
            """,
        ]
    }

    /// Returns the statement for the text about the last lines, which was not printed.
    static func unreported(_ dialect: SQLDialect) -> [String] {
        ["ALTER TABLE imports ADD COLUMN untold \(dialect.text) NOT NULL DEFAULT ''"]
    }
}
