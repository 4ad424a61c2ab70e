import LedgerService

/// The actions that support can take. Each requires a scope and a reason, and is recorded.
enum Act: String, CaseIterable {
    case sendAgain = "send-again"
    case transfer
    case setQuantity = "set-quantity"
    case followApple = "follow-apple"
    case grantProduct = "grant-product"
    case askApple = "ask-apple"

    var scope: TokenScope {
        switch self {
        case .sendAgain: .events
        case .transfer: .transfer
        case .setQuantity, .followApple, .grantProduct: .adjust
        case .askApple: .recover
        }
    }

    var name: SupportPhrase {
        switch self {
        case .sendAgain: .sendAgain
        case .transfer: .transfer
        case .setQuantity: .setQuantity
        case .followApple: .followApple
        case .grantProduct: .grantProduct
        case .askApple: .askApple
        }
    }
}
