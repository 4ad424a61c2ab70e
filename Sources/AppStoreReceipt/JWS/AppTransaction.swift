import StrictText

/// What Apple says of a customer's copy of the app (`JWSAppTransactionDecodedPayload`; on devices `AppTransaction.jsonRepresentation`).
public struct AppTransaction: JWSPayload {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    /// The names of the fields in JSON.
    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, appTransactionId, applicationVersion, bundleId, deviceVerification, deviceVerificationNonce
        case originalApplicationVersion, originalPlatform, originalPurchaseDate, preorderDate, receiptCreationDate
        case receiptType, requestDate, versionExternalIdentifier
    }

    /// The id of the customer's download of the app, the same after refunds and on all devices.
    public var appTransactionID: String? { members.string(.appTransactionId) }
    /// The app's Apple id; absent or 0 outside production.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle identifier.
    public var bundleID: String? { members.string(.bundleId) }
    /// From `receiptType`; `nil` when it is missing or unknown, which a verifier refuses.
    public var environment: AppStoreEnvironment? {
        members.string(.receiptType).flatMap(AppStoreEnvironment.init(signedName:))
    }
    /// `CFBundleVersion` on iOS, `CFBundleShortVersionString` on macOS.
    public var applicationVersion: String? { members.string(.applicationVersion) }
    /// Apple's id of the app's version.
    public var versionExternalIdentifier: String? { members.id(.versionExternalIdentifier) }
    /// The app's version when the customer first got it.
    public var originalApplicationVersion: String? { members.string(.originalApplicationVersion) }
    /// The platform on which the customer first got the app.
    public var originalPlatform: PurchasePlatform? { members.value(.originalPlatform) }
    /// When the customer first got the app.
    public var originalPurchaseDate: Instant? { members.date(.originalPurchaseDate) }
    /// When the customer ordered the app before it came out.
    public var preorderDate: Instant? { members.date(.preorderDate) }
    /// When Apple signed this (`receiptCreationDate`): the date at which its chain is judged.
    public var signedDate: Instant? { members.date(.receiptCreationDate) }
    /// When the device asked for it.
    public var requestDate: Instant? { members.date(.requestDate) }
    /// The SHA-384 digest, in base64, that ties this to a device.
    public var deviceVerification: String? { members.string(.deviceVerification) }
    /// The UUID that enters ``deviceVerification``.
    public var deviceVerificationNonce: String? { members.string(.deviceVerificationNonce) }

    init(members: JWSMembers<Member>) { self.members = members }
    static let required: [Member] = [.receiptType, .bundleId]
    static let dateMember = Member.receiptCreationDate
}

extension AppTransaction.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .originalPurchaseDate, .preorderDate, .receiptCreationDate, .requestDate: .date
        case .appAppleId, .versionExternalIdentifier: .integer
        default: .string
        }
    }
}

/// What Apple asks a server that chooses retention messages (`DecodedRealtimeRequestBody`).
///
/// It has no bundle id but the app's Apple id, so only a verifier that knows the latter can verify one.
public struct RealtimeRequest: JWSPayload {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    /// The names of the fields in JSON.
    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, environment, originalTransactionId, productId, requestIdentifier, signedDate, userLocale
    }

    /// A UUID of this request.
    public var requestIdentifier: String? { members.string(.requestIdentifier) }
    /// The subscription that the message is about.
    public var originalTransactionID: String? { members.string(.originalTransactionId) }
    /// The product that the customer is about to leave.
    public var productID: String? { members.string(.productId) }
    /// The language and region of the device.
    public var userLocale: String? { members.string(.userLocale) }
    /// The app's Apple id: what ties the request to an app.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// `nil` when it is missing or unknown, which a verifier refuses.
    public var environment: AppStoreEnvironment? {
        members.string(.environment).flatMap(AppStoreEnvironment.init(signedName:))
    }
    /// When Apple signed this: the date at which its chain is judged.
    public var signedDate: Instant? { members.date(.signedDate) }

    init(members: JWSMembers<Member>) { self.members = members }
    static let required: [Member] = [.requestIdentifier, .originalTransactionId, .productId, .appAppleId]
    static let dateMember = Member.signedDate
}

extension RealtimeRequest.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .appAppleId: .integer
        case .signedDate: .date
        default: .string
        }
    }
}
