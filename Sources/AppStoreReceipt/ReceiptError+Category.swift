extension ReceiptError {
    /// Whose fault an error is, and so what to do about it.
    public enum Category: String, Sendable, CaseIterable {
        /// The input is damaged, or not for this verifier (another app, another environment): the client is to send another. Log it.
        case client
        /// The input is made as a receipt is, but not by whom it should be. Honest clients do not send that: watch for it.
        case forgery
        /// This host or this library falls short, and the client cannot help it: keep the receipt, raise an alarm, try again once repaired.
        case host

        /// The status of the HTTP response that such an error deserves: 400, 403 or 500.
        public var httpStatus: Int {
            switch self {
            case .client: 400
            case .forgery: 403
            case .host: 500
            }
        }
    }

    /// Whose fault this error of a verifier is.
    ///
    /// A payload that cannot be read is the host's: it is judged last, when it is known that the trusted signer has made it. (Where nothing is
    /// verified, by ``UnverifiedReceipt``, it says nothing of the kind.)
    public var category: Category {
        switch stage {
        case .input, .container, .policy: .client
        case .signature, .date, .chain: .forgery
        case .payload, .verifier: .host
        }
    }
}
