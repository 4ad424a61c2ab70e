@_spi(Ledger) package import AppStoreReceipt
import StrictText

/// A page of the tokens of an account, newest first.
package struct AccountTokenList: Sendable {
    package struct Entry: Sendable {
        package enum Kind: String, Sendable {
            /// The ledger created it.
            case made
            /// The app or an import provided it.
            case stored
        }

        package let token: AppAccountToken
        package let kind: Kind
        /// The date when the ledger got it.
        package let madeAt: Instant
        /// The date when the account was deleted (R13).
        package let retiredAt: Instant?
    }

    package let account: String
    /// The total number of the account's tokens.
    package let count: Int64
    package let entries: [Entry]
    /// The cursor of the next page, or `nil` if there is none.
    package let next: String?
}

extension PurchaseLedger {
    /// The maximum number of tokens in one page of a list.
    package static let maximumTokenListCount = 500

    /// Returns a page of the tokens of an account, newest first, or `nil` if the ledger doesn't know the account.
    ///
    /// - Parameters:
    ///   - cursor: ``AccountTokenList/next`` of the previous page, or `nil` for the newest tokens.
    ///   - limit: The maximum number of tokens, from 1 to ``maximumTokenListCount``.
    /// - Throws: `invalid-text` for an invalid cursor.
    package func tokens(
        of account: String, after cursor: String? = nil, limit: Int = 100
    ) throws(LedgerError) -> AccountTokenList? {
        try LedgerText.check(account, "account")
        guard 1...Self.maximumTokenListCount ~= limit else {
            throw LedgerError(.invalidText, "limit: 1 to \(Self.maximumTokenListCount)")
        }
        let place = try cursor.map { (text) throws(LedgerError) in
            guard let place = TokenPlace(text) else {
                throw LedgerError(.invalidText, "after: not a 'next' of this list")
            }
            return place
        }
        return try store.read { (connection) throws(LedgerError) in
            let count = try connection.tokenCount(of: account)
            if count == 0, try !connection.knows(account) { return nil }
            // The limit is a parameter, so that the statement stays prepared.
            let rows = try connection.run(
                """
                SELECT token, kind, made_at, retired_at FROM account_tokens
                WHERE account = $1 AND (made_at, token) < ($2, $3) ORDER BY made_at DESC, token DESC LIMIT $4
                """,
                [
                    .text(account), SQLValue(place?.date ?? .distantFuture), .text(place?.token.description ?? ""),
                    .integer(Int64(limit + 1)),
                ])
            let entries = try rows.prefix(limit).map { (row) throws(LedgerError) in
                guard let kind = AccountTokenList.Entry.Kind(rawValue: try row.text("kind")) else {
                    throw LedgerError(.storeFailed, "a token has an unknown kind")
                }
                return AccountTokenList.Entry(
                    token: AppAccountToken(signed: try row.text("token")), kind: kind, madeAt: try row.date("made_at"),
                    retiredAt: try row.optionalDate("retired_at"))
            }
            let last = entries.last.map { TokenPlace(date: $0.madeAt, token: $0.token) }
            return AccountTokenList(
                account: account, count: count, entries: entries, next: rows.count > limit ? last?.text : nil)
        }
    }
}

/// The position of a token in a list: `MILLISECONDS-UUID`.
private struct TokenPlace {
    let date: Instant
    let token: AppAccountToken

    init(date: Instant, token: AppAccountToken) { (self.date, self.token) = (date, token) }

    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard parts.count == 2, let date = Int64(parts[0]), let token = AppAccountToken(uuid: parts[1]) else {
            return nil
        }
        (self.date, self.token) = (Instant(millisecondsSince1970: date), token)
    }

    var text: String { "\(date.millisecondsSince1970)-\(token)" }
}
