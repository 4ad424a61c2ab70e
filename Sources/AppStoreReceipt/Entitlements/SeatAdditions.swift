import Instants

extension Purchase {
    /// A Boolean value that indicates whether the buyer has other transactions for the same period.
    @_spi(Ledger) public var isOneOfSeveral: Bool {
        additionalTransactionReason != nil && isOfBuyer && expiresDate != nil && productType?.renews ?? true
    }
}

/// The transactions of one product that are one period, because the buyer added seats to it.
///
/// Apple signs a reason in each of them
/// ([Apple's page](https://developer.apple.com/documentation/appstoreserverapi/additionaltransactionreason)).
/// The first may be known only from a signature before the addition. Two are therefore of one period if their dates
/// overlap, and one of the two has a reason.
struct SeatAdditions {
    /// Transactions of one period, as far as they are known.
    private struct Overlap {
        var indices: [Int]
        /// The latest end, in seconds since 1970.
        var end: Int64
        /// The latest end of those that have a reason.
        var endOfSeveral = Int64.min
    }

    /// Those that a later transaction can overlap. Only the first has transactions with a reason.
    private var open: [Overlap] = []
    private var closed: [[Int]] = []

    /// The indices of the transactions of each period that has several.
    var periods: [[Int]] {
        (closed + open.map(\.indices)).filter { $0.count > 1 }.map { $0.sorted() }
    }

    /// Adds a transaction, which does not begin before those that were added.
    ///
    /// A receipt has dates in seconds: a renewal must not begin before the end of the period that a JWS has.
    mutating func add(_ index: Int, _ dates: Range<Instant>, isOneOfSeveral: Bool) {
        let (start, end) = (dates.lowerBound.secondsSince1970, dates.upperBound.secondsSince1970)
        if isOneOfSeveral {
            var joined = Overlap(indices: [index], end: end, endOfSeveral: end)
            // This order, and appending the shorter list, avoids copies.
            while var other = open.popLast() {
                guard other.end > start else {
                    closed.append(other.indices)
                    continue
                }
                if other.indices.count > joined.indices.count { swap(&joined.indices, &other.indices) }
                joined.indices += other.indices
                joined.end = max(joined.end, other.end)
                joined.endOfSeveral = max(joined.endOfSeveral, other.endOfSeveral)
            }
            open = [joined]
        } else if !open.isEmpty, open[0].endOfSeveral > start {
            open[0].indices.append(index)
            open[0].end = max(open[0].end, end)
        } else {
            open.append(Overlap(indices: [index], end: end))
        }
    }
}
