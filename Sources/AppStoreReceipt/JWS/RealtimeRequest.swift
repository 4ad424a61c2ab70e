import StrictText

/// The payload of a request to a server that chooses retention messages (`DecodedRealtimeRequestBody`).
///
/// It has no bundle id. A verifier with bundle ids accepts it only if its policy also has
/// ``VerificationPolicy/appAppleID``.
///
/// A verifier refuses a payload in which a member has another type than Apple documents, except for ``userLocale``,
/// which decides nothing. If its value has another type, the property is `nil`, and the member is among the
/// ``JSONObject/unknownMembers`` of ``object``.
public struct RealtimeRequest: JWSPayload {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    /// The names of the members in the JSON.
    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, environment, originalTransactionId, productId, requestIdentifier, signedDate, userLocale
    }

    /// The UUID of the request.
    public var requestIdentifier: String? { members.string(.requestIdentifier) }
    /// The original transaction id of the subscription.
    public var originalTransactionID: String? { members.string(.originalTransactionId) }
    /// The product that the customer may cancel.
    public var productID: String? { members.string(.productId) }
    /// The language and region of the device.
    public var userLocale: String? { members.string(.userLocale) }
    /// The app's Apple id, which identifies the app.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The environment; `nil` if it is missing or unknown.
    public var environment: AppStoreEnvironment? { members.environment(.environment) }
    /// The date Apple signed the payload, at which its certificate chain is validated by default.
    public var signedDate: Instant? { members.date(.signedDate) }

    static let kind = JWSKind.realtimeRequest
    static let required: [Member] = [.requestIdentifier, .originalTransactionId, .productId, .appAppleId]
    static let dateMember = Member.signedDate
}

extension RealtimeRequest.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .appAppleId: .integer
        case .signedDate: .date
        default: .string
        }
    }
    var isInformative: Bool { self == .userLocale }
}
