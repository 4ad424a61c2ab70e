import AppStoreReceipt
import HTTPService
import StrictText

/// The kind of a body that was refused because it isn't a version 2 notification.
enum NotificationBody {
    /// A version 1 notification, which is unsigned.
    case version1
    case form
    /// Evidence of another kind, signed by Apple.
    case otherKind(String)
    /// Not a JWS.
    case other

    /// - Returns: `nil` if the error already says what is wrong.
    init?(_ body: [UInt8], _ error: VerificationError, _ verifier: AppStoreVerifier) {
        guard error.part == nil else { return nil }
        if [.input, .form, .header].contains(error.stage), let found = Self(unsigned: body) {
            self = found
        } else if error.stage == .payload && error.expected != nil
            || error.code == .partCount
        {
            self = .init(refused: body, verifier)
        } else {
            return nil
        }
    }

    private init(refused body: [UInt8], _ verifier: AppStoreVerifier) {
        do throws(VerificationError) {
            self = .otherKind(try verifier.verify(body).kindText)
        } catch {
            self = .other
        }
    }

    private enum Member: String, CaseIterable {
        case notificationType = "notification_type"
        case unifiedReceipt = "unified_receipt"
    }

    private static let members = JSONMembers<Member>()

    private init?(unsigned body: [UInt8]) {
        var isVersion1 = false
        do throws(JSONError) {
            try JSONCursor.decode(body.span) { (cursor) throws(JSONError) in
                try cursor.readObject(of: Self.members) { (cursor, _) throws(JSONError) in isVersion1 = true }
            }
        } catch {
            guard Self.isForm(body) else { return nil }
            self = .form
            return
        }
        guard isVersion1 else { return nil }
        self = .version1
    }

    /// Returns whether a body begins with a name and `=`. Base64 has `=` only at its end.
    private static func isForm(_ body: [UInt8]) -> Bool {
        let name = body.prefix(64).prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "%"),
                UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
        let rest = body.dropFirst(name.count)
        return !name.isEmpty && rest.first == UInt8(ascii: "=") && rest.dropFirst().first.map { $0 != 0x3D } ?? false
    }

    var response: Response {
        switch self {
        case .version1:
            Response(
                LedgerFault.notANotification, "it is of version 1, which is not signed",
                advice:
                    "In App Store Connect, under App Information, App Store Server Notifications, edit the URL and select version 2."
            )
        case .form:
            Response(LedgerFault.notANotification, "it is a form, such as a test or a proxy sends, and not JSON")
        case .otherKind(let kind): Response(LedgerFault.notANotification, "it is \(kind)")
        case .other: Response(LedgerFault.notANotification)
        }
    }
}

extension VerifiedEvidence {
    fileprivate var kindText: String {
        switch self {
        case .receipt: "a receipt"
        case .transactionReceipt: "a transaction receipt"
        case .transaction: "a signed transaction"
        case .renewalInfo: "signed renewal information"
        case .appTransaction: "an app transaction"
        case .realtimeRequest: "a request for a retention message"
        case .notification: "a notification"
        @unknown default: "evidence of another kind"
        }
    }
}
