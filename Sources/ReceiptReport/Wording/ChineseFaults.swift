@_spi(Surfaces) import AppStoreReceipt

/// The table of faults in Simplified Chinese. Its keys are the English texts of the rows, so that the tests fail until
/// a reworded row is translated.
enum ChineseFaults {
    /// What is wrong.
    static func explanation(of fault: Fault) -> String { explanations[fault.explanation] ?? fault.explanation }

    /// What to do: by the code, or else by the party at fault.
    static func advice(on fault: Fault) -> String {
        if let advice = advice[fault.code] { return advice }
        return switch (fault.party, fault.stage) {
        case (.client, .input), (.client, .container), (.client, .form):
            "请让客户端原样重新发送完整的凭证；如仍失败，请让 App 刷新收据。"
        case (.client, _): "Apple 不会发送这样的凭证。请拒绝，并记录发送者。"
        case (.forger, _): "这不是 Apple 的签名。请拒绝该凭证，并记录发送者。"
        case (.library, _): "内容已签名，但当前版本无法读取。请保留凭证，查找新版本，并报告此错误。"
        case (.configuration, _): "请更正验证器的设置，然后重新验证。"
        case (.host, _): "请检查此主机及其 OpenSSL，然后重新验证该凭证。"
        }
    }

    static let advice: [String: String] = [
        "empty-input": "请检查客户端是否发送了凭证，以及服务器是否传递了相应字段。",
        "input-too-large": "Apple 的凭证远小于此限制。请让客户端单独、原样发送。",
        "invalid-json": "请发送一个 JSON 对象，其中凭证为一个字符串。",
        "unrecognized-form": "请让客户端原样发送收据、其 base64，或 StoreKit 2 的 JWS。",
        "ambiguous-evidence": "请让客户端在一个成员中发送一次购买的凭证：`jwsRepresentation` 或收据。",
        "evidence-in-member": "请只发送该成员的值。",
        "several-pieces": "请逐份发送，或在接受数组的接口中以数组发送。",
        "unsigned-transaction": "任何人都可以写出这样的内容。请让客户端发送 `jwsRepresentation`，而不是 `jsonRepresentation` 或 JWS 的一部分。",
        "transaction-id": "请让客户端发送 `jwsRepresentation` 或收据。若只有 ID，请通过 App Store Server API 向 Apple 查询。",
        "google-play": "请将 Android 的购买发送给 Google 的 API。",
        "html": "代理、CDN 或登录页代替了应有的响应。请检查取得凭证的网址及其状态码。",
        "hexadecimal": "请让客户端发送 `base64EncodedString()`，而不是数据的描述。",
        "utf-16": "请让客户端以 UTF-8 发送。",
        "leaked-text": "请让客户端发送值本身，且仅在有值时发送；不要发送日志中的副本。",
        "content-digest-mismatch": "凭证在签名后被改动。请拒绝，并记录发送者。",
        "invalid-signature": "凭证系伪造或已损坏。请拒绝，并记录发送者。",
        "invalid-certificate-signature": "凭证系伪造或已损坏。请拒绝，并记录发送者。",
        "untrusted-chain": "没有受信任的根证书为其签名。请拒绝。若是自行生成或由 Xcode 生成的凭证，请提供相应的根证书（--root 或 --xcode-root）。",
        "unpinned-issuer": "并非由 Apple 签名，或使用了当前版本尚不认识的中间证书。请拒绝。",
        "certificate-expired": "凭证的日期晚于签名证书的有效期。请拒绝，并记录发送者。",
        "certificate-not-yet-valid": "凭证的日期早于签名证书的有效期。请拒绝，并记录发送者。",
        "distrusted-certificate": "签名证书已被设置为不信任（--distrust）。请拒绝，并记录发送者。",
        "bundle-id-mismatch": "若该 App 属于您，请提供其 Bundle ID（--bundle-id）；否则请拒绝该凭证。",
        "app-apple-id-mismatch": "若该 App 属于您，请提供其 Apple ID（--app-apple-id）；否则请拒绝该凭证。",
        "environment-missing":
            "Apple 在标明环境之前签署了该凭证，可能来自沙盒。请向 App Store Server API 查询该交易，它会重新签署（/v1/recover）。",
        "bundle-id-missing": "Apple 在标明 App 之前签署了该凭证。请向 App Store Server API 查询该交易，它会重新签署（/v1/recover）。",
        "unknown-environment": "Apple 签署了当前版本不认识的环境。请保留凭证，并报告此错误。",
        "environment-mismatch": "TestFlight 和 App 审核使用沙盒环境。如需接受，请提供相应环境（--environment）。",
        "part-mismatch": "Apple 通知的各部分总是一致。请保留该通知，并报告此错误。",
        "application-version-mismatch": "请让 App 在更新后刷新收据。",
        "device-mismatch": "请拒绝该收据，除非比较时使用了错误的设备标识符。",
        "receipt-too-old": "请让 App 发送较新的凭证；如需接受，请延长策略所允许的时间。",
        "signed-too-long-ago": "请让 App 发送较新的凭证；如需接受，请延长策略所允许的时间。",
        "receipt-from-the-future": "请检查验证主机的时钟。若时钟正确，请拒绝该凭证。",
        "signed-in-the-future": "请检查验证主机的时钟。若时钟正确，请拒绝该凭证。",
        "rsa-1024-not-allowed": "能够分解 Apple 的 1024 位密钥的人可以伪造此类收据。请拒绝，除非明确允许。",
        "no-app-apple-id": "如需检查此类凭证，请提供 App 的 Apple ID（--app-apple-id）。",
        "algorithm-unavailable": "请在此主机上允许 SHA-1 签名，然后重新验证。",
        "out-of-memory": "请为进程提供更多内存，然后重新验证该凭证。",
    ]

    static let explanations: [String: String] = [
        // The text around a receipt
        "the input is empty": "输入为空",
        "the input is larger than the limit": "输入超过大小限制",
        "the input is not a JWS, binary PKCS#7, base64, PEM, a JSON object or a property list":
            "输入不是 JWS、二进制 PKCS#7、base64、PEM、JSON 对象或属性列表",
        "several members that do not belong together have different evidence": "互不相关的多个成员含有不同的凭证",
        "the evidence is in a member that is not read, which `path` names": "凭证位于不会读取的成员中（见 `path`）",
        "the input has several pieces of evidence": "输入含有多份凭证",
        "the evidence was cut off": "凭证被截断",
        "the input is JSON about a purchase without Apple's signature": "输入是没有 Apple 签名的购买 JSON",
        "the input is the id of a transaction, which proves nothing": "输入是交易 ID，不能证明任何事",
        "the input is of Google Play": "输入来自 Google Play",
        "the input is a page in HTML or XML": "输入是 HTML 或 XML 页面",
        "the input is a receipt in hexadecimal": "输入是十六进制的收据",
        "the input is a text in UTF-16": "输入是 UTF-16 文本",
        "the input has what a language writes around a value or in place of one, or was shortened":
            "输入含有编程语言为值或空值添加的文字，或已被缩短",
        "the base64 has an invalid character or is incomplete": "base64 含有无效字符或不完整",
        "the PEM file has a wrong label, no end line, or text after its end": "PEM 文件的标签错误、缺少结束行，或结束后还有文本",
        "the JSON is malformed, or the member with the evidence is repeated or not a string":
            "JSON 格式错误，或凭证成员重复或不是字符串",
        "the JSON object has no member with evidence, such as `receipt-data`": "JSON 对象没有凭证成员（例如 `receipt-data`）",
        // The structure
        "the message has no signer or too many signers (a receipt has exactly one)": "消息没有签名者或签名者过多（收据恰有一个）",
        "the message has no content": "消息没有内容",
        "the content does not have the required type": "内容类型不符合要求",
        "the message does not contain its signer's certificate": "消息不含其签名者的证书",
        "two different certificates match the signer's identifier": "有两份不同的证书与签名者标识相符",
        "the JWS is larger than the limit": "JWS 超过大小限制",
        "a JWS must have exactly three parts, separated by dots": "JWS 必须恰有三个以点分隔的部分",
        "a part of the JWS is not base64url": "JWS 的某一部分不是 base64url",
        "the JWS header has no `alg`": "JWS 头部没有 `alg`",
        "the `alg` of the JWS header is not ES256": "JWS 头部的 `alg` 不是 ES256",
        "the JWS header requires an extension that is not supported (`crit`)": "JWS 头部要求不支持的扩展（`crit`）",
        "the JWS header has a key or the address of a key (`jwk`, `jku` or `x5u`)":
            "JWS 头部含有密钥或密钥地址（`jwk`、`jku` 或 `x5u`）",
        "the JWS header has no certificates (`x5c`)": "JWS 头部没有证书（`x5c`）",
        "the JWS header does not have three certificates (one, with StoreKit Testing trust)":
            "JWS 头部没有三份证书（信任 StoreKit Testing 时为一份）",
        "a certificate in the JWS header is not base64": "JWS 头部的证书不是 base64",
        "the version of the transaction receipt's signature is not 2, 3 or 4": "交易收据的签名版本不是 2、3 或 4",
        "the transaction receipt's signature ends before its certificate": "交易收据的签名在证书之前结束",
        "the stated length of the transaction receipt's certificate is not its length": "交易收据所述的证书长度与实际不符",
        "the transaction receipt has version 2, which is signed with an RSA key of 1024 bits, and the policy does not allow it":
            "交易收据为版本 2，使用 1024 位 RSA 密钥签名，策略不允许",
        // The signature and the chain
        "a digest or signature algorithm is not accepted": "摘要或签名算法不被接受",
        "the digest algorithm, the signature algorithm and the key do not match": "摘要算法、签名算法与密钥不匹配",
        "a digest algorithm is too weak (MD5, or SHA-1 where the policy refuses it)": "摘要算法过弱（MD5，或策略拒绝的 SHA-1）",
        "an RSA key has a size or an exponent that is not accepted": "RSA 密钥的长度或指数不被接受",
        "the key does not have the size that the version of the transaction receipt requires": "密钥长度不符合交易收据版本的要求",
        "a key has a type or a curve that is not accepted": "密钥类型或曲线不被接受",
        "the signed attributes do not conform to RFC 5652": "已签名属性不符合 RFC 5652",
        "the digest of the content does not match the signed digest": "内容的摘要与已签名的摘要不符",
        "the signature does not verify with the key of the signer's certificate": "签名无法用签名证书的密钥验证",
        "the signer's certificate does not chain to a trusted root": "签名证书无法链接到受信任的根证书",
        "the signer's certificate was not issued by an intermediate that is pinned for the version of the transaction receipt":
            "签名证书并非由该交易收据版本指定的中间证书颁发",
        "the certificate chain does not have the required length (three certificates for Apple's)":
            "证书链长度不符合要求（Apple 的证书链为三份）",
        "a certificate had expired by the validation date": "证书在验证日期前已过期",
        "a certificate was not yet valid on the validation date": "证书在验证日期尚未生效",
        "the signature on a certificate does not verify with its issuer's key": "证书上的签名无法用颁发者的密钥验证",
        "an issuing certificate is not a CA, may not sign certificates, or exceeds its path length":
            "颁发证书不是证书颁发机构、不得签发证书，或超出路径长度限制",
        "a certificate's key usage does not allow the use of its key": "证书的密钥用途不允许如此使用",
        "a certificate has an unknown critical extension": "证书含有未知的关键扩展",
        "the signer's certificate does not have Apple's marker extension for this purpose": "签名证书没有 Apple 为此用途设置的标记扩展",
        "the intermediate certificate does not have Apple's marker extension": "中间证书没有 Apple 的标记扩展",
        "a certificate is one that the policy distrusts": "某份证书被策略设为不信任",
        "a certificate cannot be read": "无法读取证书",
        "a certificate is larger than 64 KiB": "证书大于 64 KiB",
        "a trust anchor is not self-signed; another certificate issued it": "信任锚不是自签名证书，而由其他证书颁发",
        // The date
        "the receipt has no creation date": "收据没有创建日期",
        "the receipt has more than one creation date": "收据有多个创建日期",
        "the creation date of the receipt is not a valid date": "收据的创建日期无效",
        "the JWS payload has no signing date": "JWS 载荷没有签名日期",
        "the JWS payload has more than one signing date": "JWS 载荷有多个签名日期",
        "the signing date of the JWS is not a valid date": "JWS 的签名日期无效",
        "the transaction receipt has no purchase date": "交易收据没有购买日期",
        "a value of the purchase date is not a valid date": "购买日期的某个值无效",
        "the milliseconds, the GMT text and the Pacific text of a date are not the same date":
            "日期的毫秒值、GMT 文本与太平洋时间文本不一致",
        // The policy
        "the evidence is genuine, but its bundle id is not accepted": "凭证真实，但其 Bundle ID 不被接受",
        "the evidence is genuine, but its app Apple id is not accepted": "凭证真实，但其 App 的 Apple ID 不被接受",
        "the evidence is genuine, but names no environment": "凭证真实，但未标明环境",
        "the evidence is genuine, but names no app": "凭证真实，但未标明 App",
        "the evidence is genuine, but its environment is unknown": "凭证真实，但环境未知",
        "the evidence is genuine, but its environment is not accepted": "凭证真实，但其环境不被接受",
        "the notification and its signed part name different apps or environments": "通知与其已签名部分所述的 App 或环境不同",
        "the receipt is genuine, but is for another version of the app": "收据真实，但属于 App 的另一版本",
        "the receipt is genuine, but was made for another device": "收据真实，但为另一台设备生成",
        "the receipt is genuine, but is older than the policy accepts": "收据真实，但早于策略所接受的时间",
        "the receipt is genuine, but has a date in the future": "收据真实，但含有未来的日期",
        "the JWS is genuine, but is older than the policy accepts": "JWS 真实，但早于策略所接受的时间",
        "the JWS is genuine, but its signing date is in the future": "JWS 真实，但签名日期在未来",
        // The verifier and the host
        "a verifier needs at least one root certificate to trust": "验证器至少需要信任一份根证书",
        "a verifier needs at least one environment to accept": "验证器至少需要接受一个环境",
        "a verifier needs at least one bundle id to accept": "验证器至少需要接受一个 Bundle ID",
        "the options accept several environments, and the decision names none": "选项接受多个环境，而判定没有指定环境",
        "the environments `xcode` and `local-testing` require StoreKit Testing trust, and it accepts no other environments":
            "环境 `xcode` 和 `local-testing` 需要信任 StoreKit Testing，且不接受其他环境",
        "a root certificate cannot be used": "无法使用某份根证书",
        "the JWS has no bundle id, and the policy has no app Apple id to compare":
            "JWS 没有 Bundle ID，而策略没有可比较的 App Apple ID",
        "libcrypto on this host refuses an algorithm that the policy accepts (SHA-1 signatures on RHEL 9)":
            "此主机的 libcrypto 拒绝策略所接受的算法（RHEL 9 上的 SHA-1 签名）",
        "libcrypto could not allocate memory": "libcrypto 无法分配内存",
        "libcrypto failed for a reason other than the input": "libcrypto 因输入之外的原因失败",
        // ASN.1
        "an element runs past the end of its container": "某元素超出其容器的末尾",
        "a length does not fit in 63 bits": "长度超过 63 位",
        "a length is not encoded in the fewest bytes": "长度未以最少字节编码",
        "an element has an indefinite length where a definite length is required": "某元素使用了不定长度，而此处要求定长",
        "a length has the reserved value FF, or an end-of-contents marker has content": "长度为保留值 FF，或内容结束标记含有内容",
        "a tag number is not encoded in the fewest bytes": "标签号未以最少字节编码",
        "a tag number is 2^28 or more": "标签号大于或等于 2^28",
        "a string is in constructed form where the primitive form is required": "字符串为构造形式，而此处要求基本形式",
        "an end-of-contents marker stands outside an element of indefinite length": "内容结束标记位于不定长度元素之外",
        "a required element is missing": "缺少必需的元素",
        "an element does not have the type that the structure requires": "元素类型不符合结构要求",
        "an element has a value that the structure does not allow": "元素的值不为结构所允许",
        "there are extra bytes after the end of the structure": "结构结束后还有多余字节",
        "the members of a SET OF are not in DER order": "SET OF 的成员未按 DER 排序",
        "an element that may occur only once is repeated": "只能出现一次的元素重复出现",
        "a BOOLEAN is not one byte with the value 00 or FF": "BOOLEAN 不是值为 00 或 FF 的单个字节",
        "an INTEGER is empty or not encoded in the fewest bytes": "INTEGER 为空或未以最少字节编码",
        "an INTEGER is out of range": "INTEGER 超出范围",
        "a NULL has content": "NULL 含有内容",
        "a BIT STRING has a wrong count of unused bits, or unused bits that are not zero": "BIT STRING 的未用位数错误，或未用位不为零",
        "an OBJECT IDENTIFIER is empty, incomplete or not encoded in the fewest bytes":
            "OBJECT IDENTIFIER 为空、不完整或未以最少字节编码",
        "a string has a character that its type does not allow": "字符串含有其类型不允许的字符",
        "a date or time is malformed or does not exist": "日期或时间格式错误或不存在",
        "elements are nested more deeply than the limit allows": "元素嵌套超过限制",
        "there are more elements than the limit allows": "元素数量超过限制",
        // JSON
        "the JSON ends inside a value": "JSON 在某个值中途结束",
        "the JSON has a character that is not allowed at this position": "JSON 在此位置含有不允许的字符",
        "a JSON string has a control character": "JSON 字符串含有控制字符",
        "a JSON string has an invalid escape sequence": "JSON 字符串含有无效的转义序列",
        "a JSON string is not valid UTF-8": "JSON 字符串不是有效的 UTF-8",
        "a JSON number is malformed": "JSON 数字格式错误",
        "the JSON is nested more than 64 levels deep": "JSON 嵌套超过 64 层",
        "there is extra text after the end of the JSON": "JSON 结束后还有多余文本",
        "a JSON member has a value of the wrong type": "JSON 成员的值类型错误",
        "a JSON member has a value that is not allowed": "JSON 成员的值不被允许",
        "a JSON number is out of range": "JSON 数字超出范围",
        "a required JSON member is missing": "缺少必需的 JSON 成员",
        "a JSON member is repeated": "JSON 成员重复",
        // Property lists
        "the property list ends before its closing brace": "属性列表在右大括号之前结束",
        "the property list has a character that is not allowed at this position": "属性列表在此位置含有不允许的字符",
        "a key or a value of the property list is not in quotation marks": "属性列表的键或值没有引号",
        "a string of the property list has a backslash": "属性列表的字符串含有反斜杠",
        "the property list has a comment": "属性列表含有注释",
        "a value of the property list is not a string": "属性列表的值不是字符串",
        "a string of the property list has a control character": "属性列表的字符串含有控制字符",
        "a string of the property list is not valid UTF-8": "属性列表的字符串不是有效的 UTF-8",
        "a key of the property list is repeated": "属性列表的键重复",
        "the property list has more than 256 keys": "属性列表的键超过 256 个",
        "there is extra text after the end of the property list": "属性列表结束后还有多余文本",
        "a required key of the transaction receipt is missing": "缺少交易收据必需的键",
        "a value of the transaction receipt is not base64": "交易收据的某个值不是 base64",
        "a value of the transaction receipt does not have the format of its key": "交易收据的某个值不符合其键的格式",
    ]
}
