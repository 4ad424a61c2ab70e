import AppStoreReceipt
import StrictText

extension JSONCursor {
    fileprivate mutating func optionalBool() throws(JSONError) -> Bool? { try readIfNull() ? nil : try readBool() }

    fileprivate mutating func optionalInstant() throws(JSONError) -> Instant? {
        try readIfNull() ? nil : try readInstant()
    }

    fileprivate mutating func numbers<Member: Hashable>(
        of members: JSONMembers<Member>
    ) throws(JSONError) -> [Member: Int64]? {
        guard try !readIfNull() else { return nil }
        var numbers: [Member: Int64] = [:]
        try readObject(of: members) { (cursor, member) throws(JSONError) in
            numbers[member] = try cursor.optionalInt64()
        }
        return numbers
    }
}

extension AppTransactionInfoAnswer {
    private enum Member: String, CaseIterable { case signedAppTransactionInfo }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8], _ verifier: SignedItemVerifier) throws(JSONError) {
        var jws: String?
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, _) throws(JSONError) in
            jws = try cursor.optionalString()
        }
        appTransaction = jws.map(verifier.appTransaction)
    }
}

extension UnsignedRenewalExtension {
    private enum Member: String, CaseIterable { case originalTransactionId, webOrderLineItemId, success, effectiveDate }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8]) throws(JSONError) {
        var (original, lineItem): (String?, String?) = (nil, nil)
        var success: Bool?
        var date: Instant?
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .originalTransactionId: original = try cursor.optionalString()
            case .webOrderLineItemId: lineItem = try cursor.optionalString()
            case .success: success = try cursor.optionalBool()
            case .effectiveDate: date = try cursor.optionalInstant()
            }
        }
        self.init(
            originalTransactionID: original, webOrderLineItemID: lineItem, isSuccessful: success, effectiveDate: date)
    }
}

extension UnsignedMassExtension {
    private enum Member: String, CaseIterable { case requestIdentifier }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8]) throws(JSONError) {
        var identifier: String?
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, _) throws(JSONError) in
            identifier = try cursor.optionalString()
        }
        self.init(requestIdentifier: identifier)
    }
}

extension UnsignedMassExtensionStatus {
    private enum Member: String, CaseIterable {
        case requestIdentifier, complete, completeDate, succeededCount, failedCount
    }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8]) throws(JSONError) {
        var identifier: String?
        var isComplete: Bool?
        var date: Instant?
        var (succeeded, failed): (Int64?, Int64?) = (nil, nil)
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .requestIdentifier: identifier = try cursor.optionalString()
            case .complete: isComplete = try cursor.optionalBool()
            case .completeDate: date = try cursor.optionalInstant()
            case .succeededCount: succeeded = try cursor.optionalInt64()
            case .failedCount: failed = try cursor.optionalInt64()
            }
        }
        self.init(
            requestIdentifier: identifier, isComplete: isComplete, completeDate: date, succeededCount: succeeded,
            failedCount: failed)
    }
}

extension UnsignedRetentionImage {
    private enum ListMember: String, CaseIterable { case imageIdentifiers }
    private static let listMembers = JSONMembers<ListMember>()
    private enum Member: String, CaseIterable { case imageIdentifier, imageState, imageSize }
    private static let members = JSONMembers<Member>()

    static func list(_ body: [UInt8]) throws(JSONError) -> [Self] {
        var images: [Self] = []
        try JSONCursor.readAnswer(body, of: listMembers) { (cursor, _) throws(JSONError) in
            try cursor.elements { (cursor) throws(JSONError) in
                var (identifier, state, size): (String?, String?, String?) = (nil, nil, nil)
                try cursor.readObject(of: members) { (cursor, member) throws(JSONError) in
                    switch member {
                    case .imageIdentifier: identifier = try cursor.optionalString()
                    case .imageState: state = try cursor.optionalString()
                    case .imageSize: size = try cursor.optionalString()
                    }
                }
                images.append(
                    Self(identifier: identifier, state: state, size: size.map(RetentionImage.Size.init(rawValue:))))
            }
        }
        return images
    }
}

extension UnsignedRetentionMessage {
    private enum ListMember: String, CaseIterable { case messageIdentifiers }
    private static let listMembers = JSONMembers<ListMember>()
    private enum Member: String, CaseIterable { case messageIdentifier, messageState }
    private static let members = JSONMembers<Member>()

    static func list(_ body: [UInt8]) throws(JSONError) -> [Self] {
        var messages: [Self] = []
        try JSONCursor.readAnswer(body, of: listMembers) { (cursor, _) throws(JSONError) in
            try cursor.elements { (cursor) throws(JSONError) in
                var (identifier, state): (String?, String?) = (nil, nil)
                try cursor.readObject(of: members) { (cursor, member) throws(JSONError) in
                    switch member {
                    case .messageIdentifier: identifier = try cursor.optionalString()
                    case .messageState: state = try cursor.optionalString()
                    }
                }
                messages.append(Self(identifier: identifier, state: state))
            }
        }
        return messages
    }
}

/// The answer with the UUID of a default message.
struct DefaultMessageAnswer {
    private enum Member: String, CaseIterable { case messageIdentifier }
    private static let members = JSONMembers<Member>()

    private(set) var identifier: String?

    init(_ body: [UInt8]) throws(JSONError) {
        var text: String?
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, _) throws(JSONError) in
            text = try cursor.optionalString()
        }
        identifier = text
    }
}

/// The answer with the URL from which Apple requests a message.
struct RealtimeURLAnswer {
    private enum Member: String, CaseIterable { case realtimeURL }
    private static let members = JSONMembers<Member>()

    private(set) var url: String?

    init(_ body: [UInt8]) throws(JSONError) {
        var text: String?
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, _) throws(JSONError) in
            text = try cursor.optionalString()
        }
        url = text
    }
}

extension UnsignedPerformanceTest.Configuration {
    private enum Member: String, CaseIterable {
        case maxConcurrentRequests, totalRequests, totalDuration, responseTimeThreshold, successRateThreshold
    }
    private static let members = JSONMembers<Member>()

    fileprivate init?(_ cursor: inout JSONCursor) throws(JSONError) {
        guard let numbers = try cursor.numbers(of: Self.members) else { return nil }
        self.init(
            maximumConcurrentRequests: numbers[.maxConcurrentRequests], totalRequests: numbers[.totalRequests],
            totalDuration: numbers[.totalDuration], responseTimeThreshold: numbers[.responseTimeThreshold],
            successRateThreshold: numbers[.successRateThreshold])
    }
}

extension UnsignedPerformanceTest {
    private enum Member: String, CaseIterable { case config, requestId }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8]) throws(JSONError) {
        var identifier: String?
        var configuration: Configuration?
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .config: configuration = try Configuration(&cursor)
            case .requestId: identifier = try cursor.optionalString()
            }
        }
        self.init(requestID: identifier, configuration: configuration)
    }
}

extension UnsignedPerformanceTestResult {
    private enum Member: String, CaseIterable {
        case config, target, result, successRate, numPending, responseTimes, failures
    }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8]) throws(JSONError) {
        var configuration: UnsignedPerformanceTest.Configuration?
        var (target, result): (String?, String?) = (nil, nil)
        var (successRate, pendingCount): (Int64?, Int64?) = (nil, nil)
        var responseTimes: ResponseTimes?
        var failures: [Failure] = []
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .config: configuration = try UnsignedPerformanceTest.Configuration(&cursor)
            case .target: target = try cursor.optionalString()
            case .result: result = try cursor.optionalString()
            case .successRate: successRate = try cursor.optionalInt64()
            case .numPending: pendingCount = try cursor.optionalInt64()
            case .responseTimes: responseTimes = try ResponseTimes(&cursor)
            case .failures: failures = try Failure.list(&cursor)
            }
        }
        self.init(
            configuration: configuration, target: target, result: result, successRate: successRate,
            pendingCount: pendingCount, responseTimes: responseTimes, failures: failures)
    }
}

extension UnsignedPerformanceTestResult.ResponseTimes {
    private enum Member: String, CaseIterable { case average, p50, p90, p95, p99 }
    private static let members = JSONMembers<Member>()

    fileprivate init?(_ cursor: inout JSONCursor) throws(JSONError) {
        guard let numbers = try cursor.numbers(of: Self.members) else { return nil }
        self.init(
            average: numbers[.average], p50: numbers[.p50], p90: numbers[.p90], p95: numbers[.p95],
            p99: numbers[.p99])
    }
}

extension UnsignedPerformanceTestResult.Failure {
    fileprivate static func list(_ cursor: inout JSONCursor) throws(JSONError) -> [Self] {
        var failures: [Self] = []
        guard try !cursor.readIfNull() else { return failures }
        try cursor.readObject { (cursor, name) throws(JSONError) in
            if let count = try cursor.optionalInt64() { failures.append(Self(reason: name.value, count: count)) }
        }
        return failures
    }
}
