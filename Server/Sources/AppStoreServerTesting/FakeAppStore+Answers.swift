import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText

extension FakeAppStore {
    /// Answers a request to the App Store Server API as Apple does, or with the fault that is next.
    public func answer(_ request: FakeRequest) -> FakeAnswer {
        guard let route = Route(request) else {
            let call = "\(request.method) \(request.path)"
            return FakeAnswer(status: 404, ["error": .string("the fake App Store does not imitate \(call)")])
        }
        let fault = state.withLock { $0.faults.next(for: route.endpoint) }
        let date = tokenDate(fault)
        var answer = answer(request, route, fault, tokensAt: date)
        answer.headers.append(("Date", date.httpDate))
        return answer
    }

    private func answer(
        _ request: FakeRequest, _ route: Route, _ fault: FakeFault?, tokensAt date: Instant
    ) -> FakeAnswer {
        guard tokens.allows(request.authorization, at: date), fault != .unauthorized else {
            // Apple's has no body.
            return FakeAnswer(status: 401)
        }
        let end = state.withLock { state in
            state.requestCounts[route.endpoint, default: 0] += 1
            return state.spend(route.endpoint, limit: limit(of: route.endpoint))
        }
        if let end { return Self.rateLimit("\(end.millisecondsSince1970)") }
        if let fault, let answer = replacement(by: fault) { return answer }
        do throws(FakeRefusal) {
            return finished(try json(route, request, fault), fault)
        } catch {
            return finished(error.answer, fault)
        }
    }

    private func tokenDate(_ fault: FakeFault?) -> Instant {
        let date = options.tokenClock == .system ? Instant.now : now
        return switch fault {
        case .clockFast: date + .seconds(600)
        case .clockSlow: date - .seconds(600)
        default: date
        }
    }

    private func limit(of endpoint: Endpoint) -> Int {
        if let limit = options.requestsPerHour[endpoint] { return limit }
        let perSecond =
            switch endpoint {
            case .refundHistory, .orderLookup: 10
            case .requestTestNotification, .testNotificationStatus: 1
            default: 50
            }
        return environment == .production ? perSecond * 3600 : perSecond * 360
    }

    // MARK: Faults

    private static func rateLimit(_ retryAfter: String?) -> FakeAnswer {
        var answer = FakeRefusal(4_290_000, "Rate limit exceeded.").answer
        if let retryAfter { answer.headers.append(("Retry-After", retryAfter)) }
        return answer
    }

    /// The answer of a fault that leaves nothing of the right one.
    private func replacement(by fault: FakeFault) -> FakeAnswer? {
        switch fault {
        case .rateLimit: return Self.rateLimit("\((now + .seconds(60)).millisecondsSince1970)")
        case .rateLimitSeconds: return Self.rateLimit("60")
        case .rateLimitWithoutHeader: return Self.rateLimit(nil)
        case .rateLimitPast: return Self.rateLimit("\((now - .seconds(60)).millisecondsSince1970)")
        case .internalError: return FakeRefusal.internalError.answer
        case .internalErrorRetryable: return FakeRefusal(5_000_001, "An unknown error occurred. Try again.").answer
        case .unavailable:
            return FakeAnswer(status: 503, contentType: "text/html", text: "<html>service unavailable</html>")
        case .redirect:
            var answer = FakeAnswer(status: 302)
            answer.headers.append(("Location", "http://127.0.0.1:9/elsewhere"))
            return answer
        case .huge:
            var answer = FakeAnswer([:])
            answer.body = [UInt8](repeating: UInt8(ascii: " "), count: 10 << 20) + answer.body
            return answer
        case .notFound: return FakeRefusal.transactionIDNotFound.answer
        default: return nil
        }
    }

    private func finished(_ answer: FakeAnswer, _ fault: FakeFault?) -> FakeAnswer {
        var answer = answer
        switch fault {
        case .slow: answer.delivery = .slow(options.slowTime)
        case .tornBody: answer.delivery = .tornBody
        case .tornHeader: answer.delivery = .tornHeader
        case .closeOnReuse: answer.delivery = .closeOnReuse
        case .gzip:
            answer.body = StoredGzip.encode(answer.body)
            answer.headers.append(("Content-Encoding", "gzip"))
        case .charset: answer.headers = [("Content-Type", "application/json; charset=utf-8")]
        default: break
        }
        return answer
    }

    // MARK: Routes

    /// An endpoint, and the last segment of its path.
    private struct Route {
        let endpoint: Endpoint
        let id: String

        init?(_ request: FakeRequest) {
            let segments = request.path.utf8.split(separator: UInt8(ascii: "/")).map {
                String(decoding: $0, as: UTF8.self)
            }
            let isPost = request.method.hasSameBytes(as: "POST")
            guard isPost || request.method.hasSameBytes(as: "GET") else { return nil }
            func matches(_ path: String, hasID: Bool) -> Bool {
                let expected = path.utf8.split(separator: UInt8(ascii: "/"))
                let start = segments.prefix(expected.count)
                return segments.count == expected.count + (hasID ? 1 : 0)
                    && zip(start, expected).allSatisfy { $0.utf8.elementsEqual($1) }
            }
            id = segments.last ?? ""
            if isPost {
                if matches("inApps/v1/notifications/history", hasID: false) {
                    endpoint = .notificationHistory
                } else if matches("inApps/v1/notifications/test", hasID: false) {
                    endpoint = .requestTestNotification
                } else {
                    return nil
                }
                return
            }
            let routes: [(String, Endpoint)] = [
                ("inApps/v1/transactions", .transactionInfo), ("inApps/v1/subscriptions", .subscriptionStatuses),
                ("inApps/v2/history", .transactionHistory), ("inApps/v2/refund/lookup", .refundHistory),
                ("inApps/v1/lookup", .orderLookup), ("inApps/v1/notifications/test", .testNotificationStatus),
            ]
            guard let route = routes.first(where: { matches($0.0, hasID: true) }) else { return nil }
            endpoint = route.1
        }
    }

    private func json(
        _ route: Route, _ request: FakeRequest, _ fault: FakeFault?
    ) throws(FakeRefusal) -> FakeAnswer {
        let mint = Mint(store: self, fault: fault)
        var value: JSONValue
        switch route.endpoint {
        case .transactionInfo: value = try transactionInfo(route.id, mint)
        case .subscriptionStatuses: value = try subscriptionStatuses(route.id, request, mint)
        case .transactionHistory: value = try transactionHistory(route.id, request, mint)
        case .refundHistory: value = try refundHistory(route.id, request, mint)
        case .orderLookup: value = try order(route.id, mint)
        case .notificationHistory: value = try notificationHistory(request, mint)
        case .requestTestNotification: value = try requestTestNotification()
        case .testNotificationStatus: value = try testNotificationStatus(route.id, mint)
        }
        if fault == .doubleMember, case .object(let members) = value, let first = members.first {
            value.append(first.name, first.value)
        }
        return FakeAnswer(value)
    }
}

extension Instant {
    /// As the header `Date` has it (RFC 9110, 5.6.7).
    fileprivate var httpDate: String {
        // `2020-04-01T04:07:39Z`
        let date = description.split { "-T:.Z".contains($0) }
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let weekday = weekdays[Int(max(secondsSince1970, 0) / 86_400 % 7)]
        return "\(weekday), \(date[2]) \(months[(Int(date[1]) ?? 1) - 1]) \(date[0]) "
            + "\(date[3]):\(date[4]):\(date[5]) GMT"
    }
}
