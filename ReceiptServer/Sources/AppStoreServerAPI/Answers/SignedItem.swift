public import AppStoreReceipt
import StrictText

/// A signed item in an answer: verified with the caller's verifier, or the reason it was refused.
///
/// A refused item doesn't affect the others. Report it, but don't use it for anything else.
public enum SignedItem<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The item is genuine, and the verifier's policy accepts it.
    case verified(Value)
    /// The item proves nothing.
    case refused(SignedItemRefusal)

    /// The verified value, or `nil` if the item was refused.
    public var value: Value? {
        if case .verified(let value) = self { value } else { nil }
    }

    /// The reason the item was refused, or `nil` if it was verified.
    public var refusal: SignedItemRefusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
}

/// The reason an item in an answer was refused.
@nonexhaustive
public enum SignedItemRefusal: Hashable, Sendable {
    /// The verifier refused it.
    case verification(VerificationError)
    /// It belongs to a different app from the one requested, which the verifier also accepts.
    case otherApp
    /// It belongs to a different environment from the one requested, which the verifier also accepts.
    case otherEnvironment

    /// The verifier's code, or `other-app` or `other-environment`.
    public var code: String {
        switch self {
        case .verification(let error): error.code.rawValue
        case .otherApp: "other-app"
        case .otherEnvironment: "other-environment"
        }
    }
}

/// The id that a refused JWS claims to have, which isn't proved.
enum ClaimedID {
    private enum Member: String, CaseIterable { case transactionId }
    private static let members = JSONMembers<Member>()
    private static let maximumByteCount = 64

    /// Returns the payload's `transactionId`, or `nil` if it has none that has the form of an id.
    static func transaction(_ jws: String) -> String? {
        let parts = jws.utf8.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var id: String?
        do {
            let payload = try Base64.decode(Array(parts[1]).span, as: .jws)
            try JSONCursor.readAnswer(payload, of: members) { (cursor, _) throws(JSONError) in
                id = try cursor.optionalString()
            }
        } catch {
            return nil
        }
        return id.flatMap { id in
            let isID = 1...maximumByteCount ~= id.utf8.count && id.utf8.allSatisfy { 0x30...0x39 ~= $0 }
            return isID ? id : nil
        }
    }

    /// Returns the claimed ids of the refused items.
    static func transactions(
        _ signed: [String], _ items: [SignedItem<Verified<TransactionInfo>>]
    ) -> [String?] {
        zip(signed, items).compactMap { jws, item in item.refusal == nil ? nil : .some(transaction(jws)) }
    }
}

/// Verifies the signed items in answers about one app in one environment.
struct SignedItemVerifier: Sendable {
    let verifier: AppStoreVerifier
    let bundleID: String
    let environment: AppStoreEnvironment

    func transaction(_ jws: String) -> SignedItem<Verified<TransactionInfo>> {
        do throws(VerificationError) {
            let transaction = try verifier.verifyTransaction(jws)
            return checked(transaction, [transaction.bundleID], transaction.environment)
        } catch {
            return .refused(.verification(error))
        }
    }

    /// Renewal information has no bundle id.
    func renewalInfo(_ jws: String) -> SignedItem<Verified<RenewalInfo>> {
        do throws(VerificationError) {
            let info = try verifier.verifyRenewalInfo(jws)
            return checked(info, [], info.environment)
        } catch {
            return .refused(.verification(error))
        }
    }

    func appTransaction(_ jws: String) -> SignedItem<Verified<AppTransaction>> {
        do throws(VerificationError) {
            let transaction = try verifier.verifyAppTransaction(jws)
            return checked(transaction, [transaction.bundleID], transaction.environment)
        } catch {
            return .refused(.verification(error))
        }
    }

    func notification(_ jws: String) -> SignedItem<VerifiedNotification> {
        do throws(VerificationError) {
            let notification = try verifier.verifyNotification(jws)
            let bundleIDs = [
                notification.data?.bundleID, notification.appData?.bundleID, notification.summary?.bundleID,
                notification.externalPurchaseToken?.bundleID,
            ]
            return checked(notification, bundleIDs, notification.environment)
        } catch {
            return .refused(.verification(error))
        }
    }

    private func checked<Value>(
        _ value: Value, _ bundleIDs: [String?], _ environment: AppStoreEnvironment?
    ) -> SignedItem<Value> {
        if let environment, environment != self.environment { return .refused(.otherEnvironment) }
        for id in bundleIDs {
            if let id, !Array(id.utf8).elementsEqual(bundleID.utf8) { return .refused(.otherApp) }
        }
        return .verified(value)
    }
}
