public import Instants

extension BothEnvironmentsVerifier {
    /// Verifies the evidence of one customer, piece by piece, and decides what it entitles to in one environment.
    ///
    /// - Parameters:
    ///   - pieces: The pieces of evidence, of any kind and in any order.
    ///   - environment: The environment to decide in. A piece of another is refused as `environment-mismatch`.
    ///   - date: The date to decide for; by default, the present by the policy's clock.
    ///   - productTypes: The types of products, for purchases whose evidence does not say the type. It also says how
    ///     long a non-renewing subscription lasts.
    public func decision(
        on pieces: some Sequence<some EvidenceSource>, in environment: AppStoreEnvironment, at date: Instant? = nil,
        productTypes: ProductCatalog = [:]
    ) -> Decision {
        verifier.decision(on: pieces, in: environment, at: date, productTypes: productTypes)
    }
}
