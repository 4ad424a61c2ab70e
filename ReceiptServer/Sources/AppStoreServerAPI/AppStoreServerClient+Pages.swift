import ServerThreads
import StrictText
import Synchronization

extension AppStoreServerClient {
    /// The number of pages after which an answer is considered endless: two million items.
    public static let maximumPageCount = 100_000

    /// Returns the pages of a customer's transactions. Each page is requested when it is needed.
    ///
    /// - Parameters:
    ///   - id: Any transaction id, original transaction id or app transaction id of the customer.
    ///   - query: The transactions to return.
    ///   - revision: The revision of the last page that was read, or `nil` for all pages.
    public func transactionHistoryPages(
        of id: String, _ query: TransactionHistoryQuery = TransactionHistoryQuery(), revision: String? = nil
    ) -> AppStoreServerPages<TransactionPage> {
        AppStoreServerPages(from: revision, { $0.place }) { (revision) throws(AppStoreServerError) in
            try self.transactionHistory(of: id, query, revision: revision)
        }
    }

    /// Returns the pages of a customer's refunds. Each page is requested when it is needed.
    ///
    /// - Parameters:
    ///   - id: Any transaction id, original transaction id or app transaction id of the customer.
    ///   - revision: The revision of the last page that was read, or `nil` for all pages.
    public func refundHistoryPages(of id: String, revision: String? = nil) -> AppStoreServerPages<TransactionPage> {
        AppStoreServerPages(from: revision, { $0.place }) { (revision) throws(AppStoreServerError) in
            try self.refundHistory(of: id, revision: revision)
        }
    }

    /// Returns the pages of notifications. Each page is requested when it is needed.
    ///
    /// - Parameters:
    ///   - query: The notifications to return.
    ///   - paginationToken: The token from the last page that was read, or `nil` for all pages.
    public func notificationHistoryPages(
        _ query: NotificationHistoryQuery, paginationToken: String? = nil
    ) -> AppStoreServerPages<NotificationPage> {
        AppStoreServerPages(from: paginationToken, { $0.place }) { (token) throws(AppStoreServerError) in
            try self.notificationHistory(query, paginationToken: token)
        }
    }
}

/// The pages of an answer.
///
/// ```swift
/// for try await page in client.transactionHistoryPages(of: id) { … }
///
/// var pages = client.transactionHistoryPages(of: id).makeIterator()
/// while let page = try pages.next() { … }    // occupies the thread
/// ```
///
/// If a page or token is repeated, they end with ``AppStoreServerError/Reason-swift.enum/endlessPages``.
public struct AppStoreServerPages<Page: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Page
    public typealias Failure = AppStoreServerError

    private let start: String?
    private let place: @Sendable (Page) -> PlaceOfPage
    private let ask: @Sendable (String?) throws(AppStoreServerError) -> Page

    fileprivate init(
        from start: String?, _ place: @escaping @Sendable (Page) -> PlaceOfPage,
        _ ask: @escaping @Sendable (String?) throws(AppStoreServerError) -> Page
    ) {
        (self.start, self.place, self.ask) = (start, place, ask)
    }

    /// Returns the iterator for synchronous code.
    public func makeIterator() -> Iterator { Iterator(from: start, place, ask) }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: makeIterator()) }

    /// Requests one page after another on the caller's thread.
    public struct Iterator: Sendable {
        private var token: String?
        private let seen: SeenTokens
        private let place: @Sendable (Page) -> PlaceOfPage
        private let ask: @Sendable (String?) throws(AppStoreServerError) -> Page
        private var lastItems: [UTF8Bytes] = []
        private var pageCount = 0
        private var isAtEnd = false

        fileprivate init(
            from start: String?, _ place: @escaping @Sendable (Page) -> PlaceOfPage,
            _ ask: @escaping @Sendable (String?) throws(AppStoreServerError) -> Page
        ) {
            (token, seen, self.place, self.ask) = (start, SeenTokens(start), place, ask)
        }

        /// Returns the next page, or `nil` after the last page or an error.
        public mutating func next() throws(AppStoreServerError) -> Page? {
            guard !isAtEnd else { return nil }
            isAtEnd = true
            guard pageCount < AppStoreServerClient.maximumPageCount else { throw AppStoreServerError(.endlessPages) }
            pageCount += 1
            let page = try ask(token)
            let place = place(page)
            guard place.items.isEmpty || place.items != lastItems else { throw AppStoreServerError(.endlessPages) }
            guard place.hasMore else { return page }
            // The contents of this page are genuine, so it is returned, and the next call throws the error.
            if let next = place.token, seen.insert(next) {
                token = next
                lastItems = place.items
            } else {
                pageCount = .max
            }
            isAtEnd = false
            return page
        }
    }

    /// Requests one page after another on a thread of the client.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var iterator: Iterator

        public mutating func next() async throws(AppStoreServerError) -> Page? {
            let before = iterator
            let (page, after) = await CallThreads.shared.result {
                var iterator = before
                return (Result { () throws(AppStoreServerError) in try iterator.next() }, iterator)
            }
            iterator = after
            return try page.get()
        }
    }
}

/// The tokens of the pages that one iteration has requested.
private final class SeenTokens: Sendable {
    private let tokens: Mutex<Set<UTF8Bytes>>

    init(_ start: String?) { tokens = Mutex(Set(start.map { [UTF8Bytes($0)] } ?? [])) }

    /// Returns whether the token is new.
    func insert(_ token: String) -> Bool { tokens.withLock { $0.insert(UTF8Bytes(token)).inserted } }
}

/// The position of a page among the others.
struct PlaceOfPage {
    let token: String?
    let hasMore: Bool
    /// The ids of the page's verified items.
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
