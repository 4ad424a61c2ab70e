import AppStoreReceipt
import StrictText

extension AppStoreServerClient {
    /// The number of pages after which an answer counts as endless: two million items.
    public static let maximumPageCount = 100_000

    /// Asks for all pages of a customer's transactions.
    ///
    /// - Parameters:
    ///   - id: Any transaction id, original transaction id or app transaction id of the customer.
    ///   - query: Which transactions.
    ///   - revision: The revision of the last page that was read; `nil` for all pages.
    ///   - body: Takes a page. Returns `false` to ask no more.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/endlessPages`` if a page or a revision is repeated.
    public func transactionHistoryPages(
        of id: String, _ query: TransactionHistoryQuery = TransactionHistoryQuery(), revision: String? = nil,
        _ body: (TransactionPage) -> Bool
    ) throws(AppStoreServerError) {
        try pages(from: revision, { $0.place }, body) { (revision) throws(AppStoreServerError) in
            try transactionHistory(of: id, query, revision: revision)
        }
    }

    /// Asks for all pages of a customer's refunds.
    ///
    /// - Parameters:
    ///   - id: Any transaction id, original transaction id or app transaction id of the customer.
    ///   - revision: The revision of the last page that was read; `nil` for all pages.
    ///   - body: Takes a page. Returns `false` to ask no more.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/endlessPages`` if a page or a revision is repeated.
    public func refundHistoryPages(
        of id: String, revision: String? = nil, _ body: (TransactionPage) -> Bool
    ) throws(AppStoreServerError) {
        try pages(from: revision, { $0.place }, body) { (revision) throws(AppStoreServerError) in
            try refundHistory(of: id, revision: revision)
        }
    }

    /// Asks for all pages of notifications.
    ///
    /// - Parameters:
    ///   - query: Which notifications.
    ///   - paginationToken: The token of the last page that was read; `nil` for all pages.
    ///   - body: Takes a page. Returns `false` to ask no more.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/endlessPages`` if a page or a token is repeated.
    public func notificationHistoryPages(
        _ query: NotificationHistoryQuery, paginationToken: String? = nil, _ body: (NotificationPage) -> Bool
    ) throws(AppStoreServerError) {
        try pages(from: paginationToken, { $0.place }, body) { (token) throws(AppStoreServerError) in
            try notificationHistory(query, paginationToken: token)
        }
    }

    private func pages<Page>(
        from start: String?, _ place: (Page) -> PlaceOfPage, _ body: (Page) -> Bool,
        _ ask: (String?) throws(AppStoreServerError) -> Page
    ) throws(AppStoreServerError) {
        var token = start
        var seen = Set(start.map { [UTF8Bytes($0)] } ?? [])
        var lastItems: [UTF8Bytes] = []
        for _ in 0..<Self.maximumPageCount {
            let page = try ask(token)
            let place = place(page)
            guard place.items.isEmpty || place.items != lastItems else { throw AppStoreServerError(.endlessPages) }
            guard body(page), place.hasMore else { return }
            guard let next = place.token, seen.insert(UTF8Bytes(next)).inserted else {
                throw AppStoreServerError(.endlessPages)
            }
            token = next
            lastItems = place.items
        }
        throw AppStoreServerError(.endlessPages)
    }
}

/// Where a page is among the others.
private struct PlaceOfPage {
    let token: String?
    let hasMore: Bool
    /// What the verified items of the page are called.
    let items: [UTF8Bytes]
}

extension TransactionPage {
    fileprivate var place: PlaceOfPage {
        PlaceOfPage(
            token: unsigned.revision, hasMore: unsigned.hasMore,
            items: transactions.compactMap { $0.value?.transactionID.map(UTF8Bytes.init) })
    }
}

extension NotificationPage {
    fileprivate var place: PlaceOfPage {
        PlaceOfPage(
            token: unsigned.paginationToken, hasMore: unsigned.hasMore,
            items: notifications.compactMap { $0.notification?.value?.notificationUUID.map(UTF8Bytes.init) })
    }
}
