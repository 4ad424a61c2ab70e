import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText

extension FakeAppStore {
    /// Answers a request to the App Store Server API as Apple does, or with the next fault.
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
            // Apple's answer has no body.
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
            case .requestTestNotification, .testNotificationStatus, .extendAllRenewalDates, .retentionMessaging: 1
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

    /// Returns the answer for a fault that replaces the correct one entirely.
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

    /// An endpoint, and the path segments that are names.
    private struct Route {
        let endpoint: Endpoint
        let names: [String]
        var id: String { names.last ?? "" }

        /// The first matching route is used. `*` matches one name, and `**` all that follow.
        private static let table: [(method: String, path: String, endpoint: Endpoint)] = [
            ("POST", "inApps/v1/notifications/history", .notificationHistory),
            ("POST", "inApps/v1/notifications/test", .requestTestNotification),
            ("GET", "inApps/v1/notifications/test/*", .testNotificationStatus),
            ("GET", "inApps/v1/transactions/appTransactions/*", .appTransactionInfo),
            ("GET", "inApps/v1/transactions/*", .transactionInfo),
            ("PUT", "inApps/v1/transactions/consumption/*", .sendConsumptionInformationV1),
            ("PUT", "inApps/v2/transactions/consumption/*", .sendConsumptionInformation),
            ("PUT", "inApps/v1/transactions/*/appAccountToken", .setAppAccountToken),
            ("POST", "inApps/v1/transactions/*/finish", .finishTransaction),
            ("GET", "inApps/v1/subscriptions/extend/mass/*/*", .renewalExtensionStatus),
            ("POST", "inApps/v1/subscriptions/extend/mass", .extendAllRenewalDates),
            ("PUT", "inApps/v1/subscriptions/extend/*", .extendRenewalDate),
            ("GET", "inApps/v1/subscriptions/*", .subscriptionStatuses),
            ("GET", "inApps/v1/history/*", .transactionHistoryV1),
            ("GET", "inApps/v2/history/*", .transactionHistory), ("GET", "inApps/v2/refund/lookup/*", .refundHistory),
            ("GET", "inApps/v1/lookup/*", .orderLookup), ("GET", "inApps/v1/messaging/**", .retentionMessaging),
            ("PUT", "inApps/v1/messaging/**", .retentionMessaging),
            ("POST", "inApps/v1/messaging/**", .retentionMessaging),
            ("DELETE", "inApps/v1/messaging/**", .retentionMessaging),
        ]

        init?(_ request: FakeRequest) {
            let segments = request.path.utf8.split(separator: UInt8(ascii: "/")).map {
                String(decoding: $0, as: UTF8.self)
            }
            for row in Self.table where row.method.hasSameBytes(as: request.method) {
                let expected = row.path.utf8.split(separator: UInt8(ascii: "/"))
                let isOpen = row.path.utf8.suffix(2).elementsEqual("**".utf8)
                let count = isOpen ? expected.count - 1 : expected.count
                guard isOpen ? segments.count > count : segments.count == count else { continue }
                var names = isOpen ? Array(segments[count...]) : []
                let fits = zip(segments, expected.prefix(count)).allSatisfy { segment, pattern in
                    guard pattern.elementsEqual("*".utf8) else { return segment.utf8.elementsEqual(pattern) }
                    names.append(segment)
                    return true
                }
                guard fits else { continue }
                endpoint = row.endpoint
                self.names = names
                return
            }
            return nil
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
        case .transactionHistoryV1:
            value = try transactionHistory(route.id, request, mint, omitsFinishedConsumables: true)
        case .appTransactionInfo: value = try appTransactionInfo(route.id, mint)
        case .extendRenewalDate: value = try extendRenewalDate(route.id, request)
        case .extendAllRenewalDates: value = try extendAllRenewalDates(request)
        case .renewalExtensionStatus: value = try renewalExtensionStatus(route.names[0], route.names[1])
        case .retentionMessaging:
            guard let answer = try retention(request, route.names) else { return FakeAnswer(status: 200) }
            value = answer
        case .setAppAccountToken:
            try setAppAccountToken(route.id, request)
            return FakeAnswer(status: 200)
        case .finishTransaction:
            try finishTransaction(route.id)
            return FakeAnswer(status: 200)
        case .sendConsumptionInformation:
            try sendConsumptionInformation(route.id, request)
            return FakeAnswer(status: 202)
        case .sendConsumptionInformationV1:
            try sendConsumptionInformationV1(route.id, request)
            return FakeAnswer(status: 202)
        }
        if fault == .doubleMember, case .object(let members) = value, let first = members.first {
            value.append(first.name, first.value)
        }
        return FakeAnswer(value)
    }
}

extension Instant {
    /// The date in the format of the `Date` header (RFC 9110, 5.6.7).
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
