import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import StrictText

/// The data stored by the Retention Messaging API.
struct RetentionState {
    /// The sizes of images, by their identifiers.
    var images: [(id: String, size: String)] = []
    var messages: [(id: String, usesImages: [String])] = []
    /// The identifiers of default messages, by product and locale.
    var defaults: [[UTF8Bytes]: String] = [:]
    var realtimeURL: String?
    /// The tests that were started, by their request ids.
    var tests: [String] = []
}

extension FakeAppStore {
    /// Answers a call of the Retention Messaging API. Images and messages are approved immediately, as in the sandbox.
    ///
    /// - Parameter segments: The path after `inApps/v1/messaging`.
    /// - Returns: The answer, or `nil` for a success without a body.
    func retention(_ request: FakeRequest, _ segments: [String]) throws(FakeRefusal) -> JSONValue? {
        let id = segments.last ?? ""
        let isNamed =
            ["image", "message"].contains { $0 == segments.first } && segments.count == 2 && request.method != "GET"
        try FakeRefusal.check(4_000_000, "Bad request.", !isNamed || id.isUUID)
        switch (request.method, segments.first ?? "", segments.count) {
        case ("GET", "image", 2):
            return [
                "imageIdentifiers": .array(
                    retentionState.images.map { image in
                        [
                            "imageIdentifier": .string(image.id), "imageState": "APPROVED",
                            "imageSize": .string(image.size),
                        ]
                    })
            ]
        case ("PUT", "image", 2): try uploadImage(id, request)
        case ("DELETE", "image", 2): try deleteImage(id)
        case ("GET", "message", 2):
            return [
                "messageIdentifiers": .array(
                    retentionState.messages.map {
                        ["messageIdentifier": .string($0.id), "messageState": "APPROVED"]
                    })
            ]
        case ("PUT", "message", 2): try uploadMessage(id, try request.json())
        case ("DELETE", "message", 2): try deleteMessage(id)
        case (_, "default", 3): return try defaultMessage(request, segments.dropFirst().map(UTF8Bytes.init))
        case (_, "realtime", 2): return try realtimeURL(request)
        case ("POST", "performanceTest", 1): return try startTest(try request.json())
        case ("GET", "performanceTest", 3): return try testResult(id)
        default: throw FakeRefusal(4_040_000, "the fake App Store does not imitate \(request.method) \(request.path)")
        }
        return nil
    }

    private var retentionState: RetentionState { state.withLock(\.changes.retention) }

    private func change<Result>(_ body: (inout RetentionState) throws(FakeRefusal) -> Result) throws(FakeRefusal)
        -> Result
    where Result: Sendable {
        try state.withLock { (state) throws(FakeRefusal) in try body(&state.changes.retention) }
    }

    private static func checkText(
        _ code: Int64, _ text: String?, _ maximum: Int, in value: JSONValue
    ) throws(FakeRefusal) {
        try FakeRefusal.check(
            code, "Invalid request. A text is missing or too long.",
            text.map { 1...maximum ~= $0.unicodeScalars.count } ?? false)
    }

    // MARK: Images and messages

    private func uploadImage(_ id: String, _ request: FakeRequest) throws(FakeRefusal) {
        let size = request.value("imageSize") ?? "FULL_SIZE"
        try FakeRefusal.check(
            4_000_216, "Invalid request. The image size is invalid.",
            ["FULL_SIZE", "BULLET_POINT"].contains(where: size.hasSameBytes))
        let image = RetentionImage(png: request.body, size: RetentionImage.Size(rawValue: size))
        try FakeRefusal.check(4_000_161, "Invalid request. The image is invalid.", image.isAcceptable)
        try change { (state) throws(FakeRefusal) in
            try FakeRefusal.check(
                4_090_000, "An image with this identifier exists.",
                !state.images.contains { $0.id.hasSameBytes(as: id) })
            try FakeRefusal.check(
                4_030_014, "The maximum number of images is reached.", state.images.count < 2000)
            state.images.append((id, size))
        }
    }

    private func deleteImage(_ id: String) throws(FakeRefusal) {
        try change { (state) throws(FakeRefusal) in
            guard let index = state.images.firstIndex(where: { $0.id.hasSameBytes(as: id) }) else {
                throw FakeRefusal(4_040_014, "The image is not found.")
            }
            try FakeRefusal.check(
                4_030_019, "The image is in use.",
                !state.messages.contains { $0.usesImages.contains(where: id.hasSameBytes) })
            state.images.remove(at: index)
        }
    }

    private func uploadMessage(_ id: String, _ body: JSONValue) throws(FakeRefusal) {
        try Self.checkText(4_000_162, body.string("header"), 66, in: body)
        try Self.checkText(4_000_163, body.string("body"), 144, in: body)
        let points = body.array("bulletPoints") ?? []
        try FakeRefusal.check(4_000_218, "Invalid request. There are too many bullet points.", points.count <= 5)
        for point in points { try Self.checkText(4_000_219, point.string("text"), 66, in: point) }
        let images = [body["image"]].compactMap(\.self) + points
        for image in images { try Self.checkText(4_000_175, image.string("altText"), 150, in: image) }
        try FakeRefusal.check(
            4_000_224, "Invalid request. A header above the image requires an image.",
            !(body.string("headerPosition")?.hasSameBytes(as: "ABOVE_IMAGE") ?? false) || body["image"] != nil)
        let used = images.compactMap { $0.string("imageIdentifier") }
        let sizes = (body["image"] == nil ? [] : ["FULL_SIZE"]) + points.map { _ in "BULLET_POINT" }
        try change { (state) throws(FakeRefusal) in
            try FakeRefusal.check(
                4_090_001, "A message with this identifier exists.",
                !state.messages.contains { $0.id.hasSameBytes(as: id) })
            for (image, size) in zip(used, sizes) {
                guard let known = state.images.first(where: { $0.id.hasSameBytes(as: image) }) else {
                    throw FakeRefusal(4_040_014, "The image is not found.")
                }
                try FakeRefusal.check(
                    4_000_216, "Invalid request. The image has another size.", known.size.hasSameBytes(as: size))
            }
            try FakeRefusal.check(
                4_030_016, "The maximum number of messages is reached.", state.messages.count < 2000)
            state.messages.append((id, used))
        }
    }

    private func deleteMessage(_ id: String) throws(FakeRefusal) {
        try change { (state) throws(FakeRefusal) in
            guard let index = state.messages.firstIndex(where: { $0.id.hasSameBytes(as: id) }) else {
                throw FakeRefusal(4_040_015, "The message is not found.")
            }
            state.messages.remove(at: index)
        }
    }

    // MARK: Defaults, the URL and tests

    private func defaultMessage(_ request: FakeRequest, _ key: [UTF8Bytes]) throws(FakeRefusal) -> JSONValue? {
        let products = histories.values.flatMap(\.transactions).map { UTF8Bytes($0.productID) }
        try FakeRefusal.check(4_000_023, "Invalid request. The product id is invalid.", products.contains(key[0]))
        switch request.method {
        case "PUT":
            let id = try request.json().string("messageIdentifier") ?? ""
            try change { (state) throws(FakeRefusal) in
                try FakeRefusal.check(
                    4_040_015, "The message is not found.", state.messages.contains { $0.id.hasSameBytes(as: id) })
                state.defaults[key] = id
            }
            return nil
        case "DELETE":
            try change { (state) throws(FakeRefusal) in
                try FakeRefusal.check(
                    4_040_020, "The default message is not found.", state.defaults.removeValue(forKey: key) != nil)
            }
            return nil
        default:
            guard let id = retentionState.defaults[key] else {
                throw FakeRefusal(4_040_020, "The default message is not found.")
            }
            return ["messageIdentifier": .string(id)]
        }
    }

    private func realtimeURL(_ request: FakeRequest) throws(FakeRefusal) -> JSONValue? {
        switch request.method {
        case "PUT":
            guard let url = try request.json().string("realtimeURL"), url.utf8.starts(with: "https://".utf8),
                url.unicodeScalars.count <= 256
            else { throw FakeRefusal(4_000_215, "Invalid request. The real-time URL is invalid.") }
            // Tests run only in the sandbox, so none has passed here.
            try FakeRefusal.check(4_030_026, "No performance test has passed.", environment == .sandbox)
            try change { (state) throws(FakeRefusal) in state.realtimeURL = url }
            return nil
        case "DELETE":
            try change { (state) throws(FakeRefusal) in
                try FakeRefusal.check(4_040_021, "The real-time URL is not found.", state.realtimeURL != nil)
                state.realtimeURL = nil
            }
            return nil
        default:
            guard let url = retentionState.realtimeURL else {
                throw FakeRefusal(4_040_021, "The real-time URL is not found.")
            }
            return ["realtimeURL": .string(url)]
        }
    }

    private static let testConfiguration: JSONValue = [
        "maxConcurrentRequests": 10, "totalRequests": 100, "totalDuration": 60_000, "responseTimeThreshold": 500,
        "successRateThreshold": 95,
    ]

    private func startTest(_ body: JSONValue) throws(FakeRefusal) -> JSONValue {
        guard environment == .sandbox, let id = body.string("originalTransactionId") else {
            throw FakeRefusal(4_000_211, "Invalid request. The performance test request is invalid.")
        }
        let (_, transaction, _) = try originalTransaction(id)
        let isOwn = transaction.ownershipType != .familyShared
        let isOriginal = transaction.transactionID.hasSameBytes(as: transaction.originalTransactionID)
        try FakeRefusal.check(4_000_000, "Bad request.", isOwn && isOriginal)
        let number = try change { (state) throws(FakeRefusal) -> String in
            guard state.realtimeURL != nil else {
                throw FakeRefusal(4_040_021, "The real-time URL is not found.")
            }
            let number = String(state.tests.count + 1)
            state.tests.append(
                "00000000-0000-4000-9000-" + String(repeating: "0", count: 12 - number.utf8.count) + number)
            return state.tests.last ?? ""
        }
        return ["config": Self.testConfiguration, "requestId": .string(number)]
    }

    private func testResult(_ id: String) throws(FakeRefusal) -> JSONValue {
        try FakeRefusal.check(4_000_212, "Invalid request. The request id is invalid.", id.isUUID)
        let state = retentionState
        guard state.tests.contains(where: id.hasSameBytes) else {
            throw FakeRefusal(4_040_018, "The performance test run is not found.")
        }
        return [
            "config": Self.testConfiguration, "target": .string(state.realtimeURL ?? ""), "result": "PASS",
            "successRate": 100, "numPending": 0,
            "responseTimes": ["average": 20, "p50": 18, "p90": 30, "p95": 35, "p99": 60], "failures": [:],
        ]
    }
}
