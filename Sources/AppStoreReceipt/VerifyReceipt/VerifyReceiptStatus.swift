/// The values of `status` in verifyReceipt's answer that this library returns.
@nonexhaustive
public enum VerifyReceiptStatus: Int, Hashable, Sendable, CaseIterable {
    /// The receipt is genuine, and its environment is accepted. This does not mean that a subscription in it is active.
    case valid = 0
    /// The request is not a JSON object.
    case unreadableRequest = 21000
    /// `receipt-data` is missing or malformed, or this library cannot read a genuine receipt.
    ///
    /// For a genuine receipt, ``VerificationError/category`` of the error in ``VerifyReceiptAnswer/result`` is `host`.
    case malformedReceipt = 21002
    /// The receipt is not signed by a trusted authority, or the policy does not accept it.
    case notAuthenticated = 21003
    /// The transaction receipt of a subscription is genuine, and by the responder's clock its period has ended.
    ///
    /// Whether the subscription was renewed is not known. Receipts of other kinds never have this status.
    case subscriptionExpired = 21006
    /// The receipt is from the sandbox, and only production is accepted.
    case sandboxReceipt = 21007
    /// The receipt is from production, and only the sandbox is accepted.
    case productionReceipt = 21008
    /// This host cannot verify receipts. The receipt is not at fault. As with Apple's server, try again later.
    case internalError = 21009
}

extension VerifyReceiptStatus {
    init(_ error: VerificationError) {
        self =
            switch error.stage {
            case .input: error.isAboutJSON ? .unreadableRequest : .malformedReceipt
            case .container, .form, .header, .date, .payload: .malformedReceipt
            case .signature, .chain, .policy: .notAuthenticated
            case .verifier: .internalError
            }
    }
}

extension VerificationError {
    fileprivate var isAboutJSON: Bool {
        if case .input(let error) = reason { error.kind == .invalidJSON } else { false }
    }
}
