extension Phrase {
    func text(in language: Language) -> StaticString {
        let (english, chinese) = texts
        return language.choose(english, chinese)
    }

    /// The text in English and in Simplified Chinese.
    private var texts: (StaticString, StaticString) {
        switch self {
        // The frame
        case .title: ("App Store evidence report", "App Store 凭证报告")
        case .skipToContents: ("Skip to the report", "跳到报告正文")
        case .navigation: ("Contents", "目录")
        case .purchases: ("Purchases", "购买记录")
        case .timeline: ("Timeline", "时间线")
        case .footer:
            (
                "This page was made offline. It has no script and requests nothing.",
                "本页面离线生成，不含脚本，不请求任何网络资源。"
            )
        case .timesInUTC: ("Times are in UTC.", "时间均为 UTC。")
        case .timesInZone:
            ("Times are in UTC; those in brackets are in {0}.", "时间均为 UTC；括号内为 {0} 时间。")
        case .pieceNumber: ("Piece {0}", "第 {0} 份")
        case .characters: ("{0} characters in all", "共 {0} 个字符")
        case .showAll: ("show all", "显示全部")

        // The verdict
        case .genuineByApple: ("Genuine: Apple signed this for {0} ({1}).", "真实：Apple 为 {0}（{1}）签名。")
        case .genuineByRoot:
            (
                "Genuine under the root certificate that was given, not Apple's: signed for {0} ({1}).",
                "在所提供的根证书（并非 Apple 的）下真实：为 {0}（{1}）签名。"
            )
        case .genuineByXcode:
            (
                "Made by StoreKit Testing in Xcode for {0} ({1}): it proves no purchase.",
                "由 Xcode 的 StoreKit Testing 为 {0}（{1}）生成：不能证明任何购买。"
            )
        case .genuineWithoutApp: ("an app that it does not name", "未注明的 App")
        case .genuineAppless: ("an environment that it does not name", "未注明的环境")
        case .notAccepted:
            ("Genuine, but not accepted by this verifier.", "真实，但未被此验证器接受。")
        case .notGenuine:
            ("Not genuine: trust nothing in it.", "不真实：其中任何内容都不可信。")
        case .notEvidence:
            (
                "Not accepted: it could not be checked as evidence, so it proves nothing.",
                "未被接受：无法作为凭证检查，因此不能证明任何内容。"
            )
        case .signedUnreadable:
            (
                "Signed by a trusted signer, but this version cannot read the contents.",
                "由受信任的签名者签名，但当前版本无法读取其内容。"
            )
        case .partRefused:
            (
                "The notification is genuine, but one of its signed parts was refused.",
                "通知本身真实，但其中一个已签名部分被拒绝。"
            )
        case .notChecked:
            (
                "Not checked: the verifier or its host is at fault, not the evidence.",
                "未检查：问题出在验证器或其主机，而不是凭证。"
            )
        case .notRead: ("Not read: the file cannot be read.", "未读取：无法读取该文件。")
        case .several:
            (
                "{0} of {1} pieces of evidence are genuine and accepted.",
                "{1} 份凭证中有 {0} 份真实且被接受。"
            )
        case .severalNone: ("None of {0} pieces of evidence was accepted.", "{0} 份凭证均未被接受。")
        case .severalAll: ("All {0} pieces of evidence are genuine and accepted.", "全部 {0} 份凭证真实且被接受。")
        case .sandboxNote: ("From the sandbox: nobody paid.", "来自沙盒环境：没有人付款。")
        case .xcodeNote:
            ("Anyone who has Xcode can make such evidence.", "任何装有 Xcode 的人都能生成这样的凭证。")

        // The four questions
        case .isItGenuine: ("Is it genuine?", "是否真实？")
        case .whichApp: ("Which app?", "哪个 App？")
        case .whatNow: ("What does it give, taken alone?", "单看此凭证，可得到什么？")
        case .whyRefused: ("Why was it refused?", "为何被拒绝？")
        case .yesApple: ("Yes. Apple signed it.", "是。由 Apple 签名。")
        case .yesRoot:
            (
                "Yes, under the root certificate that was given. It is not Apple's.",
                "是，但依据的是所提供的根证书，并非 Apple 的。"
            )
        case .onlyXcode:
            ("Only as a test. Xcode signed it.", "仅为测试。由 Xcode 签名。")
        case .yesNotAccepted: ("Yes, it is genuine, but it was not accepted.", "是，真实，但未被接受。")
        case .no: ("No. It was forged, changed, or signed by somebody else.", "否。系伪造、被改动，或由他人签名。")
        case .unproved:
            ("Not proved. It could not be checked as evidence.", "未证明。无法作为凭证检查。")
        case .yesUnreadable:
            (
                "Its signature is genuine, but what it contains could not be read or accepted.",
                "签名真实，但其内容无法读取或未被接受。"
            )
        case .unknown: ("Unknown. It was not checked.", "未知。尚未检查。")
        case .someGenuine: ("{0} of {1} pieces are. See each below.", "{1} 份中有 {0} 份真实。详见下文各份。")
        case .noAppStated: ("The evidence names no app.", "凭证未注明 App。")
        case .appUnreadable: ("Unknown. Its contents cannot be read.", "未知。无法读取其内容。")
        case .claimedApp: ("Unknown. It claims to be for {0}.", "未知。它自称属于 {0}。")
        case .claimedAppNote: ("Anyone could have written that.", "任何人都可能写下这些内容。")
        case .appsMore: ("and {0} more", "以及另外 {0} 个")
        case .nothingNow: ("Nothing that gives access at this date.", "在此日期没有可用的商品。")
        case .nothingProved: ("Nothing is proved.", "未证明拥有任何商品。")
        case .ownedUntil: ("until {0}", "至 {0}")
        case .ownedForever: ("owned, without an end", "永久拥有")
        case .consumableQuantity: ("quantity {0}, to be granted once", "数量 {0}，只应发放一次")
        case .otherCount: ("{0} more: see Purchases", "另有 {0} 项：见“购买记录”")
        case .nothingRefused: ("Verification accepted it.", "已通过验证。")
        case .uncheckedApp:
            ("Not checked: whether the app is yours ({0}).", "未检查：该 App 是否属于您（{0}）。")
        case .uncheckedEnvironment:
            ("Not checked: whether the environment is the right one ({0}).", "未检查：环境是否正确（{0}）。")
        case .limits:
            (
                "Evidence does not say what happened after it was signed, such as refunds and renewals, or who sent it.",
                "凭证不会说明签名之后发生的事情（例如退款和续订），也不会说明由谁发送。"
            )

        // Checks
        case .checks: ("Seven checks", "七项检查")
        case .checkForm: ("Form", "形式")
        case .checkStructure: ("Structure", "结构")
        case .checkSignature: ("Signature", "签名")
        case .checkDate: ("Date", "日期")
        case .checkChain: ("Chain", "证书链")
        case .checkPayload: ("Contents", "内容")
        case .checkPolicy: ("Policy", "策略")
        case .aboutForm: ("Can the text around it be read?", "外层文本能否读取？")
        case .aboutStructure: ("Is it built like evidence?", "其构造是否符合凭证格式？")
        case .aboutSignature: ("Is it as it was signed?", "签名后是否未被改动？")
        case .aboutDate: ("Does it say when it was signed?", "是否注明签名日期？")
        case .aboutChain: ("Does a trusted root vouch for the signer?", "受信任的根证书是否为签名者作保？")
        case .aboutPayload: ("Can everything in it be read?", "其中内容能否全部读取？")
        case .aboutPolicy: ("Are app, environment and age accepted?", "App、环境和时效是否被接受？")
        case .passed: ("passed", "通过")
        case .failed: ("failed", "未通过")
        case .notReached: ("not reached", "未进行")
        case .reason: ("Reason", "原因")
        case .remedy: ("What to do", "处理方法")
        case .found: ("Found", "发现的值")
        case .expected: ("Expected", "应为")
        case .place: ("Place", "位置")
        case .code: ("Code", "代码")
        case .offset: ("byte {0} of {1}", "{1} 的第 {0} 字节")
        case .inPart: ("in the signed part {0}", "位于已签名部分 {0}")
        case .looksLike: ("what looked like {0}", "看似 {0}")
        case .unwrapped: ("The evidence was in something else, which was removed: {0}.", "凭证被包在其他内容中，已去除：{0}。")
        case .noCheckReached:
            ("No check was made: the fault is not in the evidence.", "未进行任何检查：问题不在凭证。")
        case .operatingSystem: ("The operating system says: {0}", "操作系统提示：{0}")

        // Signer
        case .whoSigned: ("Who signed it", "由谁签名")
        case .chainVerified:
            ("Each certificate vouches for the next. All were validated at {0}.", "每份证书为下一份作保。均按 {0} 的状态验证。")
        case .chainUnverified:
            (
                "These certificates came with the evidence. They were not verified: anyone could have written them.",
                "这些证书随凭证一同提供，未经验证：任何人都可能写下这些内容。"
            )
        case .root: ("Root", "根证书")
        case .intermediate: ("Intermediate", "中间证书")
        case .signer: ("Signer", "签名证书")
        case .certificate: ("Certificate {0}", "证书 {0}")
        case .validFromTo: ("Valid {0} to {1}", "有效期 {0} 至 {1}")
        case .fingerprint: ("SHA-256", "SHA-256")
        case .validityPicture: ("Validity of the certificate, with the date of validation", "证书有效期与验证日期")
        case .unreadableCertificate: ("This certificate cannot be read.", "无法读取此证书。")
        case .chainPassed:
            ("The verifier trusts the signer. These certificates came with the evidence.", "验证器信任签名者。以下证书随凭证一同提供。")
        case .moreCertificates: ("{0} more certificates are not shown.", "另有 {0} 份证书未显示。")

        // Kinds
        case .receipt: ("App receipt", "App 收据")
        case .transaction: ("Transaction (JWS)", "交易（JWS）")
        case .renewalInfo: ("Renewal information (JWS)", "续订信息（JWS）")
        case .appTransaction: ("App transaction (JWS)", "App 交易（JWS）")
        case .notification: ("Server notification (JWS)", "服务器通知（JWS）")
        case .realtimeRequest: ("Real-time request (JWS)", "实时请求（JWS）")
        case .transactionReceipt: ("Transaction receipt of iOS 3 to 6", "iOS 3 至 6 的交易收据")
        case .unknownKind: ("Unrecognized", "无法识别")
        case .storeKitJWS: ("JWS of StoreKit 2", "StoreKit 2 的 JWS")
        case .environment: ("Environment", "环境")
        case .production: ("production", "生产环境")
        case .sandbox: ("sandbox", "沙盒环境")
        case .xcode: ("Xcode", "Xcode")
        case .localTesting: ("local testing", "本地测试")

        // Purchases
        case .noPurchases: ("The evidence contains no purchase.", "凭证中没有购买记录。")
        case .purchaseCount: ("Transactions: {0}", "交易数：{0}")
        case .rowsShown:
            (
                "The latest {0} of {1} are shown. To see all: {2}",
                "显示 {1} 笔中最近的 {0} 笔。查看全部：{2}"
            )
        case .incompletePurchases:
            (
                "{0} records lack a product, a transaction id, a purchase date or a quantity, and are no purchases.",
                "{0} 条记录缺少产品 ID、交易 ID、购买日期或数量，不算作购买记录。"
            )
        case .product: ("Product", "产品 ID")
        case .gives: ("Gives", "状态")
        case .why: ("Why", "原因")
        case .bought: ("Bought", "购买日期")
        case .identifiers: ("Identifiers", "标识符")
        case .transactionID: ("Transaction", "交易")
        case .originalTransactionID: ("Original", "原始交易")
        case .quantityOf: ("quantity {0}", "数量 {0}")
        case .seatsOf: ("{0} of {1} seats", "{1} 个席位中的 {0} 个")
        case .active: ("Access", "可用")
        case .owned: ("Owned", "拥有")
        case .consumable: ("Grant once", "发放一次")
        case .notYet: ("Not yet", "尚未开始")
        case .expired: ("Expired", "已过期")
        case .revoked: ("Refunded", "已退款")
        case .upgraded: ("Replaced", "已被替换")
        case .lengthUnknown: ("Length unknown", "期限未知")
        case .undetermined: ("Undetermined", "无法判定")
        case .whyActive: ("The period is paid and runs until {0}.", "当前周期已付费，至 {0}。")
        case .whyActiveGrace:
            (
                "The paid period ended {0}. Apple is still trying to charge: a grace period runs until {1}.",
                "已付费周期于 {0} 结束。Apple 仍在尝试扣款：宽限期至 {1}。"
            )
        case .whyOwned: ("Bought once and kept. No refund is known.", "一次购买，永久拥有。未见退款。")
        case .whyConsumable:
            ("A consumable. Grant the quantity {0} once for this transaction.", "消耗型商品。此交易只应发放一次，数量 {0}。")
        case .whyConsumablePart:
            (
                "A consumable. A part was refunded: {0} of {1} remain, to be granted once.",
                "消耗型商品。部分已退款：剩余 {0}/{1}，只应发放一次。"
            )
        case .whyNotYet: ("It begins {0}.", "于 {0} 开始。")
        case .whyExpired: ("The period ended {0}.", "周期已于 {0} 结束。")
        case .whyEvidenceExpired: ("The evidence expired {0}.", "凭证已于 {0} 过期。")
        case .whyRevoked: ("Apple refunded or revoked it {0}.", "Apple 已于 {0} 退款或撤销。")
        case .whyRevokedUndated: ("Apple refunded or revoked it.", "Apple 已退款或撤销。")
        case .whyFamilyRevoked: ("Family Sharing of it ended {0}.", "家人共享已于 {0} 结束。")
        case .whyAssignmentRevoked: ("The assigned seat was taken back {0}.", "已分配的席位已于 {0} 被收回。")
        case .whyUpgraded:
            ("Another subscription of the group replaced it {0}.", "已于 {0} 被同组的另一订阅替换。")
        case .whyUpgradedUndated:
            ("Another subscription of the group replaced it.", "已被同组的另一订阅替换。")
        case .whyLengthUnknown:
            (
                "A subscription that does not renew. Only the app knows how long it lasts: state it ({0}).",
                "非续订订阅。只有 App 知道其期限：请说明（{0}）。"
            )
        case .whyUndetermined:
            (
                "The evidence does not say what kind of product it is, or when it ends: state it ({0}).",
                "凭证未说明商品类型或结束日期：请说明（{0}）。"
            )
        case .whyEnvironmentMissing:
            (
                "Apple signed no environment: it can be the sandbox, where nobody pays.",
                "Apple 未签署环境：可能是无人付费的沙盒环境。"
            )
        case .whyAppMissing: ("Apple signed no app.", "Apple 未签署 App。")
        case .whyQuantity: ("Apple signed no quantity of at least 1.", "Apple 未签署不小于 1 的数量。")
        case .whyUnknownValue:
            (
                "Apple signed a type of product or an ownership that this version does not know.",
                "Apple 签署了当前版本不认识的商品类型或所有权。"
            )
        case .reasonAppIssue: ("Stated reason: a problem with the app.", "所述原因：App 存在问题。")
        case .refundFull: ("The whole price was refunded.", "已全额退款。")
        case .refundPart: ("{0} % of the price was refunded.", "退款比例 {0}%。")
        case .familyShared: ("shared by a family member", "由家庭成员共享")
        case .assigned: ("assigned seat", "已分配的席位")
        case .restoredCopy: ("restored copy of {0}", "恢复自 {0}")
        case .statedType: ("type stated by the settings: {0}", "类型由设置说明：{0}")
        case .contradictedType:
            ("the settings say {0}, which the evidence contradicts", "设置说明为 {0}，与凭证矛盾")
        case .price: ("Price: {0}.", "价格：{0}。")
        case .seatPrice: ("Price of a seat, on average: {0}.", "每个席位的平均价格：{0}。")
        case .buyersPrice: ("Price that the buyer was charged: {0}.", "购买者支付的价格：{0}。")
        case .totalPrice:
            (
                "All {0} seats: {1}, which Apple does not mean for reconciling revenue.",
                "全部 {0} 个席位：{1}（Apple 说明不可用于收入对账）。"
            )
        case .storefront: ("App Store: {0}.", "App Store 国家或地区：{0}。")
        case .offerIntroductory: ("introductory offer", "推介优惠")
        case .offerTrial: ("free trial", "免费试用")
        case .offerPromotional: ("promotional offer", "促销优惠")
        case .offerCode: ("offer code", "优惠代码")
        case .offerWinBack: ("win-back offer", "赢回优惠")
        case .offerRetention: ("retention offer", "挽留优惠")
        case .offerOther: ("offer", "优惠")
        case .typeConsumable: ("consumable", "消耗型商品")
        case .typeNonConsumable: ("non-consumable", "非消耗型商品")
        case .typeNonRenewing: ("non-renewing subscription", "非续订订阅")
        case .typeAutoRenewable: ("auto-renewable subscription", "自动续订订阅")
        case .typeFree: ("free subscription", "免费订阅")
        case .typeUnknown: ("type not stated", "未注明类型")

        // Timeline
        case .timelineAbout:
            ("All lines have the same scale, from {0} to {1}.", "各行使用相同刻度：{0} 至 {1}。")
        case .oneTimePurchases: ("One-time purchases", "一次性购买")
        case .subscription: ("Subscription {0}", "订阅 {0}")
        case .timelinePicture: ("Periods of the subscription; the list below has the same facts", "订阅周期；下方列表内容相同")
        case .decidedFor: ("Decided for {0}", "判定日期 {0}")
        case .eventBought: ("bought", "购买")
        case .eventRenewed: ("renewed", "续订")
        case .eventUpgradedTo: ("replaced by {0}", "替换为 {0}")
        case .eventChangedTo: ("changed to {0}", "变更为 {0}")
        case .eventGap: ("gap without access until {0}", "中断，至 {0} 无访问权限")
        case .eventGrace: ("payment failed; grace period until {0}", "扣款失败；宽限期至 {0}")
        case .eventRefunded: ("refunded or revoked", "退款或撤销")
        case .eventExpires: ("ends, unless it is renewed", "结束（除非续订）")
        case .eventExpired: ("expired", "过期")
        case .eventEarlier: ("{0} earlier periods are not shown.", "另有 {0} 个更早的周期未显示。")
        case .eventRestored: ("restored", "恢复")
        case .renewsOn: ("Renewal is on.", "自动续订已开启。")
        case .renewsOff: ("Renewal is off.", "自动续订已关闭。")
        case .renewsUnknown: ("Whether it will renew is not known.", "无法确定是否会续订。")
        case .nextCharge: ("Date of the next charge: {0}.", "下次扣款日期：{0}。")
        case .renewsAs: ("The next period is of {0}.", "下个周期的产品 ID：{0}。")
        case .renewalSeats: ("Seats of the next period: {0}.", "下个周期的席位数：{0}。")
        case .renewalPrice: ("Price of the next period: {0}.", "下个周期的价格：{0}。")
        case .renewalSeatPrice:
            ("Price of a seat in the next period, on average: {0}.", "下个周期每个席位的平均价格：{0}。")
        case .renewalOffer: ("Offer for the next period: {0}.", "下个周期的优惠：{0}。")
        case .renewalOfferID: ("Offer for the next period: {0} {1}.", "下个周期的优惠：{0} {1}。")
        case .renewalAsOf:
            ("As Apple signed it on {0}, and it can have changed since:", "Apple 于 {0} 签署，此后可能有变：")
        case .increasePending: ("The customer has not agreed to a price increase yet.", "用户尚未同意涨价。")
        case .increaseAgreed:
            (
                "The customer agreed to a price increase, or was notified where no consent is required.",
                "用户已同意涨价，或已收到通知（无需同意时）。"
            )
        case .gracePeriod: ("Billing grace period: until {0}.", "扣款宽限期：至 {0}。")
        case .inGracePeriod:
            ("Access continues in the billing grace period, until {0}.", "在扣款宽限期内可继续使用，至 {0}。")
        case .retrying: ("Apple is retrying the charge.", "Apple 正在重试扣款。")
        case .expirationCancelled: ("It expired because the customer turned renewal off.", "因用户关闭自动续订而过期。")
        case .expirationBilling: ("It expired because Apple could not charge the customer.", "因扣款失败而过期。")
        case .expirationPrice:
            (
                "It expired because the customer did not agree to a price increase, or to the price after an offer.",
                "因用户未同意涨价或优惠后的价格而过期。"
            )
        case .expirationProduct: ("It expired because the product was not available.", "因商品不可用而过期。")
        case .expirationOther: ("It expired for another reason.", "因其他原因过期。")
        case .legendPaid: ("paid", "已付费")
        case .legendOffer: ("offer", "优惠")
        case .legendGrace: ("grace period", "宽限期")
        case .legendRefunded: ("refunded", "已退款")
        case .legendReplaced: ("replaced", "被替换")
        case .legendFuture: ("after the date", "判定日期之后")
        case .legendChange: ("change of product", "更换商品")
        case .legendGap: ("gap", "中断")
        case .moreSubscriptions: ("{0} more subscriptions are not shown.", "另有 {0} 个订阅未显示。")

        // Contents
        case .contents: ("Raw values", "原始值")
        case .contentsVerified: ("All values are signed.", "所有值均已签名。")
        case .contentsUnaccepted: ("The values are signed. The verifier does not accept them.", "这些值已签名，但验证器不接受。")
        case .contentsUnverified:
            ("Nothing here was verified: anyone could have written it.", "此处内容未经验证：任何人都可能写下这些内容。")
        case .header: ("Header", "头部")
        case .payload: ("Payload", "载荷")
        case .signature: ("Signature", "签名")
        case .moreRows: ("{0} more are not shown. To see all: {1}", "另有 {0} 项未显示。查看全部：{1}")
        case .purchaseAttributes: ("Purchase {0}", "购买记录 {0}")
        case .structure: ("Structure and bytes", "结构与字节")
        case .structureAbout:
            ("The structure on the left, its bytes on the right.", "左侧为结构，右侧为对应字节。")
        case .structureRest:
            ("The first {0} of {1} bytes are shown. To see all: {2}", "显示 {1} 字节中的前 {0} 字节。查看全部：{2}")
        case .structureMalformed: ("Malformed at byte {0}: {1}", "第 {0} 字节格式错误：{1}")
        case .propertyList: ("Property list", "属性列表")
        case .structureShared:
            (
                "Not shown: the pieces before it have used the space of the page. To see it: {0}",
                "未显示：页面空间已被前面的凭证用完。查看：{0}"
            )

        // Characters
        case .hiddenCharacters:
            (
                "A boxed {0} is a character that is invisible, reorders text, or piles marks on a letter.",
                "方框中的 {0} 表示不可见、会改变文字方向或叠加符号的字符。"
            )
        }
    }
}
