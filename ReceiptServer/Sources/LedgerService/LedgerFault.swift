@_spi(Surfaces) package import AppStoreReceipt
package import HTTPService
package import PurchaseLedger

/// The reasons for which the ledger's routes can refuse a request.
package enum LedgerFault: String, ServiceFault {
    case invalidAccountToken = "invalid-account-token"
    case invalidText = "invalid-text"
    case notANotification = "not-a-notification"
    case otherApp = "other-app"
    case otherEnvironment = "other-environment"
    case unauthorized
    case forbidden
    case notFound = "not-found"
    case idempotencyKeyReused = "idempotency-key-reused"
    case tokenTaken = "token-taken"
    case tooManyTokens = "too-many-tokens"
    case tooManyOrders = "too-many-orders"
    case shopOrderTaken = "shop-order-taken"
    case notAdjustable = "not-adjustable"
    case unknownToApple = "unknown-to-apple"
    case appleRefused = "apple-refused"
    case recoveryIncomplete = "recovery-incomplete"
    case appleUnavailable = "apple-unavailable"
    case storeFailed = "store-failed"
    case storeUnavailable = "store-unavailable"

    private static let addingEnvironment = "have the operator of the server add it with --environment"

    package var row: FaultRow {
        switch self {
        case .invalidAccountToken:
            FaultRow(
                400, "the account's token is not a UUID",
                "Send the 'appAccountToken' with which the app buys for the account, or none.")
        case .invalidText:
            FaultRow(400, "a value of the request is not accepted", "Correct the value that the message names.")
        case .notANotification:
            FaultRow(
                400, "the body is not an App Store Server Notification of version 2",
                "Send {\"signedPayload\":\"…\"}, as Apple does.")
        // A status that makes Apple retry, but that alarms and health checks don't count as a server failure.
        case .otherApp:
            FaultRow(
                421, "the notification is genuine, but for another app than this server's",
                "In App Store Connect, remove this server's URL from that app.")
        case .otherEnvironment:
            FaultRow(
                421, "the notification is genuine, but from another environment than this server's",
                "In App Store Connect, enter the URL of that environment's server, or \(Self.addingEnvironment).")
        case .unauthorized:
            FaultRow(401, "the request has no known token", "Send the header 'Authorization: Bearer TOKEN'.")
        case .forbidden:
            FaultRow(
                403, "the token does not have the scope of the route",
                "Have the operator of the server add the scope to the token file.")
        case .notFound:
            FaultRow(
                404, "the ledger has no account, transaction, order or event with this id",
                "Compare the ids with what you stored.")
        case .idempotencyKeyReused:
            FaultRow(
                409, "the idempotency key belongs to a request of the account for other transactions",
                "Make a new key for each request.")
        case .tokenTaken:
            FaultRow(
                409, "the token belongs to another account",
                "Ask for the account's own token, with which the app is to buy.")
        case .tooManyTokens:
            FaultRow(
                409, "the account has \(PurchaseLedger.maximumTokenCount) tokens",
                "Use one of them: an account needs one token, and not one for each purchase.")
        case .tooManyOrders:
            FaultRow(
                409, "the account has too many open orders",
                "Send an 'idempotency_key' with each attempt to buy, and the same one again for the same attempt.")
        case .shopOrderTaken:
            FaultRow(
                409, "the 'shop_order_id' belongs to an order of another account, or for something else",
                "Give each order of your shop an id of its own, and send it again with the same account, product, app and environment only."
            )
        case .notAdjustable:
            FaultRow(
                409, "the quantity of the grant cannot be set",
                "Grant a product for support, with 'product_id' in place of 'transaction_id'.")
        case .unknownToApple:
            FaultRow(
                404, "the App Store knows no such purchase of the server's apps",
                "Compare the id with the customer's invoice. Ask again later if the purchase is new.")
        case .appleRefused:
            FaultRow(
                502, "part of the App Store's answer was refused, so nothing was recorded",
                "Have the operator of the server run 'receipt-server check-apple'. To record the rest, send 'skip_refused' with a 'reason'."
            )
        case .recoveryIncomplete:
            FaultRow(
                409,
                "part of the App Store's answer was refused, and the rest is not all bought with the account's token: the rest was recorded, and the account was granted nothing",
                "Find out whose purchase it is, then transfer it, or grant the product for support.")
        case .appleUnavailable:
            FaultRow(503, "the App Store cannot be asked at the moment", "Try again later.")
        case .storeFailed:
            FaultRow(
                500, "the ledger failed", "Keep the evidence. The server's log has the reason, for its operator.")
        case .storeUnavailable:
            FaultRow(503, "the ledger is unavailable at the moment", "Send the same request again.")
        }
    }
}

extension LedgerError: Refusal {
    /// Whether the ledger failed rather than the request.
    package var isOfLedger: Bool { fault.row.status >= 500 }

    private var fault: LedgerFault {
        switch code {
        case .storeUnavailable: .storeUnavailable
        case .storeFailed, .newerSchema, .olderSchema, .invalidLocation, .importRunning, .deliveryFailed, .deadLetter,
            .noLedger, .ledgerExists:
            .storeFailed
        case .invalidText: .invalidText
        case .idempotencyKeyReused: .idempotencyKeyReused
        case .tokenTaken: .tokenTaken
        case .tooManyTokens: .tooManyTokens
        case .tooManyOrders: .tooManyOrders
        case .shopOrderTaken: .shopOrderTaken
        case .notAdjustable: .notAdjustable
        case .notFound: .notFound
        }
    }

    package var response: Response {
        // Messages from a database are for the operator only.
        Response(fault, isOfLedger || detail.isEmpty ? nil : detail)
    }
}

extension VerificationError: Refusal {
    /// The answer for any client. It contains the value that was found, but not the one that was expected.
    package var response: Response { response(for: .httpStranger) }

    func response(for audience: Audience) -> Response {
        Response(status: category.httpStatus, body: Array(json(for: audience).utf8), code: code.rawValue)
    }
}
