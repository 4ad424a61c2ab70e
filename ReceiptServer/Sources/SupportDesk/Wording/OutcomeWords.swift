import PurchaseLedger
@_spi(Surfaces) import ReceiptReport

/// The desk's text for an outcome.
struct OutcomeWords: Words {
    let outcome: Outcome

    func text(in language: Language) -> StaticString {
        let (english, chinese) = texts
        return language.choose(english, chinese)
    }

    /// The text in English and in Simplified Chinese.
    private var texts: (StaticString, StaticString) {
        switch outcome {
        case .granted: ("It was granted to the account.", "发放给该账号。")
        case .alreadyYours: ("The account had it already.", "该账号此前已拥有。")
        case .belongsToAnother: ("It belongs to another account, which sent it first.", "它属于先提交的另一账号。")
        case .tooEarly: ("It begins later. The app sends it again then.", "尚未开始。开始后 App 会再次提交。")
        case .expired: ("Its period had ended, or another had replaced it.", "周期已结束，或已被替换。")
        case .revoked: ("It was refunded, or taken back.", "已退款或被收回。")
        case .notForSale:
            (
                "The product is not among those that the server sells (--product-id).",
                "该商品不在服务器所售商品之列（--product-id）。"
            )
        case .notYours: ("It was bought with the token of another account.", "购买时使用了另一账号的令牌。")
        case .tokenMissing:
            (
                "It was bought without an account token, which the server requires.",
                "购买时没有账号令牌，而服务器要求提供。"
            )
        case .undetermined: ("The evidence does not say enough to decide.", "凭证信息不足，无法判定。")
        }
    }
}
