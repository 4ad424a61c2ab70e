import StrictText

// Apple gives access to retention messages on request. Without access, every call is answered with 404 and no code.
// Uploads aren't idempotent: if an answer is lost, check whether the list has the identifier.

extension AppStoreServerClient {
    private static let messaging = ["inApps", "v1", "messaging"]

    // MARK: Images

    /// Uploads an image for retention messages (Upload Image).
    ///
    /// - Parameters:
    ///   - image: The image.
    ///   - identifier: A new UUID.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` if the image breaks one of Apple's rules.
    public func uploadImage(_ image: RetentionImage, identifier: String) throws(AppStoreServerError) {
        try AppStoreServerError.check(.uuid, identifier.isUUID)
        try image.check()
        let query = image.size.map { [(name: "imageSize", value: $0.rawValue)] } ?? []
        let body = Body(bytes: image.png, type: "image/png")
        try send(.put, Self.messaging + ["image", identifier], query: query, body)
    }

    /// Deletes an image (Delete Image). **It can't be undone.** Apple refuses to delete an image that a message uses.
    public func deleteImage(_ identifier: String) throws(AppStoreServerError) {
        try AppStoreServerError.check(.uuid, identifier.isUUID)
        try send(.delete, Self.messaging + ["image", identifier])
    }

    /// Requests all images (Get Image List).
    public func images() throws(AppStoreServerError) -> [UnsignedRetentionImage] {
        try ask(Inquiry(path: Self.messaging + ["image", "list"])) { (body) throws(JSONError) in
            try UnsignedRetentionImage.list(body)
        }
    }

    // MARK: Messages

    /// Uploads a message (Upload Message).
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - identifier: A new UUID.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` if the message breaks one of Apple's rules.
    public func uploadMessage(_ message: RetentionMessage, identifier: String) throws(AppStoreServerError) {
        try AppStoreServerError.check(.uuid, identifier.isUUID)
        try message.check()
        try send(.put, Self.messaging + ["message", identifier], Body(json: message.json))
    }

    /// Deletes a message (Delete Message). **It can't be undone.**
    public func deleteMessage(_ identifier: String) throws(AppStoreServerError) {
        try AppStoreServerError.check(.uuid, identifier.isUUID)
        try send(.delete, Self.messaging + ["message", identifier])
    }

    /// Requests all messages (Get Message List).
    public func messages() throws(AppStoreServerError) -> [UnsignedRetentionMessage] {
        try ask(Inquiry(path: Self.messaging + ["message", "list"])) { (body) throws(JSONError) in
            try UnsignedRetentionMessage.list(body)
        }
    }

    // MARK: Default messages

    /// Sets the message that Apple shows if your server doesn't answer in time (Configure Default Message).
    ///
    /// - Parameters:
    ///   - messageIdentifier: The UUID of a message that Apple has approved.
    ///   - productID: The product id of the subscription.
    ///   - locale: The locale, such as `en-US`.
    public func setDefaultMessage(
        _ messageIdentifier: String, of productID: String, locale: String
    ) throws(AppStoreServerError) {
        try AppStoreServerError.check(.uuid, messageIdentifier.isUUID)
        let body = JSONWriter.object { $0.member("messageIdentifier", messageIdentifier) }
        try send(.put, try Self.defaultMessage(productID, locale), Body(json: body))
    }

    /// Requests the default message (Get Default Message).
    ///
    /// - Returns: The UUID of the message, or `nil` if the answer has none.
    public func defaultMessage(of productID: String, locale: String) throws(AppStoreServerError) -> String? {
        try ask(Inquiry(path: try Self.defaultMessage(productID, locale))) { (body) throws(JSONError) in
            try DefaultMessageAnswer(body).identifier
        }
    }

    /// Removes the default message (Delete Default Message).
    public func deleteDefaultMessage(of productID: String, locale: String) throws(AppStoreServerError) {
        try send(.delete, try Self.defaultMessage(productID, locale))
    }

    private static func defaultMessage(
        _ productID: String, _ locale: String
    ) throws(AppStoreServerError) -> [String] {
        try checkID(productID)
        try checkID(locale)
        return messaging + ["default", productID, locale]
    }

    // MARK: The real-time endpoint

    /// Sets the URL from which Apple requests a message (Configure Realtime URL). In production, Apple requires that a
    /// performance test has passed.
    public func setRealtimeURL(_ url: String) throws(AppStoreServerError) {
        let isURL = url.utf8.starts(with: "https://".utf8) && url.utf8.count > 8 && url.unicodeScalars.count <= 256
        try AppStoreServerError.check(.realtimeURL, isURL)
        let body = JSONWriter.object { $0.member("realtimeURL", url) }
        try send(.put, Self.messaging + ["realtime", "url"], Body(json: body))
    }

    /// Requests the URL from which Apple requests a message (Get Realtime URL).
    ///
    /// - Returns: The URL, or `nil` if the answer has none.
    public func realtimeURL() throws(AppStoreServerError) -> String? {
        try ask(Inquiry(path: Self.messaging + ["realtime", "url"])) { (body) throws(JSONError) in
            try RealtimeURLAnswer(body).url
        }
    }

    /// Removes the URL from which Apple requests a message (Delete Realtime URL).
    public func deleteRealtimeURL() throws(AppStoreServerError) {
        try send(.delete, Self.messaging + ["realtime", "url"])
    }

    /// Starts a performance test of the URL (Initiate Performance Test), in the sandbox only.
    ///
    /// - Parameter originalTransactionID: The original transaction id of a subscription in the sandbox.
    public func startPerformanceTest(
        originalTransactionID: String
    ) throws(AppStoreServerError) -> UnsignedPerformanceTest {
        try AppStoreServerError.check(.sandboxOnly, environment == .sandbox)
        try Self.checkID(originalTransactionID)
        let body = JSONWriter.object { $0.member("originalTransactionId", originalTransactionID) }
        let inquiry = Inquiry(path: Self.messaging + ["performanceTest"], method: .post, body: Body(json: body))
        return try ask(inquiry) { (body) throws(JSONError) in try UnsignedPerformanceTest(body) }
    }

    /// Requests the result of a performance test (Get Performance Test Results), in the sandbox only.
    public func performanceTestResult(_ requestID: String) throws(AppStoreServerError) -> UnsignedPerformanceTestResult
    {
        try AppStoreServerError.check(.sandboxOnly, environment == .sandbox)
        try Self.checkID(requestID)
        return try ask(Inquiry(path: Self.messaging + ["performanceTest", "result", requestID])) {
            (body) throws(JSONError) in try UnsignedPerformanceTestResult(body)
        }
    }
}
