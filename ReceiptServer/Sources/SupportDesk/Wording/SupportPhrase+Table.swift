@_spi(Surfaces) import ReceiptReport

extension SupportPhrase {
    func text(in language: Language) -> StaticString {
        let (english, chinese) = texts
        return language.choose(english, chinese)
    }

    /// The text in English and in Simplified Chinese.
    private var texts: (StaticString, StaticString) {
        switch self {
        // The frame
        case .title: ("Support desk", "客服台")
        case .skip: ("Skip to the answer", "跳到结果")
        case .signOut: ("Sign out", "退出登录")
        case .settings: ("Language and time zone", "语言和时区")
        case .newSearch: ("New search", "重新查询")
        case .timesInZone: ("Times are in {0}; UTC in brackets.", "时间为 {0}；括号内为 UTC。")
        case .timesInUTC: ("Times are in UTC.", "时间均为 UTC。")
        case .beijing: ("Beijing time", "北京时间")
        case .limits:
            (
                "This page knows what Apple signed and what was sent to this server. It does not know about refunds without a notification, who holds a device, or what your app shows the customer.",
                "本页面只知道 Apple 签署的内容以及发送到此服务器的内容。它不知道未收到通知的退款、设备由谁持有，也不知道您的 App 向用户显示了什么。"
            )

        // Signing in
        case .signIn: ("Sign in", "登录")
        case .signInAbout: ("For staff with a token of the scope “support”.", "供持有 support 权限令牌的员工使用。")
        case .token: ("Token", "令牌")
        case .tokenRefused:
            (
                "The token is unknown, or does not have the scope “support”. Enter the first word of its line only.",
                "令牌未知，或没有 support 权限。只输入该行的第一个词。"
            )
        case .tooManyAttempts:
            (
                "Too many wrong tokens were sent. Wait a minute. A token of 32 bytes or more is always checked.",
                "错误令牌过多，请等待一分钟。32 字节及以上的令牌始终会被检查。"
            )
        case .sessionOver: ("The session has ended. Sign in again.", "会话已结束，请重新登录。")
        case .notFromHere:
            (
                "The request did not come from a page of this desk. Nothing was done.",
                "请求并非来自本客服台的页面，未执行任何操作。"
            )
        case .wrongHost:
            (
                "This is not the desk's address. Start the server with --support-origin and the address that browsers use.",
                "客服台的地址与此不同。请用 --support-origin 指定浏览器所用的地址启动服务器。"
            )
        case .refusedForm: ("The form could not be read. Nothing was done.", "无法读取表单，未执行任何操作。")
        case .ledgerFailed: ("The ledger failed. The server's log has the reason.", "账本出错。原因见服务器日志。")
        case .ledgerUnavailable: ("The ledger cannot be reached at the moment. Try again.", "暂时无法访问账本，请重试。")
        case .language: ("Language", "语言")
        case .zone: ("Time zone", "时区")
        case .save: ("Save", "保存")

        // The search
        case .unnamedNotifications: ("Notifications of no app", "未指明应用的通知")
        case .unnamedAbout:
            (
                "Apple signed them without an app or an environment, so nothing was granted or taken back. If your server made the claims, end the access that they gave.",
                "这些通知由 Apple 签名，但未指明应用和环境，未授予也未收回任何内容。如果席位申领由您的服务器创建，请结束其授予的访问权限。"
            )
        case .claimsEnded: ("{0}: claims that ended: {1}.", "{0}：已结束的席位申领数：{1}。")
        case .claims: ("Their ids: {0}.", "其标识符：{0}。")
        case .endedPeriods: ("Paid periods that were reported too late", "未及时获知、已结束的付费周期")
        case .endedAbout:
            (
                "The server learned of them after they had ended, so it granted nothing. If you deliver something for each period, deliver it. “receipt-server reconcile --ended” lists all of them and removes them from this page.",
                "服务器在这些周期结束后才获知，因此未授予任何内容。如果您按周期交付商品，请补交。“receipt-server reconcile --ended” 会列出全部周期，并将其从本页移除。"
            )
        case .uncertainClaims: ("Owners to check", "需要核对的所有者")
        case .uncertainAbout:
            (
                "Part of what each account owned was in fact assigned to a member. Version 0.3.0 did not record which transaction made the account the owner of the rest. If it was the member's, transfer the rest.",
                "其名下的部分交易实为分配给成员的席位。0.3.0 版未记录哪笔交易使其成为其余部分的所有者。如果是成员的交易，请将其余部分转移。"
            )
        case .uncertainClaim: ("{0}, of transaction {1}.", "{0}，交易 {1}。")
        case .search: ("Search", "查询")
        case .searchLabel: ("What the customer sent, or what you have", "用户发来的内容，或您手中的信息")
        case .searchAbout:
            (
                "A receipt, a JWS, a log line, a transaction id, an order id, an account or an account token.",
                "收据、JWS、日志行、交易 ID、订单号、账号或账号令牌。"
            )
        case .searched: ("Answer", "结果")
        case .searchedText: ("Searched: {0}", "查询内容：{0}")
        case .nothingFound: ("The ledger has no record of this.", "账本中没有与此相关的记录。")
        case .nothingFoundAdvice:
            (
                "No purchase, account, token, order or kept request has this name. Look for a typing error, or search for the customer's account. If the customer paid, let them open the app again: it then sends unfinished transactions. Purchases that are not consumed can also be restored.",
                "没有任何购买、账号、令牌、订单或已保存的请求与此名称相符。请检查是否输入有误，或查询用户的账号。若用户已付款，请其重新打开 App：未完成的交易会再次送达，App 随后会提交凭证。非消耗型商品和订阅也可以恢复购买。"
            )
        case .askForOrder:
            (
                "Or ask the customer for the order id in Apple's e-mail, which begins with M, and search for it.",
                "也可请用户提供 Apple 邮件中以 M 开头的订单号，然后查询。"
            )
        case .cannotAskApple:
            (
                "This server is not set up to ask Apple.",
                "此服务器未设置为可询问 Apple。"
            )
        case .maybeTransaction:
            (
                "{0} may be a transaction id whose evidence was never sent to this server. Only Apple can say whether it exists.",
                "{0} 可能是尚无人向此服务器提交凭证的交易 ID。只有 Apple 知道它是否存在。"
            )
        case .maybeOrder:
            (
                "{0} may be the order id from Apple's e-mail. Only Apple knows its transactions.",
                "{0} 可能是 Apple 邮件中的订单号。只有 Apple 知道其中包含哪些交易。"
            )
        case .moreFound: ("There is more. Search for one id at a time.", "还有更多内容。请每次查询一个 ID。")
        case .moreEvidence: ("Only the first {0} pieces of evidence were checked.", "仅检查了前 {0} 份凭证。")
        case .foundEvidence: ("Report on the evidence", "凭证报告")
        case .reportAbout:
            (
                "The evidence shows only what Apple knew when it was signed. The current state is above.",
                "所提交的凭证只说明 Apple 签署时的情况。目前的情况见上方。"
            )
        case .nothingRedeemed:
            (
                "The ledger does not have this purchase: no account has sent it, and no notification named it. Let the customer open the app again, or restore purchases that are not consumed.",
                "账本中没有此购买：没有账号提交过它，也没有通知提及它。请让用户重新打开 App（未完成的交易会再次送达）；非消耗型商品和订阅也可以恢复购买。"
            )
        case .noPurchase: ("It proves no purchase.", "其中没有可证明的购买。")

        // The answer
        case .transactionStory: ("Transaction {0}", "交易 {0}")
        case .appleOrder: ("Apple's order {0}", "Apple 订单 {0}")
        case .has: ("{0} has it: {1} × {2}.", "{0} 拥有：{1} × {2}。")
        case .hasPeriod: ("{0} has it: {1}, until {2}.", "{0} 拥有：{1}，至 {2}。")
        case .renewedNow: ("{0} has it: a renewal of {1} runs until {2}.", "{0} 拥有：{1} 已续订至 {2}。")
        case .hadPeriod:
            (
                "{0} had it: {1}. The period ended {2}, and no renewal is known.",
                "{0} 曾拥有：{1}。该周期已于 {2} 结束，未见续订。"
            )
        case .hadBefore: ("{0} had been granted it: {1} × {2}.", "此前已发放给 {0}：{1} × {2}。")
        case .nobodyHas: ("Nobody has it.", "没有人拥有它。")
        case .refundedNow: ("Apple refunded or revoked it {0}. Nobody has it now.", "Apple 已于 {0} 退款或撤销。现在没有人拥有它。")
        case .partlyRefundedNow: ("Apple refunded {0} % of it.", "Apple 已退还其中 {0}%。")
        case .takenBackNow: ("An operator took it back {0}.", "运营人员已于 {0} 收回。")
        case .sandboxNow:
            (
                "It is from the sandbox, in which apps are tested: nobody paid.",
                "来自沙盒环境（用于测试 App）：没有人付款。"
            )
        case .anotherAppNow: ("It is from another app, and proves nothing here.", "来自另一个 App，在此不能证明任何内容。")
        case .forgedNow:
            (
                "It does not prove that Apple sold anything. Grant nothing for it. Have the customer open the app again, or restore purchases that are not consumed.",
                "不能证明 Apple 售出过任何内容：请勿据此发放。请让用户重新打开 App（未完成的交易会再次送达）；非消耗型商品和订阅也可以恢复购买。"
            )
        case .adjustedNow: ("Support set its quantity to {0}.", "客服已将其数量设为 {0}。")
        case .ownsWithoutGrant: ("It belongs to {0}, whose quantity is 0 now.", "归 {0} 所有，目前没有可用内容。")
        case .decidedNotYet:
            (
                "Its period has not begun: Apple signs a renewal up to a day early. It begins {0}, and is granted then.",
                "周期尚未开始：Apple 最多提前一天签署续订。周期于 {0} 开始，届时即会发放。"
            )
        case .decidedExpired: ("Its period has ended. A renewal is another transaction.", "周期已结束。续订是另一笔交易。")
        case .decidedRevoked: ("Apple refunded or revoked it.", "Apple 已退款或撤销。")
        case .decidedUpgraded: ("Another subscription of the group replaced it.", "已被同组的另一订阅替换。")
        case .decidedUnknown:
            (
                "The evidence does not say enough to decide. A transaction of StoreKit 2 does.",
                "凭证信息不足，无法判定。StoreKit 2 的交易则足够。"
            )
        case .decidedGrantable:
            (
                "It can be granted: no account has sent its evidence. Let the customer open the app again, or restore purchases that are not consumed.",
                "可以发放：还没有账号提交其凭证。请让用户重新打开 App（未完成的交易会再次送达）；非消耗型商品和订阅也可以恢复购买。"
            )
        case .notifiedNow: ("Your backend was notified.", "已通知您的后端。")
        case .notNotifiedNow:
            (
                "The event could not be delivered to your backend. Send it again below.",
                "未能通知您的后端：事件投递失败。请在下方重新发送。"
            )
        case .waitingNow: ("Your backend has not been notified yet: the event waits for delivery.", "尚未通知您的后端：事件等待投递。")
        case .manyWaitNow:
            ("Your backend has not been notified yet: {0} events wait for delivery.", "尚未通知您的后端：有 {0} 个事件等待投递。")
        case .nobodyNotified:
            (
                "No event is kept: your backend learned it from the answer to its request, or more than 30 days ago, or the grant was imported.",
                "没有保存事件：后端已由其请求的响应得知，或已超过 30 天，或该发放是导入的。"
            )
        case .othersTried: ("{0} sent it, too. The answer: {1}", "{0} 也提交过。结果：{1}")
        case .wasTransferredNow: ("It was transferred from {0} to {1}.", "已从 {0} 转移至 {1}。")
        case .confirmed:
            ("Apple was asked, and confirmed it {0}.", "已询问 Apple，并于 {0} 得到确认。")
        case .unconfirmed:
            (
                "Apple was asked and has not known it since {0}. That alone does not prove a forgery.",
                "已询问 Apple，自 {0} 起 Apple 表示没有此交易。仅此不能证明伪造。"
            )
        case .lengthUnknownNow:
            (
                "Its length is unknown, so it has no end: the server was started without this product's length (--product-type).",
                "期限未知，因此没有到期时间：服务器未设置该商品的时长（--product-type）。"
            )
        case .onlyAttempts: ("No evidence of it was accepted.", "没有任何凭证被接受。")

        // The story
        case .whatHappened: ("What happened, the newest first", "经过（最新在前）")
        case .bought: ("Bought at Apple: {0} × {1}.", "在 Apple 购买：{0} × {1}。")
        case .boughtAs: ("Bought at Apple: {0}, until {1}.", "在 Apple 购买：{0}，至 {1}。")
        case .assignedAs: ("Assigned at Apple: a seat of {0}, until {1}.", "在 Apple 获得分配的席位：{0}，至 {1}。")
        case .seats: ("Its seats: {0}.", "席位数：{0}。")
        case .ends: ("Its period ends.", "周期结束。")
        case .owned: ("{0} became its owner.", "{0} 成为其所有者。")
        case .granted: ("Granted to {0}: {1} × {2}.", "已发放给 {0}：{1} × {2}。")
        case .refunded: ("Refunded or revoked by Apple.", "Apple 退款或撤销。")
        case .refundedUndated: ("Apple signed that it is refunded or revoked.", "Apple 签署确认已退款或撤销。")
        case .assignmentRevoked: ("The assigned seat was taken back.", "已分配的席位被收回。")
        case .reasonAppIssue: ("The customer named a problem with the app.", "用户称 App 存在问题。")
        case .percent: ("{0} % of the price.", "退款比例 {0}%。")
        case .notificationArrived: ("Apple's notification {0} arrived.", "收到 Apple 的通知 {0}。")
        case .tried: ("{0} sent it. The answer: {1}", "{0} 提交。结果：{1}")
        case .triedOften: ("{0} sent it {1} times. The answer: {2}", "{0} 提交了 {1} 次。结果：{2}")
        case .triedRefused: ("{0} sent evidence that was refused: {1}", "{0} 提交的凭证被拒绝：{1}")
        case .triedRefusedOften: ("{0} sent evidence {1} times. It was refused: {2}", "{0} 提交了 {1} 次凭证，均被拒绝：{2}")
        case .inRequest: ("Request {0}.", "请求 {0}。")
        case .transactionIs: ("Transaction {0}.", "交易 {0}。")
        case .transferred: ("Transferred from {0} to {1}. Reason: {2}", "从 {0} 转移至 {1}。原因：{2}")
        case .adjusted:
            (
                "Support set the quantity of {0} from {1} to {2}. Reason: {3}",
                "客服将 {0} 的数量从 {1} 改为 {2}。原因：{3}"
            )
        case .gaveProduct: ("Support granted {0} the quantity {1}. Reason: {2}", "客服向 {0} 发放数量 {1}。原因：{2}")
        case .sentAgain: ("Support sent an event again. Reason: {0}", "客服重新发送了事件。原因：{0}")
        case .asked: ("Support asked Apple. Reason: {0}", "客服询问了 Apple。原因：{0}")
        case .takenBack: ("An operator took it back from {0}.", "运营人员从 {0} 收回。")
        case .notified: ("Your backend was notified, sequence {0}:", "已通知您的后端，序号 {0}：")
        case .acknowledged: ("It acknowledged this on {0}.", "后端已于 {0} 确认。")
        case .waiting: ("Your backend has not been notified yet, sequence {0}:", "尚未通知您的后端，序号 {0}：")
        case .dead: ("Your backend could not be notified, sequence {0}:", "未能通知您的后端，序号 {0}：")
        case .triedToNotify: ("Attempts: {0}.", "尝试次数：{0}。")
        case .becauseOf: ("The last failure: {0}", "最后一次失败：{0}")
        case .eventGranted: ("{0} has {2}, and had {1}.", "{0} 的数量由 {1} 变为 {2}。")
        case .eventRevoked: ("{0} has {2}, and had {1}: it was taken back.", "{0} 的数量由 {1} 变为 {2}：已收回。")
        case .eventRestored: ("{0} has {2}, and had {1}: a refund was reversed.", "{0} 的数量由 {1} 变为 {2}：退款已撤回。")
        case .eventAdjusted: ("{0} has {2}, and had {1}: a part was changed.", "{0} 的数量由 {1} 变为 {2}：部分退款，或数量被调整。")
        case .eventChanged: ("{0} has {2}, and had {1}: access ends at another date.", "{0} 的数量由 {1} 变为 {2}：到期日期已变更。")
        case .eventConflict:
            (
                "{0} has {2}, and had {1}, but it was bought with the token of another account.",
                "{0} 的数量由 {1} 变为 {2}，但购买时使用了另一账号的令牌。"
            )
        case .eventCancelled: ("The subscription of {0} will not renew.", "{0} 的订阅将不再续订。")
        case .eventUncancelled: ("The subscription of {0} will renew again.", "{0} 的订阅已恢复续订。")
        case .eventBillingIssue: ("A charge of {0} failed: Apple is retrying.", "{0} 扣款失败：Apple 正在重试扣款。")
        case .eventRecovered: ("{0} was charged after a charge had failed.", "{0} 扣款失败后已成功扣款。")
        case .eventExpired: ("The subscription of {0} ended.", "{0} 的订阅已过期。")
        case .eventPriceIncrease: ("{0} was informed of a price increase.", "{0} 的订阅有涨价，Apple 已通知。")
        case .eventProductChange: ("The subscription of {0} renews as another product.", "{0} 的订阅将续订为其他产品。")
        case .eventRenewalExtended: ("The period of {0} was extended.", "{0} 的订阅周期已延长。")
        case .eventRefundRequested: ("{0} asked Apple for a refund.", "{0} 已向 Apple 申请退款。")
        case .eventRefundDeclined: ("Apple declined a refund of {0}.", "Apple 拒绝了 {0} 的退款申请。")
        case .moreEntries: ("The latest {0} entries of each kind are shown.", "每类仅显示最近 {0} 条。")

        // Facts
        case .environment: ("Environment", "环境")
        case .app: ("App", "App")
        case .product: ("Product", "产品 ID")
        case .order: ("Order of your backend", "后端的订单")
        case .shopOrder: ("Order of your shop", "商城订单号")
        case .related: ("Other transactions of the purchase", "同一购买的其他交易")
        case .owner: ("Owner", "所有者")
        case .noOwner: ("none", "无")
        case .production: ("production", "生产环境")
        case .sandbox: ("sandbox: nobody paid", "沙盒环境：没有人付款")
        case .otherEnvironment: ("testing in Xcode: nobody paid", "Xcode 测试：没有人付款")

        // Accounts and requests
        case .accountStory: ("Account {0}", "账号 {0}")
        case .owns: ("Access now", "目前可用")
        case .ownsNothing:
            (
                "The evidence shows no active subscription and no permanent purchase. What was granted, such as coins, is below.",
                "凭证中没有有效的订阅，也没有永久购买的商品。已发放的商品（如金币）见下方。"
            )
        case .ownsItem: ("{0} × {1} ({2})", "{0} × {1}（{2}）")
        case .ownsUntil: ("{0}, until {1} ({2})", "{0}，至 {1}（{2}）")
        case .ownsLengthUnknown: ("{0}, without an end: its length is unknown ({1})", "{0}，期限未知，没有到期时间（{1}）")
        case .renewals: ("Renewal of its subscriptions", "订阅的续订状态")
        case .renewalOf: ("{0}, original transaction {1} ({2}):", "{0}，原始交易 {1}（{2}）：")
        case .accountTokens: ("Its account tokens, newest first: {0}", "账号令牌（新的在前）：{0} 个")
        case .tokenSince: ("{0}, since {1}", "{0}，自 {1} 起")
        case .moreTokens:
            (
                "The newest {0} are shown. A search for any of them finds the account.",
                "仅显示最新的 {0} 个。查询其中任何一个都可找到此账号。"
            )
        case .older: ("Older entries", "更早的记录")
        case .attemptStory: ("Request {0}", "请求 {0}")
        case .digest: ("SHA-256 of what was sent", "所发送内容的 SHA-256")
        case .evidenceDigest: ("SHA-256 of the evidence in it", "其中凭证的 SHA-256")
        case .evidenceKept:
            (
                "The evidence was kept: search for its SHA-256, and its report says why it was refused.",
                "凭证已保存：查询其 SHA-256，报告会说明被拒绝的原因。"
            )
        case .evidenceNotKept:
            (
                "The evidence was not kept: the server runs without --keep-evidence. Ask the customer for the receipt.",
                "凭证未保存：服务器运行时未使用 --keep-evidence。请向用户索取收据。"
            )

        case .clientsSend: ("The client sends something else", "客户端发送了其他内容")
        case .clientsSendAbout:
            (
                "What a client sent in place of evidence, by the code of the refusal, and what its developers do.",
                "按拒绝代码列出客户端代替凭证发送的内容，以及开发者应如何处理。"
            )

        // Acts
        case .acts: ("What you can do", "可执行的操作")
        case .actsAbout: ("Each act is recorded with its reason, and is shown above.", "每项操作连同原因都会被记录，并显示在上方。")
        case .needsScope: ("Your token does not have the scope {0}.", "您的令牌没有 {0} 权限。")
        case .reason: ("Reason (recorded)", "原因（会被记录）")
        case .sendAgain: ("Send the event again", "重新发送事件")
        case .sendAgainAbout: ("Sequence {0}. A backend that was notified already ignores it.", "序号 {0}。已收到过的后端会忽略它。")
        case .transfer: ("Transfer to another account", "转移至另一账号")
        case .transferAbout:
            (
                "{0} loses it with all its renewals, and both accounts are notified. The way back is a transfer to the first.",
                "该购买（订阅则含全部续订）将从 {0} 移走；两个账号的变更都会通知后端。转移回原账号即可撤销。"
            )
        case .to: ("To account", "目标账号")
        case .setQuantity: ("Set the quantity", "设置数量")
        case .setQuantityAbout:
            (
                "{0} has {1}. The way back: follow Apple again, or set it to what it was.",
                "{0} 现有 {1}。撤销方法：重新以 Apple 为准，或设回原值。"
            )
        case .quantity: ("Quantity", "数量")
        case .followApple: ("Follow Apple again", "重新以 Apple 为准")
        case .followAppleAbout:
            (
                "Undoes what support set: the quantity is again what Apple signed.",
                "撤销客服的设置：数量恢复为 Apple 所签署的数量。"
            )
        case .grantProduct: ("Grant a product", "发放商品")
        case .grantProductAbout:
            (
                "A gift of support to {0}. It gets an id that no evidence has. The way back: set its quantity to 0.",
                "客服向 {0} 赠送。它有一个任何凭证都没有的 ID。撤销方法：将其数量设为 0。"
            )
        case .productID: ("Product id", "产品 ID")
        case .bundleID: ("App (bundle id)", "App（Bundle ID）")
        case .askApple: ("Ask Apple now", "立即询问 Apple")
        case .askAppleAbout:
            (
                "Asks the App Store about {0}, and records what Apple signs.",
                "向 App Store 查询 {0}，并记录 Apple 签署的内容。"
            )
        case .didSend: ("The event is sent again.", "事件正在重新发送。")
        case .didTransfer: ("Purchases transferred to {1}: {0}.", "已转移至 {1} 的购买数：{0}。")
        case .didAdjust: ("The quantity is now {1}; it was {0}.", "数量现为 {1}；原为 {0}。")
        case .didGrant: ("Granted under the id {0}.", "已发放，ID 为 {0}。")
        case .didBefore: ("This form was sent before. Nothing was done again.", "此表单已提交过，未再次执行。")
        case .didAsk: ("Apple answered. Transactions recorded: {0}.", "Apple 已答复。已记录的交易数：{0}。")
        case .actNotFound:
            (
                "Nothing was done: the account has no such purchase, or there is no such event or app.",
                "未执行：该账号没有此购买，或没有此事件或 App。"
            )
        case .actInvalid: ("Nothing was done: a value is not allowed ({0}).", "未执行：有值不被允许（{0}）。")
        case .actRefunded:
            (
                "Nothing was done: Apple refunded it, or an operator took it back. Grant a product instead.",
                "未执行：Apple 已退款，或运营人员已收回。请改为发放商品。"
            )
        case .actFailed:
            (
                "It is not known whether it was done. Look at the story before you try again.",
                "无法确定是否已执行。重试前请先查看经过。"
            )
        case .actForbidden: ("Nothing was done: your token does not have the scope {0}.", "未执行：您的令牌没有 {0} 权限。")
        case .actTooOld:
            (
                "Nothing was done: the form is too old. This is what is so now; use its form.",
                "未执行：表单已过期。以下为当前情况，请使用新表单。"
            )
        case .actNoReason: ("Nothing was done: a reason is required.", "未执行：必须填写原因。")
        case .actNoNumber:
            (
                "Nothing was done: the quantity must be a number up to 1,000,000.",
                "未执行：数量必须为不超过 1,000,000 的数字。"
            )
        case .appleAnswered: ("Apple answered. What it signed was recorded.", "Apple 已答复，其签署的内容已记录。")
        case .appleUnknown:
            (
                "Apple does not know it in this app and environment. That alone proves nothing: the id can be mistyped, or of another app.",
                "Apple 在此 App 和环境中没有此记录。仅此不能证明任何事：ID 可能有误，或属于另一 App。"
            )
        case .appleUnavailable:
            (
                "Apple could not be asked at the moment, and nothing was changed. Try again later.",
                "暂时无法询问 Apple，未作任何更改。请稍后重试。"
            )
        case .appleRefused:
            (
                "Apple's answer was not accepted, and nothing was changed. The log of the server says why.",
                "Apple 的答复未被接受，未作任何更改。原因见服务器日志。"
            )
        case .appleSettings:
            (
                "Apple did not answer, since the server has no valid key for the app. Nothing was changed. Tell its operator.",
                "服务器没有该 App 的有效密钥，因此 Apple 未答复，未作任何更改。请告知运营人员。"
            )
        case .applePartial:
            (
                "Something in Apple's answer was refused. The rest was recorded.",
                "Apple 的答复中有内容未被接受，其余内容已记录。"
            )
        case .didAskPartly:
            (
                "Something in Apple's answer was refused: {1}. The rest was recorded. Transactions recorded: {0}.",
                "Apple 的答复中有内容未被接受：{1}。其余内容已记录。已记录的交易数：{0}。"
            )
        case .didRefuse:
            (
                "Apple's answer was not accepted, and nothing was changed. Refused: {0}. To record the rest, choose so and ask again.",
                "Apple 的答复未被接受，未作任何更改。未接受的内容：{0}。如需记录其余内容，请在表单中选择后重新询问。"
            )
        case .ifRefused: ("If something in the answer is refused", "如答复中有内容未被接受")
        case .recordNothing: ("record nothing", "不作任何记录")
        case .recordRest: ("record the rest", "记录其余内容")
        case .appleInvalid: ("Apple was not asked: it has no such ids.", "未询问 Apple：Apple 没有此类 ID。")
        }
    }
}
