import HTTPService
import PurchaseLedger
import Instants
import StrictText
import Synchronization

/// Logs products that are granted without an end: one line for each product and day.
final class UnknownLengths: Sendable {
    /// The maximum number of products to track. An app sells fewer of this kind.
    private static let maximumCount = 1000

    private struct Day {
        var number: Int64 = 0
        var products: Set<UTF8Bytes> = []
    }

    private let logged = Mutex(Day())
    private let log: ServiceLog
    private let date: @Sendable () -> Instant

    init(_ log: ServiceLog, _ date: @escaping @Sendable () -> Instant) { (self.log, self.date) = (log, date) }

    @Sendable func add(_ productID: String) {
        let today = date().secondsSince1970 / 86_400
        let isNew = logged.withLock { logged in
            if logged.number != today { logged = Day(number: today) }
            return logged.products.count < Self.maximumCount && logged.products.insert(UTF8Bytes(productID)).inserted
        }
        guard isNew else { return }
        log.write(.warning, "length-unknown", [("product_id", .text(productID))])
    }
}
