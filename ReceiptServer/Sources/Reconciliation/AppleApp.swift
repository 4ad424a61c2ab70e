package import AppStoreServerAPI
package import PurchaseLedger

/// An app about which the App Store is asked, with the client that asks, and the budget.
package struct AppleApp: Sendable {
    package let app: AskedApp
    package let client: AppStoreServerClient
    /// The most requests an hour of all servers together. Apple allows 180,000 for most endpoints in production, and a
    /// tenth in the sandbox, and counts those of other programs, too.
    package let requestsPerHour: Int

    package static let defaultRequestsPerHour = 3600

    /// How long an answer may take. It must be less than the lease of a question.
    static let maximumAnswerTime = Duration.seconds(30)

    package init(_ client: AppStoreServerClient, requestsPerHour: Int = defaultRequestsPerHour) {
        app = AskedApp(client.environment, client.signer.bundleID)
        self.client = client
        self.requestsPerHour = requestsPerHour
    }
}
