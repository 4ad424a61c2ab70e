import SignatureTrust
import SpanASN1

/// A verifier for everything that Apple signs for the App Store: receipts, the JWS of StoreKit 2 and of App Store
/// Server Notifications, and the transaction receipts of iOS 3 to 6.
///
/// ```swift
/// let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
/// let evidence = try verifier.verify(body)
/// ```
///
/// Make one verifier when the program starts, and share it. It is thread-safe. Apart from its counters and its cache of
/// certificate chains, it is immutable.
///
/// Evidence is genuine if its signature is valid for the received bytes, the signer's certificate chains over exactly
/// one intermediate to a pinned root at the signing date, and both certificates have Apple's marker extensions. The
/// verifier returns genuine evidence that its ``policy`` accepts, and throws a ``VerificationError`` for everything
/// else.
public final class AppStoreVerifier: Sendable {
    /// The policy that genuine evidence must meet.
    public let policy: VerificationPolicy
    /// The certificates that the verifier trusts.
    public let trust: AppStoreTrust
    let verifiers: EvidenceVerifiers
    let counters = VerifierCounters()

    /// Creates a verifier for one app.
    ///
    /// - Parameters:
    ///   - bundleID: The bundle id of the app.
    ///   - appAppleID: The Apple id of the app, such as `1234567890`. It is compared where evidence has one, in
    ///     notifications and app transactions, and real-time requests require it: they have no bundle id.
    ///   - environments: The environments to accept; `nil` accepts every environment, and evidence without one.
    ///   - trust: The certificates to trust; by default Apple's.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host
    ///   cannot verify what the policy accepts.
    public convenience init(
        bundleID: String, appAppleID: String? = nil, environments: Set<AppStoreEnvironment>?,
        trust: AppStoreTrust = .apple
    ) throws(VerificationError) {
        try self.init(
            policy: VerificationPolicy(bundleIDs: [bundleID], appAppleID: appAppleID, environments: environments),
            trust: trust)
    }

    /// Creates a verifier with a policy.
    ///
    /// - Parameters:
    ///   - policy: The policy that genuine evidence must meet.
    ///   - trust: The certificates to trust; by default Apple's.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host
    ///   cannot verify what the policy accepts.
    public init(policy: VerificationPolicy, trust: AppStoreTrust = .apple) throws(VerificationError) {
        try policy.check(with: trust)
        var policy = policy
        policy.possibleEnvironments = trust.environments
        self.policy = policy
        self.trust = trust
        do throws(SignatureTrustError) {
            verifiers = try EvidenceVerifiers(policy, trust)
        } catch {
            if error.kind.isHostFault { throw VerificationError(.host(error.kind)) }
            let place = (error.path.index ?? 0) + 1
            throw .configuration(.unusableTrustAnchor, found: "certificate \(place): \(error.kind.explanation)")
        }
    }

    /// The number of inputs that this verifier has verified and refused, for metrics.
    ///
    /// A notification counts once. The counters are not read atomically together.
    public var counts: VerifierCounts {
        counters.counts(of: verifiers.engines)
    }

    /// Verifies evidence of any kind.
    ///
    /// Known wrappers around evidence are removed, unless ``VerificationPolicy/requiresStrictForm`` is set: see
    /// <doc:WhatClientsSend>.
    ///
    /// - Parameter evidence: A receipt (binary, base64 or PEM), a JWS in its compact serialization, a transaction
    ///   receipt (a property list or its base64), or a JSON object with one of them as its member `receipt-data`,
    ///   `signedPayload`, `signedTransactionInfo`, `signedRenewalInfo` or `signedAppTransactionInfo`. Whitespace around
    ///   a text and other members of the object are ignored.
    /// - Returns: The verified evidence, by its kind.
    /// - Throws: The reason the evidence was refused.
    public func verify(_ evidence: some EvidenceSource) throws(VerificationError) -> VerifiedEvidence {
        let received = ReceivedEvidence(evidence, policy.limits)
        return try evidence._withEvidenceBytes { (bytes) throws(VerificationError) in try verify(received, in: bytes) }
    }

    /// Verifies evidence of any kind, and copies it only if it is a binary receipt.
    package func verify(_ evidence: Span<UInt8>) throws(VerificationError) -> VerifiedEvidence {
        try verify(ReceivedEvidence(copying: evidence, policy.limits), in: evidence)
    }

    /// Verifies what was received.
    ///
    /// - Parameters:
    ///   - input: The bytes that were received.
    ///   - requiresEnvironment: Whether evidence that names no environment is refused.
    package func verify(
        _ received: ReceivedEvidence, in input: Span<UInt8>, requiresEnvironment: Bool = false
    ) throws(VerificationError) -> VerifiedEvidence {
        try counters.counting { () throws(VerificationError) in
            let (evidence, layers) = try received.read(in: input, policy.form) {
                (received, input) throws(VerificationError) in try verifiers.verify(received, in: input)
            }
            if requiresEnvironment, evidence.environment == nil { throw .policy(.missingEnvironment) }
            return layers.isEmpty ? evidence : evidence.inside(layers)
        } layers: {
            $0.layers
        }
    }
}

extension VerificationPolicy {
    /// Checks that a verifier with this policy could accept something.
    fileprivate func check(with trust: AppStoreTrust) throws(VerificationError) {
        guard environments?.isEmpty != true else { throw .configuration(.noEnvironment, found: "environments: []") }
        if let bundleIDs {
            guard !bundleIDs.isEmpty else { throw .configuration(.noBundleID, found: "bundleIDs: []") }
            // No app has this id: it comes from a setting that was left empty.
            guard !bundleIDs.contains(where: \.isEmpty) else {
                throw .configuration(.noBundleID, found: "bundleIDs: [\"\"]")
            }
        }
        switch trust.base {
        case .apple: break
        case .roots(let anchors):
            guard !anchors.isEmpty else { throw .configuration(.noTrustAnchor, found: "trust: .roots([])") }
        case .storeKitTesting(let anchors):
            guard !anchors.isEmpty else { throw .configuration(.noTrustAnchor, found: "trust: .storeKitTesting([])") }
        }
        if let other = environments?.subtracting(trust.environments).map(\.rawValue).min() {
            throw .configuration(.environmentNotOfTrust, found: "environments: \(other)")
        }
    }
}

extension AppStoreTrust {
    /// The environments in which its roots can sign.
    var environments: Set<AppStoreEnvironment> {
        switch base {
        case .apple, .roots: [.production, .sandbox]
        case .storeKitTesting: [.xcode, .localTesting]
        }
    }
}

/// The faults of a configuration. Only a decision finds ``environmentNotNamed``, and only evidence ``noAppAppleID``.
package enum ConfigurationFault: String, Sendable, CaseIterable {
    /// ``AppStoreTrust/roots(_:)`` or ``AppStoreTrust/storeKitTesting(_:)`` has no certificate.
    case noTrustAnchor = "no-trust-anchor"
    /// ``VerificationPolicy/environments`` is empty.
    case noEnvironment = "no-environment"
    /// The policy accepts several environments, and a decision names none.
    case environmentNotNamed = "environment-not-named"
    /// ``VerificationPolicy/bundleIDs`` is an empty set, or has an empty bundle id.
    case noBundleID = "no-bundle-id"
    /// Xcode's environments go with StoreKit Testing trust, and with no other.
    case environmentNotOfTrust = "environment-not-of-trust"
    /// A trust anchor has a key or an algorithm that is not accepted, or libcrypto cannot read it.
    case unusableTrustAnchor = "unusable-trust-anchor"
    /// The evidence has no bundle id, and the policy has no app Apple id with which to compare it.
    case noAppAppleID = "no-app-apple-id"
}
