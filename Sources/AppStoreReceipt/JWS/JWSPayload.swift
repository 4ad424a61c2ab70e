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
    var object: JWSObject { get }
}

/// A payload whose signature and certificate chain are valid, and which the policy accepts.
///
/// Only an ``AppStoreVerifier`` makes one. You can read all properties of the payload through it, such as `verified.productID`.
@dynamicMemberLookup
public struct Verified<Payload: JWSPayload>: Hashable, Sendable {
    /// The payload as a plain value, whose type does not show that it was verified.
    public let payload: Payload
    /// The signer and the date of the verification.
    public let verification: Verification

    /// Accesses a property of the payload, such as `verified.productID`.
    public subscript<Value>(dynamicMember field: KeyPath<Payload, Value>) -> Value { payload[keyPath: field] }
}

/// The properties of a payload that a verifier uses.
protocol JWSClaims: JWSPayload, JWSRecord, NamedContents {
    static var kind: JWSKind { get }
    /// The members that every payload of this kind has. No kind has all required members of another, so the members determine the kind.
    static var required: [Member] { get }
    /// The member with the signing date.
    static var dateMember: Member { get }
    /// The app and the environment of the payload; several if it names them in several places.
    var subjects: [JWSSubject] { get }
    /// The environment as Apple wrote it, for errors if ``JWSPayload/environment`` is unknown.
    var environmentName: String? { get }
}

/// An app and an environment, as a payload names them.
struct JWSSubject {
    /// `nil` if there is none.
    var bundleID: String?
    /// Whether this kind of payload has a bundle id.
    var hasBundleID = true
    /// `nil` if there is none or it is 0, as in the sandbox.
    var appAppleID: String?
    /// Whether this kind of payload has the app's Apple id.
    var hasAppAppleID = true
    var environment: AppStoreEnvironment?
    /// The environment as Apple wrote it, if that is all that is known of it.
    var environmentName: String?
    /// Whether what is missing is no reason to refuse the payload.
    var mayBeMissing = false
}

extension TransactionInfo: JWSClaims {
    var environmentName: String? { members.string(.environment) }
    var subjects: [JWSSubject] {
        [JWSSubject(bundleID: bundleID, hasAppAppleID: false, environment: environment)]
    }
}

extension RenewalInfo: JWSClaims {
    var environmentName: String? { members.string(.environment) }
    var subjects: [JWSSubject] {
        [JWSSubject(hasBundleID: false, hasAppAppleID: false, environment: environment)]
    }
}

extension AppTransaction: JWSClaims {
    var environmentName: String? { members.string(.receiptType) }
    var subjects: [JWSSubject] {
        [JWSSubject(bundleID: bundleID, appAppleID: appAppleID?.nonZero, environment: environment)]
    }
}

extension RealtimeRequest: JWSClaims {
    var environmentName: String? { members.string(.environment) }
    var subjects: [JWSSubject] {
        [JWSSubject(hasBundleID: false, appAppleID: appAppleID?.nonZero, environment: environment)]
    }
}

extension AppStoreNotification: JWSClaims {
    var environmentName: String? {
        let names = [
            data?.members.string(.environment), appData?.members.string(.environment),
            summary?.members.string(.environment),
        ]
        return names.lazy.compactMap(\.self).first { AppStoreEnvironment(signedName: $0) == nil }
    }
    var subjects: [JWSSubject] {
        let contents: [(any NotificationContents)?] = [data, appData, summary, externalPurchaseToken]
        let subjects = contents.compactMap { contents in
            contents.map {
                JWSSubject(bundleID: $0.bundleID, appAppleID: $0.appAppleID?.nonZero, environment: $0.environment)
            }
        }
        let named = subjects.lazy.compactMap { $0.bundleID ?? $0.appAppleID ?? $0.environment?.rawValue }
        if let _ = named.first ?? environmentName { return subjects }
        // Apple's signature is all that such a notification has. With something to decide, it would be another app's.
        let others = NotificationSubjects(object)
        return others.hasSignedParts ? [JWSSubject()] : others.subjects
    }
}

/// An object of a notification that names the app.
private protocol NotificationContents {
    var bundleID: String? { get }
    var appAppleID: String? { get }
    var environment: AppStoreEnvironment? { get }
}

extension NotificationData: NotificationContents {}
extension NotificationAppData: NotificationContents {}
extension NotificationSummary: NotificationContents {}
extension ExternalPurchaseToken: NotificationContents {}
