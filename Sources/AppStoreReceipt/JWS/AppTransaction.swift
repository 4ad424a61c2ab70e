import StrictText

/// The payload of an app transaction: the customer's purchase of the app itself.
///
/// Apple's name is `JWSAppTransactionDecodedPayload`, and on devices `AppTransaction.jsonRepresentation`. A property is
/// `nil` if the payload does not contain it.
///
/// A verifier refuses a payload in which a member has another type than Apple documents, except for
/// ``originalPlatform``, which decides nothing. If its value has another type, the property is `nil`, and the member is
/// among the ``JSONObject/unknownMembers`` of ``object``.
///
/// StoreKit also knows the type of the store: consumer, education or enterprise. Apple doesn't document its name in
/// JSON, so it has no property, and nothing is decided from it: it is among the unknown members.
public struct AppTransaction: JWSPayload {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    /// The names of the members in the JSON.
    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, appTransactionId, applicationVersion, bundleId, deviceVerification, deviceVerificationNonce
        case originalApplicationVersion, originalPlatform, originalPurchaseDate, preorderDate, receiptCreationDate
        case receiptType, requestDate, versionExternalIdentifier
    }

    /// The identifier of the customer's download of the app. It is the same after refunds and on all devices.
    public var appTransactionID: String? { members.identifier(.appTransactionId) }
    /// The app's Apple id. It is missing or 0 outside production.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle id.
    public var bundleID: String? { members.identifier(.bundleId) }
    /// The environment (`receiptType`); `nil` if it is missing or unknown.
    public var environment: AppStoreEnvironment? { members.environment(.receiptType) }
    /// The app's version: `CFBundleVersion` on iOS, `CFBundleShortVersionString` on macOS.
    public var applicationVersion: String? { members.string(.applicationVersion) }
    /// Apple's identifier of the app's version.
    public var versionExternalIdentifier: String? { members.id(.versionExternalIdentifier) }
    /// The app's version when the customer first got the app.
    public var originalApplicationVersion: String? { members.string(.originalApplicationVersion) }
    /// The platform on which the customer first got the app.
    public var originalPlatform: PurchasePlatform? { members.value(.originalPlatform) }
    /// The date the customer first got the app.
    public var originalPurchaseDate: Instant? { members.date(.originalPurchaseDate) }
    /// The date the customer pre-ordered the app.
    public var preorderDate: Instant? { members.date(.preorderDate) }
    /// The date Apple signed the payload (`receiptCreationDate`), at which its certificate chain is validated by
    /// default.
    public var signedDate: Instant? { members.date(.receiptCreationDate) }
    /// The date the device requested the app transaction.
    public var requestDate: Instant? { members.date(.requestDate) }
    /// The SHA-384 digest, in base64, that binds the payload to the device.
    public var deviceVerification: String? { members.string(.deviceVerification) }
    /// The UUID that is part of ``deviceVerification``.
    public var deviceVerificationNonce: String? { members.identifier(.deviceVerificationNonce) }

    static let kind = JWSKind.appTransaction
    static let required: [Member] = [.receiptType]
    static let dateMember = Member.receiptCreationDate
}

extension AppTransaction.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .originalPurchaseDate, .preorderDate, .receiptCreationDate, .requestDate: .date
        case .appAppleId, .versionExternalIdentifier: .integer
        default: .string
        }
    }
    var isInformative: Bool { self == .originalPlatform }
}
