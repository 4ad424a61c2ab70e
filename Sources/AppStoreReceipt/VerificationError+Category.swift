extension VerificationError {
    /// The categories of errors, by the party that can correct them.
    @nonexhaustive
    public enum Category: String, Sendable, CaseIterable {
        /// The evidence is damaged, or is for another app or environment. Ask the client for other evidence.
        case client
        /// The evidence is well formed, but not signed by Apple. Genuine apps do not send such evidence. Refuse it, and
        /// log who sent it.
        case forgery
        /// This host or this library is at fault, not the client. Keep the evidence, raise an alarm, and verify it
        /// again after a correction.
        case host

        /// The status for the HTTP response: 400, 403 or 500.
        ///
        /// Apple repeats a notification that was answered with any of them. Answer a notification that no repetition
        /// changes with 200, and record it: one for another app, for example.
        public var httpStatus: Int {
            switch self {
            case .client: 400
            case .forgery: 403
            case .host: 500
            }
        }
    }

    /// The category, which says who can correct the error.
    ///
    /// An unreadable payload and a refused ``part`` of a notification are in the category ``Category/host``, because
    /// their signature was verified before. A JWS of another kind than the method accepts is in the category
    /// ``Category/client``. (An ``UnverifiedReceipt`` has errors of the same categories, although its signature was not
    /// verified.)
    public var category: Category { fault.party.category }

    /// A Boolean value that indicates whether the host failed, so that nothing is known about the evidence:
    /// `algorithm-unavailable`, `out-of-memory` and `libcrypto-failure`.
    ///
    /// Verify the evidence again, or on another host. Every other error is a verdict on the evidence, which a batch
    /// records like any other.
    public var isHostFault: Bool { fault.party == .host }
}
