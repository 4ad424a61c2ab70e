import StrictText

/// What Apple says in signed data: a plain value, whoever signed it. ``Verified`` is what its signature was verified of.
///
/// Compare the `utf8` of its strings, not the strings: see ``ReceiptContents``.
public protocol SignedPayload: Hashable, Sendable {
    /// When it was signed.
    var signedDate: Timestamp? { get }
    /// Where it comes from; `nil` when that is missing or unknown.
    var environment: ReceiptEnvironment? { get }
    /// The object as it was received, with what this library has no field for.
    var json: SignedJSON { get }
}

/// A payload whose signature, chain and policy were verified. Only ``SignedDataVerifier`` makes one.
///
/// All fields of the payload can be read through it: `verified.productID`.
@dynamicMemberLookup
public struct Verified<Payload: SignedPayload>: Hashable, Sendable {
    /// What Apple said. The plain value no longer shows that it was verified.
    public let payload: Payload
    /// What it was verified by.
    public let trust: ReceiptEvidence

    init(payload: Payload, trust: ReceiptEvidence) {
        self.payload = payload
        self.trust = trust
    }

    /// A field of the payload: `verified.productID`.
    public subscript<Value>(dynamicMember field: KeyPath<Payload, Value>) -> Value { payload[keyPath: field] }
}

/// What a verifier must know of a payload.
protocol SignedClaims: SignedPayload, SignedRecord {
    /// The members without which this is no such payload. No kind's are all in another's, so that none is taken for another.
    static var required: [Member] { get }
    /// The member that says when it was signed.
    static var dateMember: Member { get }
    /// Whom it concerns; more than one subject where it says so in several places.
    var subjects: [SignedSubject] { get }
}

/// An app in an environment, as signed data names it.
struct SignedSubject {
    /// `nil` where there is none.
    var bundleID: String?
    /// Whether this kind of data has a bundle id at all.
    var hasBundleID = true
    var appAppleID: Int64?
    /// Whether this kind of data has the app's Apple id at all.
    var hasAppAppleID = true
    var environment: ReceiptEnvironment?
}

extension ReceiptEnvironment {
    /// From a signed payload; `nil` for a string that is none of the four.
    init?(signedName: String) { self.init(name: signedName.utf8Span.span, in: Self.signedNames) }

    private static let signedNames: [(String, ReceiptEnvironment)] = [
        ("Production", .production), ("Sandbox", .sandbox), ("Xcode", .xcode), ("LocalTesting", .localTesting),
    ]
}

extension TransactionInfo: SignedClaims {
    var subjects: [SignedSubject] {
        [SignedSubject(bundleID: bundleID, hasAppAppleID: false, environment: environment)]
    }
}

extension RenewalInfo: SignedClaims {
    var subjects: [SignedSubject] {
        [SignedSubject(hasBundleID: false, hasAppAppleID: false, environment: environment)]
    }
}

extension AppTransaction: SignedClaims {
    var subjects: [SignedSubject] {
        [SignedSubject(bundleID: bundleID, appAppleID: appAppleID, environment: environment)]
    }
}

extension RealtimeRequest: SignedClaims {
    var subjects: [SignedSubject] {
        [SignedSubject(hasBundleID: false, appAppleID: appAppleID, environment: environment)]
    }
}

extension AppStoreNotification: SignedClaims {
    var subjects: [SignedSubject] {
        var subjects: [SignedSubject] = []
        if let data {
            subjects.append(
                SignedSubject(bundleID: data.bundleID, appAppleID: data.appAppleID, environment: data.environment))
        }
        if let appData {
            subjects.append(
                SignedSubject(
                    bundleID: appData.bundleID, appAppleID: appData.appAppleID, environment: appData.environment))
        }
        if let summary {
            subjects.append(
                SignedSubject(
                    bundleID: summary.bundleID, appAppleID: summary.appAppleID, environment: summary.environment))
        }
        if let token = externalPurchaseToken {
            subjects.append(
                SignedSubject(bundleID: token.bundleID, appAppleID: token.appAppleID, environment: token.environment))
        }
        // A notification about nothing concerns nobody's app.
        return subjects.isEmpty ? [SignedSubject()] : subjects
    }
}
