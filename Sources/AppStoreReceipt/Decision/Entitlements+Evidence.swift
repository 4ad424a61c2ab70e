public import Instants

// Decisions on verified evidence. The folder of `Entitlements` uses plain purchases only.
extension Entitlements {
    /// Decides what verified purchases give access to.
    ///
    /// - Parameters:
    ///   - purchases: The purchases of one customer.
    ///   - renewals: Renewal information about the subscriptions among them. It is about grace periods and what comes
    ///     after the current period.
    ///   - date: The date to decide for, usually `.now`.
    ///   - clockAllowance: How far a purchase date may be in the future, for clocks that are slow; by default 5
    ///     minutes. A negative allowance counts as zero.
    ///   - productTypes: The types of products, for purchases whose evidence does not say the type. It also says how
    ///     long a non-renewing subscription lasts.
    public init(
        purchases: some Sequence<VerifiedPurchase>, renewals: some Sequence<Verified<RenewalInfo>>, at date: Instant,
        clockAllowance: Duration = .seconds(300), productTypes: ProductCatalog = [:]
    ) {
        self.init(
            purchases.map { Source($0.purchase, $0.verification) }, renewals.map(\.renewal), date,
            clockAllowance, productTypes)
    }

    /// Decides what verified evidence gives access to: its purchases and its renewal information, taken together.
    ///
    /// - Parameters:
    ///   - evidence: The evidence of one customer: receipts, transactions, renewal information and notifications, in
    ///     any order.
    ///   - date: The date to decide for, usually `.now`.
    ///   - clockAllowance: How far a purchase date may be in the future, for clocks that are slow; by default 5
    ///     minutes. A negative allowance counts as zero.
    ///   - productTypes: The types of products, for purchases whose evidence does not say the type. It also says how
    ///     long a non-renewing subscription lasts.
    public init(
        _ evidence: some Sequence<VerifiedEvidence>, at date: Instant, clockAllowance: Duration = .seconds(300),
        productTypes: ProductCatalog = [:]
    ) {
        let evidence = Array(evidence)
        self.init(
            evidence.flatMap { $0.signedPurchases }.map { Source($0.purchase, $0.verification) },
            evidence.flatMap { $0.renewals }.map(\.renewal), date, clockAllowance, productTypes)
        if nothing != nil, evidence.contains(where: { $0.nothing == .emptyInApp }) { nothing = .emptyInApp }
    }
}

extension VerifiedReceipt {
    /// Decides what the purchases of the receipt give access to. See ``Entitlements``.
    ///
    /// An answer is as old as the receipt, which does not contain what happened after it was signed.
    ///
    /// - Parameter date: The date to decide for, usually `.now`.
    public func entitlements(at date: Instant) -> Entitlements {
        Entitlements(signedPurchases.map { Source($0.purchase, $0.verification) }, [], date, .seconds(300), [:])
    }
}
