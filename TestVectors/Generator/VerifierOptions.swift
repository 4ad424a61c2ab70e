import AppStoreReceipt
import Foundation
import SignatureTrust
import StrictText

/// The verifier that a vector is for; what is not said is as in ``AppStoreVerifier/init(bundleID:environments:trust:)``
/// for the app `com.example.app` in production, with `authority/root.der` as trust.
struct VerifierOptions: Codable, Hashable, Sendable {
    static let bundleID = "com.example.app"

    /// Files in `authority/`.
    var roots: [String]?
    /// Files in `authority/`; then no roots count.
    var storeKitTesting: [String]?
    var bundleID: String?
    /// The app's Apple id, for signed data.
    var appAppleID: Int64?
    /// Whether receipts of any app are accepted.
    var isAnyApp: Bool?
    var environments: [String]?
    /// `now`, or RFC 3339.
    var validationDate: String?
    /// What the verifier takes for the time of day, RFC 3339.
    var now: String?
    var allowsSHA1: Bool?
    /// Transaction receipts of version 2.
    var allowsRSA1024: Bool?
    /// Files in `authority/`: intermediates of transaction receipts, for the versions whose markers they have.
    var issuers: [String]?
    /// A file in `authority/`: an intermediate for all versions, whatever its markers.
    var issuerOfAllVersions: String?
    /// Milliseconds.
    var maximumAge: Int64?
    var rejectsFutureDates: Bool?
    /// SHA-256 fingerprints.
    var distrusted: [String]?
    var applicationVersion: String?
    /// Hexadecimal.
    var deviceIdentifier: String?

    enum Fault: Error { case unreadable(String) }

    /// - Parameters:
    ///   - defaultRoot: the file in `authority/` to trust if nothing is said.
    ///   - certificate: gives that of a file in `authority/`.
    func verifier(
        defaultRoot: String = "root.der", certificate: (_ file: String) throws -> [UInt8]
    ) throws -> AppStoreVerifier {
        func anchors(_ names: [String]) throws -> [TrustAnchor] {
            try names.map { try TrustAnchor(der: certificate($0)) }
        }
        let names = environments ?? (storeKitTesting == nil ? ["production"] : ["xcode", "local-testing"])
        var policy = VerificationPolicy(
            bundleIDs: isAnyApp == true ? nil : [bundleID ?? Self.bundleID], appAppleID: appAppleID.map { String($0) },
            environments: Set(names.compactMap(AppStoreEnvironment.init(rawValue:))))
        if let validationDate {
            policy.validationDate = validationDate == "now" ? .now : .at(try date(validationDate))
        }
        if let now {
            let time = try date(now)
            policy.clock = { time }
        }
        if let allowsSHA1 { policy.algorithms.allowsSHA1 = allowsSHA1 }
        policy.allowsRSA1024TransactionReceipts = allowsRSA1024 ?? false
        policy.maximumAge = maximumAge.map { .milliseconds($0) }
        policy.allowsFutureDates = !(rejectsFutureDates ?? false)
        policy.distrusted = Set(
            try (distrusted ?? []).map { text in
                guard let fingerprint = Fingerprint(text) else { throw Fault.unreadable(text) }
                return fingerprint
            })
        var added = try (issuers ?? []).map { try TransactionReceiptIssuer(der: certificate($0)) }
        if let issuerOfAllVersions {
            added.append(
                try TransactionReceiptIssuer(
                    der: certificate(issuerOfAllVersions), versions: Set(TransactionReceipt.Version.allCases)))
        }
        let trust: AppStoreTrust =
            try storeKitTesting.map { .storeKitTesting(try anchors($0)) }
            ?? .roots(try anchors(roots ?? [defaultRoot]))
        return try AppStoreVerifier(policy: policy, trust: added.isEmpty ? trust : trust.adding(added))
    }

    func date(_ text: String) throws -> Instant {
        guard let date = Instant(rfc3339: text) else { throw Fault.unreadable(text) }
        return date
    }

    func verify(_ input: [UInt8], with verifier: AppStoreVerifier) -> Verdict {
        let device = deviceIdentifier.map { text in
            stride(from: 0, to: text.count, by: 2).compactMap { index in
                UInt8(text.dropFirst(index).prefix(2), radix: 16)
            }
        }
        do throws(VerificationError) {
            let receipt = try verifier.verifyReceipt(
                input, applicationVersion: applicationVersion, deviceIdentifier: device)
            return .accepted(purchases: receipt.inAppPurchases.count)
        } catch {
            return .refused(code: error.code.rawValue, stage: error.stage.rawValue, offset: error.offset)
        }
    }
}

/// What a verifier says of an input.
enum Verdict: Hashable {
    case accepted(purchases: Int)
    case refused(code: String, stage: String, offset: Int?)
}
