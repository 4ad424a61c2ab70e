import AppStoreReceipt
import StrictText

/// A message that Apple shows to a customer who is about to cancel.
///
/// Source: Apple, "UploadMessageRequestBody" (Retention Messaging API 1.5).
public struct RetentionMessage: Hashable, Sendable {
    /// The header, of 1 to 66 characters.
    public var header: String
    /// The body, of 1 to 144 characters.
    public var body: String
    /// The image, or `nil` for none. Messages for offers and other plans can't have one.
    public var image: Image?
    /// The position of the header, or `nil` for Apple's default.
    public var headerPosition: HeaderPosition?
    /// The bullet points, at most 5.
    public var bulletPoints: [BulletPoint] = []

    /// Creates a message with only text.
    public init(header: String, body: String) {
        self.header = header
        self.body = body
    }

    /// An uploaded image.
    public struct Image: Hashable, Sendable {
        /// The UUID of the image.
        public var identifier: String
        /// The text for customers who can't see the image, of 1 to 150 characters.
        public var altText: String

        /// Creates an image.
        public init(identifier: String, altText: String) {
            self.identifier = identifier
            self.altText = altText
        }
    }

    /// A line of text with an image.
    public struct BulletPoint: Hashable, Sendable {
        /// The text, of 1 to 66 characters.
        public var text: String
        /// The image.
        public var image: Image

        /// Creates a bullet point.
        public init(text: String, image: Image) {
            self.text = text
            self.image = image
        }
    }

    /// The position of a header. Values that Apple adds later can be created from their text.
    public struct HeaderPosition: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Above the body.
        public static let aboveBody = Self(rawValue: "ABOVE_BODY")
        /// Above the image, which is then required.
        public static let aboveImage = Self(rawValue: "ABOVE_IMAGE")
    }

    func check() throws(AppStoreServerError) {
        func check(_ rule: RequestRule, _ text: String, _ maximum: Int) throws(AppStoreServerError) {
            try AppStoreServerError.check(rule, 1...maximum ~= text.unicodeScalars.count)
        }
        try check(.header, header, 66)
        try check(.body, body, 144)
        try AppStoreServerError.check(.bulletPoints, bulletPoints.count <= 5)
        for point in bulletPoints { try check(.bulletPointText, point.text, 66) }
        for image in [image].compactMap(\.self) + bulletPoints.map(\.image) {
            try AppStoreServerError.check(.uuid, image.identifier.isUUID)
            try check(.altText, image.altText, 150)
        }
        try AppStoreServerError.check(.aboveImage, headerPosition != .aboveImage || image != nil)
    }

    var json: [UInt8] {
        JSONWriter.object { writer in
            writer.member("header", header)
            writer.member("body", body)
            if let image { writer.object("image", image.write) }
            writer.member("headerPosition", ifAny: headerPosition?.rawValue)
            guard !bulletPoints.isEmpty else { return }
            writer.objects("bulletPoints", bulletPoints) { writer, point in
                writer.member("text", point.text)
                point.image.write(to: &writer)
            }
        }
    }
}

extension RetentionMessage.Image {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("imageIdentifier", identifier)
        writer.member("altText", altText)
    }
}

/// An image for retention messages.
public struct RetentionImage: Hashable, Sendable {
    /// A PNG without transparency.
    public var png: [UInt8]
    /// The purpose of the image, or `nil` for Apple's default.
    public var size: Size?

    /// Creates an image.
    public init(png: [UInt8], size: Size?) {
        self.png = png
        self.size = size
    }

    /// The purpose of an image. Values that Apple adds later can be created from their text.
    public struct Size: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// 3840 pixels wide, and 160 to 2160 high.
        public static let full = Self(rawValue: "FULL_SIZE")
        /// 1024 by 1024 pixels.
        public static let bulletPoint = Self(rawValue: "BULLET_POINT")
    }

    func check() throws(AppStoreServerError) { try AppStoreServerError.check(.image, isAcceptable) }

    /// Whether the image satisfies Apple's documented rules.
    package var isAcceptable: Bool {
        let header = PNGHeader(png)
        let fits =
            switch size {
            case .bulletPoint?: header?.width == 1024 && header?.height == 1024
            case .full?: header?.width == 3840 && 160...2160 ~= header?.height ?? 0
            // Apple checks images for purposes that this version doesn't know.
            default: header != nil
            }
        return fits && header?.hasAlpha == false
    }
}

/// The first chunk of a PNG (ISO/IEC 15948, 11.2.2).
private struct PNGHeader {
    let width: Int
    let height: Int
    /// Whether pixels have an alpha channel. A later `tRNS` chunk can also add transparency. Apple checks for that.
    let hasAlpha: Bool

    init?(_ bytes: [UInt8]) {
        let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        guard bytes.count >= 29, bytes.starts(with: start) else { return nil }
        func number(at offset: Int) -> Int { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        width = number(at: 16)
        height = number(at: 20)
        // Color types 4 and 6 are greyscale and color with alpha.
        hasAlpha = bytes[25] & 4 != 0
    }
}

/// An image in Apple's list.
public struct UnsignedRetentionImage: Hashable, Sendable {
    /// `imageIdentifier`.
    public let identifier: String?
    /// `imageState`: `PENDING`, `APPROVED`, `REJECTED`, or another.
    public let state: String?
    /// `imageSize`.
    public let size: RetentionImage.Size?
}

/// A message in Apple's list.
public struct UnsignedRetentionMessage: Hashable, Sendable {
    /// `messageIdentifier`.
    public let identifier: String?
    /// `messageState`: `PENDING`, `APPROVED`, `REJECTED`, or another.
    public let state: String?
}

/// A performance test that was started, with its requirements.
public struct UnsignedPerformanceTest: Hashable, Sendable {
    /// `requestId`, which requests the result.
    public let requestID: String?
    /// `config`.
    public let configuration: Configuration?

    /// The parameters and requirements of a test.
    public struct Configuration: Hashable, Sendable {
        /// `maxConcurrentRequests`.
        public let maximumConcurrentRequests: Int64?
        /// `totalRequests`.
        public let totalRequests: Int64?
        /// `totalDuration`, in milliseconds.
        public let totalDuration: Int64?
        /// `responseTimeThreshold`, in milliseconds.
        public let responseTimeThreshold: Int64?
        /// `successRateThreshold`, in percent.
        public let successRateThreshold: Int64?
    }
}

/// The result of a performance test.
public struct UnsignedPerformanceTestResult: Hashable, Sendable {
    /// `config`.
    public let configuration: UnsignedPerformanceTest.Configuration?
    /// `target`: the tested URL.
    public let target: String?
    /// `result`: `PENDING`, `PASS`, `FAIL`, or another.
    public let result: String?
    /// `successRate`, in percent.
    public let successRate: Int64?
    /// `numPending`.
    public let pendingCount: Int64?
    /// `responseTimes`.
    public let responseTimes: ResponseTimes?
    /// `failures`, in the order of the answer.
    public let failures: [Failure]

    /// The response times of your server, in milliseconds.
    public struct ResponseTimes: Hashable, Sendable {
        /// `average`.
        public let average: Int64?
        /// `p50`: half of the answers were at least this fast.
        public let p50: Int64?
        /// `p90`: nine of ten answers were at least this fast.
        public let p90: Int64?
        /// `p95`: 19 of 20 answers were at least this fast.
        public let p95: Int64?
        /// `p99`: 99 of 100 answers were at least this fast.
        public let p99: Int64?
    }

    /// The number of requests that failed for one reason.
    public struct Failure: Hashable, Sendable {
        /// Apple's word for the reason, such as `TIMED_OUT`.
        public let reason: String
        /// The number of requests.
        public let count: Int64
    }
}
