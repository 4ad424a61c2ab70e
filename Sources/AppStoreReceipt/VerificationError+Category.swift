extension VerificationError {
    /// Whose fault an error is, and so what to do about it.
    public enum Category: String, Sendable, CaseIterable {
        /// The evidence is damaged, or meant for another verifier (another app, another environment). Ask the client for other evidence.
        case client
        /// Well formed, but not signed by Apple. Honest clients do not send such evidence: refuse it, and watch who sends it.
        case forgery
        /// This host or this library falls short; the client cannot help it. Keep the evidence, raise an alarm, and verify it again later.
        case host

        /// The status for the HTTP response: 400, 403 or 500.
        public var httpStatus: Int {
            switch self {
            case .client: 400
            case .forgery: 403
            case .host: 500
            }
        }
    }

    /// Whose fault it is.
    ///
    /// A payload that cannot be read is the host's: by then it is known that the trusted signer made it. So is a refused ``part`` of a
    /// notification. But a JWS of another kind than was asked for is the client's. (For what was only decoded, by
    /// ``UnverifiedReceipt``, nothing is known of the signer.)
    public var category: Category {
        switch reason {
        case .input, .container, .policy: .client
        case .form, .headerSyntax, .header: part == nil ? .client : .host
        case .signature, .date, .chain:
            part != nil ? .host : stage == .container ? .client : .forgery
        case .members(let error): part == nil && error.kind == .missingMember ? .client : .host
        case .payload, .configuration, .host: .host
        }
    }
}
