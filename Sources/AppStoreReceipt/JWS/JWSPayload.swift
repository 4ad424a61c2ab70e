import StrictText

/// The payload of a JWS as a plain value. A verified one is in a ``Verified`` value.
///
/// To compare identifiers, compare their `utf8`. See ``ReceiptContents``.
public protocol JWSPayload: Hashable, Sendable {
    /// The date the payload was signed.
    var signedDate: Instant? { get }
    /// The environment; `nil` if it is missing or unknown.
    var environment: AppStoreEnvironment? { get }
    /// The object as it was received, including the members for which the type has no property.
    var object: JSONObject { get }
}

/// A payload whose signature and certificate chain are valid, and which the policy accepts.
///
/// Only an ``AppStoreVerifier`` makes one. You can read all properties of the payload through it, such as
/// `verified.productID`.
@dynamicMemberLookup
public struct Verified<Payload: JWSPayload>: Hashable, Sendable {
    /// The payload as a plain value, whose type does not show that it was verified.
    public let payload: Payload
    /// The signer and the date of the verification.
    public let verification: SignerVerification
    /// The values that the payload lacks and its notification names.
    let inherited: JWSSubject?

    /// Accesses a property of the payload, such as `verified.productID`.
    public subscript<Value>(dynamicMember field: KeyPath<Payload, Value>) -> Value { payload[keyPath: field] }
}

/// The properties of a payload that a verifier uses.
protocol JWSClaims: JWSPayload, JWSRecord, NamedContents {
    static var kind: JWSKind { get }
    /// The members that every payload of this kind has. No kind has all required members of another, so the members
    /// determine the kind.
    static var required: [Member] { get }
    /// The member with the signing date.
    static var dateMember: Member { get }
    /// The app and the environment of the payload; several if it names them in several places.
    var subjects: [JWSSubject] { get }
}

/// An app and an environment, as a payload names them.
struct JWSSubject: Hashable {
    /// `nil` if there is none.
    var bundleID: String?
    /// Whether this kind of payload has a bundle id.
    let hasBundleID: Bool
    /// `nil` if there is none or it is 0, as in the sandbox.
    var appAppleID: String?
    /// Whether this kind of payload has the app's Apple id.
    let hasAppAppleID: Bool
    var environment: AppStoreEnvironment?
    /// The environment as Apple wrote it, if it is unknown.
    private(set) var environmentName: UTF8Bytes?
    /// Whether its values may be missing.
    var mayBeMissing = false

    init(
        bundleID: String? = nil, hasBundleID: Bool = true, appAppleID: String? = nil, hasAppAppleID: Bool = true,
        environmentNamed name: String? = nil
    ) {
        self.bundleID = bundleID
        self.hasBundleID = hasBundleID
        self.appAppleID = appAppleID
        self.hasAppAppleID = hasAppAppleID
        nameEnvironment(name)
    }

    mutating func nameEnvironment(_ name: String?) {
        environment = name.flatMap(AppStoreEnvironment.init(signedName:))
        environmentName = environment == nil ? name.map(UTF8Bytes.init) : nil
    }

    /// Whether it names no app and no environment.
    var isEmpty: Bool {
        switch (bundleID, appAppleID, environment, environmentName) {
        case (nil, nil, nil, nil): true
        default: false
        }
    }

    /// Takes missing values from the payload's notification.
    func inheriting(_ other: JWSSubject?) -> JWSSubject {
        guard let other else { return self }
        var subject = self
        if hasBundleID { subject.bundleID = bundleID ?? other.bundleID }
        if environment == nil, environmentName == nil {
            (subject.environment, subject.environmentName) = (other.environment, other.environmentName)
        }
        return subject
    }

    static func == (lhs: JWSSubject, rhs: JWSSubject) -> Bool {
        lhs.environment == rhs.environment && lhs.environmentName == rhs.environmentName
            && lhs.ids == rhs.ids
            && (lhs.hasBundleID, lhs.hasAppAppleID, lhs.mayBeMissing)
                == (rhs.hasBundleID, rhs.hasAppAppleID, rhs.mayBeMissing)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(ids) }

    private var ids: [UTF8Bytes?] { [bundleID.map(UTF8Bytes.init), appAppleID.map(UTF8Bytes.init)] }
}

extension TransactionInfo: JWSClaims {
    var subjects: [JWSSubject] {
        [JWSSubject(bundleID: bundleID, hasAppAppleID: false, environmentNamed: members.string(.environment))]
    }
}

extension RenewalInfo: JWSClaims {
    var subjects: [JWSSubject] {
        [JWSSubject(hasBundleID: false, hasAppAppleID: false, environmentNamed: members.string(.environment))]
    }
}

extension AppTransaction: JWSClaims {
    var subjects: [JWSSubject] {
        [
            JWSSubject(
                bundleID: bundleID, appAppleID: appAppleID?.nonZero, environmentNamed: members.string(.receiptType))
        ]
    }
}

extension RealtimeRequest: JWSClaims {
    var subjects: [JWSSubject] {
        [
            JWSSubject(
                hasBundleID: false, appAppleID: appAppleID?.nonZero, environmentNamed: members.string(.environment))
        ]
    }
}

extension AppStoreNotification: JWSClaims {
    var subjects: [JWSSubject] {
        let contents: [(any NotificationContents)?] = [data, appData, summary, externalPurchaseToken]
        let subjects = contents.compactMap { $0?.subject }
        if !subjects.allSatisfy(\.isEmpty) { return subjects }
        // No known member names an app. With signed parts to decide on, it could be another app's.
        let others = NotificationSubjects(object)
        return others.hasSignedParts ? [JWSSubject()] : others.subjects
    }
}

/// An object of a notification that names the app.
private protocol NotificationContents {
    var bundleID: String? { get }
    var appAppleID: String? { get }
    var subject: JWSSubject { get }
}

extension NotificationContents {
    fileprivate func subject(inEnvironmentNamed name: String?) -> JWSSubject {
        JWSSubject(bundleID: bundleID, appAppleID: appAppleID?.nonZero, environmentNamed: name)
    }
}

extension NotificationData: NotificationContents {
    var subject: JWSSubject { subject(inEnvironmentNamed: members.string(.environment)) }
}

extension NotificationAppData: NotificationContents {
    var subject: JWSSubject { subject(inEnvironmentNamed: members.string(.environment)) }
}

extension NotificationSummary: NotificationContents {
    var subject: JWSSubject { subject(inEnvironmentNamed: members.string(.environment)) }
}

extension ExternalPurchaseToken: NotificationContents {
    var subject: JWSSubject {
        var subject = subject(inEnvironmentNamed: nil)
        subject.environment = environment
        return subject
    }
}
