// Descriptions for logs are short, because a notification has 20,000 bytes, and escape special characters.

extension JSONObject: CustomStringConvertible {
    /// The beginning of the text, for logs.
    public var description: String { text.utf8.beginning }
}

extension JWSMembers: CustomStringConvertible {
    package var description: String { text[range].beginning }
}

extension Collection<UInt8> {
    fileprivate var beginning: String { Array(prefix(201))[...].quoted(limit: 200) ?? "" }
}

extension TransactionInfo: CustomStringConvertible {
    /// A summary for logs, such as `transaction "1000" of "com.example.pro" in "com.example.app"`.
    public var description: String {
        "transaction \(quoted(transactionID)) of \(quoted(productID)) in \(quoted(bundleID))"
    }
}

extension RenewalInfo: CustomStringConvertible {
    /// A summary for logs, such as `renewal information on "1000"`.
    public var description: String { "renewal information on \(quoted(originalTransactionID))" }
}

extension AppTransaction: CustomStringConvertible {
    /// A summary for logs, such as `app transaction of "com.example.app"`.
    public var description: String { "app transaction of \(quoted(bundleID))" }
}

extension RealtimeRequest: CustomStringConvertible {
    /// A summary for logs, such as `real-time request on "1000"`.
    public var description: String { "real-time request on \(quoted(originalTransactionID))" }
}

extension AppStoreNotification: CustomStringConvertible {
    /// A summary for logs, such as `notification DID_RENEW in "com.example.app"`.
    public var description: String {
        let kind = [type?.rawValue, subtype?.rawValue].compactMap(\.self).joined(separator: "/")
        return "notification \(quoted(kind)) in \(quoted(data?.bundleID ?? appData?.bundleID ?? summary?.bundleID))"
    }
}

private func quoted(_ text: String?) -> String { text?.excerpt ?? "?" }

extension Verified: CustomStringConvertible {
    /// A summary of the payload for logs.
    public var description: String { "verified: \(payload)" }
}

extension VerifiedNotification: CustomStringConvertible {
    /// A summary of the notification and its signed parts, for logs.
    public var description: String {
        let parts: [(any CustomStringConvertible)?] = [
            transactionInfo?.payload, renewalInfo?.payload, appTransaction?.payload,
        ]
        let known = parts.compactMap { $0?.description }
        return notification.description + (known.isEmpty ? "" : " with \(known.joined(separator: ", "))")
    }
}
