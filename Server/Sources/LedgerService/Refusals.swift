@_spi(Surfaces) package import AppStoreReceipt
package import HTTPService
package import PurchaseLedger

extension VerificationError: Refusal {
    package var response: Response {
        Response(status: category.httpStatus, body: Array(json(for: .httpClient).utf8), code: code)
    }
}

extension LedgerError: Refusal {
    /// Whether the ledger failed, and not the request.
    var isOfLedger: Bool { response.status >= 500 }

    package var response: Response {
        switch code {
        case .storeUnavailable:
            .busy("store-unavailable", "the ledger cannot record it at the moment; send the request again")
        case .storeFailed, .newerSchema, .invalidLocation, .deliveryFailed, .deadLetter:
            Response(status: 500, errorCode: "store-failed", message: "the ledger failed; its log says why")
        case .invalidText: Response(status: 400, errorCode: "invalid-text", message: detail)
        case .idempotencyKeyReused:
            Response(
                status: 409, errorCode: "idempotency-key-reused",
                message: "the key belongs to a request of the account for other transactions")
        case .tokenTaken:
            Response(status: 409, errorCode: "token-taken", message: "the token is another account's")
        case .notFound: Response(status: 404, errorCode: "not-found", message: "no such \(detail)")
        }
    }
}
