/// The `status` of verifyReceipt's answer, as far as this library gives it.
public enum VerifyReceiptStatus: Int, Hashable, Sendable, CaseIterable {
    /// The receipt is genuine, and from the environment that was asked. Whether it says anything about a subscription is another question.
    case valid = 0
    /// The request is no JSON object.
    case unreadableRequest = 21000
    /// `receipt-data` is missing or malformed. So is, for Apple's codes, a receipt that is genuine and that this library cannot read:
    /// `VerificationError.category` of the answer's ``VerifyReceiptAnswer/result`` is then `host`, and `client` or `forgery` otherwise.
    case malformedReceipt = 21002
    /// The receipt is not signed by whom it should be; or it is not one of those that the responder is to accept.
    case notAuthenticated = 21003
    /// A receipt of the sandbox, sent to production.
    case sandboxReceipt = 21007
    /// A receipt of production, sent to the sandbox.
    case productionReceipt = 21008
    /// This host cannot verify receipts; it says nothing of the receipt. Apple's meaning is the same: try again later.
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
