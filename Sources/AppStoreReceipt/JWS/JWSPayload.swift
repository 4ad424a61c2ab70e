import StrictText

/// What Apple says in signed data: a plain value, whoever signed it. ``Verified`` is what its signature was verified of.
///
/// Compare the `utf8` of its strings, not the strings: see ``ReceiptContents``.
public protocol JWSPayload: Hashable, Sendable {
    /// When it was signed.
    var signedDate: Instant? { get }
    /// Where it comes from; `nil` when that is missing or unknown.
    var environment: AppStoreEnvironment? { get }
    /// The object as it was received, with what this library has no field for.
    var json: JWSObject { get }
}

/// A payload whose signature, chain and policy were verified. Only ``AppStoreVerifier`` makes one.
///
/// All fields of the payload can be read through it: `verified.productID`.
@dynamicMemberLookup
public struct Verified<Payload: JWSPayload>: Hashable, Sendable {
    /// What Apple said. The plain value no longer shows that it was verified.
    public let payload: Payload
    /// How it was verified.
    public let verification: Verification

    init(payload: Payload, verification: Verification) {
        self.payload = payload
        self.verification = verification
    }

    /// A field of the payload: `verified.productID`.
    public subscript<Value>(dynamicMember field: KeyPath<Payload, Value>) -> Value { payload[keyPath: field] }
}

/// What a verifier must know of a payload.
protocol JWSClaims: JWSPayload, JWSRecord {
    /// The members without which this is no such payload. No kind's are all in another's, so that none is taken for another.
    static var required: [Member] { get }
    /// The member that says when it was signed.
    static var dateMember: Member { get }
    /// Whom it concerns; more than one subject where it says so in several places.
    var subjects: [JWSSubject] { get }
    /// The environment as Apple wrote it: for an error, where ``JWSPayload/environment`` is unknown.
    var environmentName: String? { get }
}

/// An app in an environment, as signed data names it.
struct JWSSubject {
    /// `nil` where there is none.
    var bundleID: String?
    /// Whether this kind of data has a bundle id at all.
    var hasBundleID = true
    /// `nil` also where it is 0, as in the sandbox.
    var appAppleID: String?
    /// Whether this kind of data has the app's Apple id at all.
    var hasAppAppleID = true
    var environment: AppStoreEnvironment?
}

extension AppStoreEnvironment {
    /// From a signed payload; `nil` for a string that is none of the four.
    init?(signedName: String) { self.init(name: signedName.utf8Span.span, in: Self.signedNames) }

    private static let signedNames: [(String, AppStoreEnvironment)] = [
        ("Production", .production), ("Sandbox", .sandbox), ("Xcode", .xcode), ("LocalTesting", .localTesting),
    ]
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
        var subjects: [JWSSubject] = []
        if let data {
            subjects.append(
                JWSSubject(bundleID: data.bundleID, appAppleID: data.appAppleID?.nonZero, environment: data.environment)
            )
        }
        if let appData {
            subjects.append(
                JWSSubject(
                    bundleID: appData.bundleID, appAppleID: appData.appAppleID?.nonZero,
                    environment: appData.environment))
        }
        if let summary {
            subjects.append(
                JWSSubject(
                    bundleID: summary.bundleID, appAppleID: summary.appAppleID?.nonZero,
                    environment: summary.environment))
        }
        if let token = externalPurchaseToken {
            subjects.append(
                JWSSubject(
                    bundleID: token.bundleID, appAppleID: token.appAppleID?.nonZero, environment: token.environment))
        }
        // A notification about nothing concerns nobody's app.
        return subjects.isEmpty ? [JWSSubject()] : subjects
    }
}

extension String {
    /// Apple writes 0 where there is no identifier.
    fileprivate var nonZero: String? { hasSameBytes(as: "0") ? nil : self }
}
