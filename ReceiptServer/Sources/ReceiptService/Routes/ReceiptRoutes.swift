@_spi(Surfaces) package import AppStoreReceipt
package import HTTPService

/// The routes that verify evidence, with their verifiers.
package struct ReceiptRoutes: Sendable {
    /// The verifier of `/v1`.
    package let verifier: AppStoreVerifier
    private let productTypes: ProductCatalog
    private let responders: [(path: String, responder: VerifyReceiptResponder)]

    /// - Throws: An error if the configuration can accept nothing, or if this host can't verify.
    package init(_ configuration: ReceiptConfiguration) throws(ConfigurationError) {
        productTypes = configuration.productTypes
        do throws(VerificationError) {
            verifier = try AppStoreVerifier(policy: configuration.policy, trust: configuration.trust)
            responders = try Self.responders(configuration)
        } catch {
            throw ConfigurationError("\(error.code): \(error). \(error.advice(for: .user(of: .server)))")
        }
    }

    package var routes: [Route] {
        responders.map { verifyReceiptRoute($0.path, $0.responder) } + [
            verifyRoute(verifier), entitlementsRoute(verifier, productTypes: productTypes),
        ]
    }

    /// Returns one responder for the configured environments, and one for each of Apple's two servers.
    private static func responders(
        _ configuration: ReceiptConfiguration
    ) throws(VerificationError) -> [(String, VerifyReceiptResponder)] {
        func responder(_ environments: Set<AppStoreEnvironment>) throws(VerificationError) -> VerifyReceiptResponder {
            var policy = configuration.policy
            policy.environments = environments
            return try VerifyReceiptResponder(
                policy: policy, trust: configuration.trust,
                fillsLatestReceiptInfo: configuration.fillsLatestReceiptInfo)
        }
        let environments = configuration.policy.acceptedEnvironments
        var responders = [("/verifyReceipt", try responder(environments))]
        // Xcode's evidence belongs to neither server: all paths take it.
        let isOfApple = environments.isSubset(of: [.production, .sandbox])
        for (name, environment) in [("production", AppStoreEnvironment.production), ("sandbox", .sandbox)] {
            let own: Set = [environment]
            responders.append(
                ("/\(name)/verifyReceipt", isOfApple && environments != own ? try responder(own) : responders[0].1))
        }
        return responders
    }

    /// Returns the verdicts of all verifiers.
    ///
    /// - Parameter countedApart: The verdicts that another metric counts, by code.
    package func metrics(without countedApart: [VerificationError.Code: UInt64] = [:]) -> [MetricFamily] {
        var all = verifier.counts
        var refused = all.refused
        for (code, count) in countedApart {
            if let known = refused[code] { refused[code] = known - min(known, count) }
        }
        var seen: Set<String> = []
        // Paths can share a responder: count it once.
        for (_, responder) in responders
        where seen.insert(responder.environments.map(\.rawValue).sorted().joined()).inserted {
            let counts = responder.counts
            all = all + counts
            refused.merge(counts.refused, uniquingKeysWith: +)
        }
        var verdicts = MetricFamily(
            .counter, "receipt_server_verdicts_total", "Verdicts on evidence, by code; 'verified' for genuine evidence."
        )
        // Start these counters at 0, so that an alarm notices the first increase.
        let alarms: [VerificationError.Code] = [.libcryptoFailure, .outOfMemory, .algorithmUnavailable]
        for code in alarms { refused[code, default: 0] += 0 }
        verdicts.add(all.verified, [("code", "verified")])
        for (code, count) in refused.map({ ($0.key.rawValue, $0.value) }).sorted(by: { $0.0 < $1.0 }) {
            verdicts.add(count, [("code", code)])
        }
        var unwrapped = MetricFamily(
            .counter, "receipt_server_unwrapped_total", "What was removed that was around evidence, by name.")
        for (name, count) in all.unwrapped.sorted(by: { $0.key < $1.key }) { unwrapped.add(count, [("name", name)]) }
        return [
            verdicts, unwrapped,
            MetricFamily(
                .counter, "receipt_server_chain_cache_hits_total", "Certificate chains found in the cache.",
                value: all.chainCacheHits),
            MetricFamily(
                .counter, "receipt_server_chain_cache_misses_total", "Certificate chains that were validated.",
                value: all.chainCacheMisses),
            MetricFamily(
                .counter, "receipt_server_chain_cache_evictions_total", "Certificate chains removed from the cache.",
                value: all.chainCacheEvictions),
        ]
    }
}
