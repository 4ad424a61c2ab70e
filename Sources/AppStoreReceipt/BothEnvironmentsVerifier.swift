/// Evidence, by the environment that signed it. Nobody pays in the sandbox: keep what it grants apart.
public enum EnvironmentEvidence: Hashable, Sendable {
    /// Evidence of the App Store.
    case production(VerifiedEvidence)
    /// Evidence of the sandbox, from which App Review and TestFlight send it.
    case sandbox(VerifiedEvidence)
}

/// A notification, by the environment that it names.
public enum EnvironmentNotification: Hashable, Sendable {
    /// A notification of the App Store.
    case production(VerifiedNotification)
    /// A notification of the sandbox.
    case sandbox(VerifiedNotification)
    /// A notification that names no environment, such as one of the type ``NotificationType/unclaimSeats``. It has no
    /// transactions, and decides nothing.
    case unnamed(VerifiedNotification)
}

/// A verifier that accepts production and the sandbox, and tells them apart.
///
/// ```swift
/// let verifier = try AppStoreVerifier.both(bundleID: "com.example.app")
/// switch try verifier.verify(body) {
/// case .production(let evidence): …  // grant
/// case .sandbox(let evidence): …     // grant in a store of its own, or refuse
/// }
/// ```
///
/// App Review and TestFlight buy in the sandbox, also with the app that is on sale. A server that refuses the sandbox
/// fails the review, and one that grants it as production gives its products away.
public struct BothEnvironmentsVerifier: Sendable {
    let verifier: AppStoreVerifier

    /// The numbers of inputs that were verified and refused, for metrics.
    public var counts: VerifierCounts { verifier.counts }

    /// Verifies evidence of any kind. See ``AppStoreVerifier/verify(_:)``.
    ///
    /// - Returns: The verified evidence, by its environment.
    /// - Throws: The reason the evidence was refused. The code is `environment-missing` for evidence that names no
    ///   environment, such as a notification of the type ``NotificationType/unclaimSeats``.
    public func verify(_ evidence: some EvidenceSource) throws(VerificationError) -> EnvironmentEvidence {
        let received = ReceivedEvidence(evidence, verifier.policy.limits)
        let verified = try evidence._withEvidenceBytes { (bytes) throws(VerificationError) in
            try verifier.verify(received, in: bytes, requiresEnvironment: true)
        }
        return verified.environment == .sandbox ? .sandbox(verified) : .production(verified)
    }

    /// Verifies a server notification and its signed parts. See ``AppStoreVerifier/verifyNotification(_:)``.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified notification, by its environment.
    /// - Throws: The reason the notification was refused.
    public func verifyNotification(_ jws: some EvidenceSource) throws(VerificationError) -> EnvironmentNotification {
        let notification = try verifier.verifyNotification(jws)
        switch notification.environment {
        case .sandbox?: return .sandbox(notification)
        case nil: return .unnamed(notification)
        default: return .production(notification)
        }
    }
}

extension AppStoreVerifier {
    /// Creates a verifier for one app that accepts production and the sandbox, and tells them apart.
    ///
    /// - Parameters:
    ///   - bundleID: The bundle id of the app.
    ///   - appAppleID: The Apple id of the app, such as `1234567890`.
    ///   - trust: The certificates to trust; by default Apple's.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host
    ///   cannot verify what the policy accepts.
    public static func both(
        bundleID: String, appAppleID: String? = nil, trust: AppStoreTrust = .apple
    ) throws(VerificationError) -> BothEnvironmentsVerifier {
        let environments: Set<AppStoreEnvironment> = [.production, .sandbox]
        return BothEnvironmentsVerifier(
            verifier: try AppStoreVerifier(
                bundleID: bundleID, appAppleID: appAppleID, environments: environments, trust: trust))
    }

    /// Creates a verifier with a policy that accepts production and the sandbox, and tells them apart.
    ///
    /// - Parameters:
    ///   - policy: The policy. Its environments are not used.
    ///   - trust: The certificates to trust; by default Apple's.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host
    ///   cannot verify what the policy accepts.
    public static func both(
        policy: VerificationPolicy, trust: AppStoreTrust = .apple
    ) throws(VerificationError) -> BothEnvironmentsVerifier {
        var policy = policy
        policy.environments = [.production, .sandbox]
        return BothEnvironmentsVerifier(verifier: try AppStoreVerifier(policy: policy, trust: trust))
    }
}
