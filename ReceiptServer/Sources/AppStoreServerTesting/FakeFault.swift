import SeededRandom

/// A fault of an answer. The raw values are the names for `POST /fake/fault`.
@nonexhaustive
public enum FakeFault: String, Sendable, CaseIterable {
    /// 429 with `Retry-After` as Apple sends it, in milliseconds since 1970: one minute from now.
    case rateLimit = "rate-limit"
    /// 429 with `Retry-After` in seconds.
    case rateLimitSeconds = "rate-limit-seconds"
    /// 429 without `Retry-After`.
    case rateLimitWithoutHeader = "rate-limit-without-header"
    /// 429 with a `Retry-After` in the past.
    case rateLimitPast = "rate-limit-past"
    /// 500 with 5000000.
    case internalError = "internal-error"
    /// 500 with 5000001.
    case internalErrorRetryable = "internal-error-retryable"
    /// 503 with HTML, as a proxy sends it.
    case unavailable
    /// 401 without a body.
    case unauthorized
    /// The answer is delayed by ``FakeAppStore/Options/slowTime``.
    case slow
    /// The connection ends within the body.
    case tornBody = "torn-body"
    /// The connection ends within the headers.
    case tornHeader = "torn-header"
    /// The connection ends when it is reused.
    case closeOnReuse = "close-on-reuse"
    /// A gzip body that wasn't requested.
    case gzip
    /// 302 to another port.
    case redirect
    /// A body of 10 MiB.
    case huge
    /// JSON with a repeated member.
    case doubleMember = "double-member"
    /// `Content-Type: application/json; charset=utf-8`.
    case charset
    /// One bit of each signature is changed.
    case changedSignature = "changed-signature"
    /// The signed items belong to another app.
    case otherApp = "other-app"
    /// The signed items belong to another environment.
    case otherEnvironment = "other-environment"
    /// The items are signed under an untrusted root.
    case untrustedRoot = "untrusted-root"
    /// The items are signed with a date one day in the future.
    case future
    /// A transaction other than the requested one.
    case otherTransaction = "other-transaction"
    /// The first page again, with another token.
    case pageRepeated = "page-repeated"
    /// The token of the request again.
    case tokenLooped = "token-looped"
    /// A page is missing.
    case pageLost = "page-lost"
    /// The items on the page are in reverse order.
    case reversed
    /// An item of an earlier page again.
    case windowChanging = "window-changing"
    /// 404 with 4040010, although the transaction exists.
    case notFound = "not-found"
    /// The fake's clock is 10 minutes fast when it checks the token.
    case clockFast = "clock-fast"
    /// The fake's clock is 10 minutes slow when it checks the token.
    case clockSlow = "clock-slow"
}

/// The faults to come, and their order.
struct FaultPlan {
    private struct Ordered {
        let fault: FakeFault
        let endpoint: FakeAppStore.Endpoint?
        var count: Int
    }

    private var ordered: [Ordered] = []
    private var random: (generator: SeededGenerator, percent: Int, faults: [FakeFault])?

    mutating func add(_ fault: FakeFault, _ endpoint: FakeAppStore.Endpoint?, count: Int) {
        ordered.append(Ordered(fault: fault, endpoint: endpoint, count: count))
    }

    mutating func addRandom(seed: UInt64, percent: Int, _ faults: [FakeFault]) {
        random = (SeededGenerator(seed: seed), percent, faults)
    }

    /// Returns the fault of the next request.
    mutating func next(for endpoint: FakeAppStore.Endpoint) -> FakeFault? {
        if let index = ordered.firstIndex(where: { $0.endpoint == nil || $0.endpoint == endpoint }) {
            let fault = ordered[index].fault
            ordered[index].count -= 1
            if ordered[index].count <= 0 { ordered.remove(at: index) }
            return fault
        }
        guard var plan = random, !plan.faults.isEmpty else { return nil }
        defer { random = plan }
        guard Int.random(in: 0..<100, using: &plan.generator) < plan.percent else { return nil }
        return plan.faults[Int.random(in: 0..<plan.faults.count, using: &plan.generator)]
    }
}

/// A body in gzip without compression (RFC 1951, 3.2.4; RFC 1952).
enum StoredGzip {
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        var start = 0
        repeat {
            let end = min(start + 65_535, bytes.count)
            let count = UInt16(end - start)
            output.append(end == bytes.count ? 1 : 0)
            for number in [count, ~count] { output += [UInt8(number & 0xFF), UInt8(number >> 8)] }
            output += bytes[start..<end]
            start = end
        } while start < bytes.count
        for number in [checksum(bytes), UInt32(truncatingIfNeeded: bytes.count)] {
            output += (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        return output
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var value: UInt32 = .max
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value >> 1 ^ (value & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return ~value
    }
}
