package import AppStoreServerAPI
package import PurchaseLedger

/// An app to query the App Store about, with its client and its request budget.
package struct AppleApp: Sendable {
    package let app: AskedApp
    package let client: AppStoreServerClient
    /// The maximum number of requests an hour for all servers together. Apple allows 180,000 for most endpoints in
    /// production and a tenth of that in the sandbox, including requests from other programs.
    package let requestsPerHour: Int

    package static let defaultRequestsPerHour = 3600

    /// The maximum time for an answer. It must be less than the lease of an inquiry.
    static let maximumAnswerTime = Duration.seconds(30)

    package init(_ client: AppStoreServerClient, requestsPerHour: Int = defaultRequestsPerHour) {
        app = AskedApp(client.environment, client.signer.bundleID)
        self.client = client
        self.requestsPerHour = requestsPerHour
    }
}
