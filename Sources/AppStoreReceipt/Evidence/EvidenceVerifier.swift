import StrictText

/// Verifies whatever an app sends as evidence of a purchase: an App Store receipt, or what StoreKit 2 signed.
///
/// Apps of before iOS 18 send receipts, new ones signed transactions; a backend has both for years, and one handler for them:
///
/// ```swift
/// let verifier = try EvidenceVerifier(bundleID: "com.example.app", environments: [.production])
///
/// switch try verifier.verify(anyEvidence: body) {
/// case .receipt(let receipt): receipt.purchases.forEach(unlock)
/// case .transaction(let transaction): unlock(transaction)
/// case .renewalInfo, .appTransaction, .notification, .realtimeRequest: throw NotAPurchase()
/// }
/// ```
///
/// <doc:GrantingPurchases> shows what is in `unlock`.
public struct EvidenceVerifier: Sendable {
    /// What receipts are given to.
    public let receipts: ReceiptVerifier
    /// What a JWS is given to.
    public let signedData: SignedDataVerifier

    /// Puts two verifiers together; that they accept the same apps and environments is the caller's business.
    public init(receipts: ReceiptVerifier, signedData: SignedDataVerifier) {
        self.receipts = receipts
        self.signedData = signedData
    }

    /// A verifier for one app.
    ///
    /// - Parameters:
    ///   - bundleID: the app's bundle identifier.
    ///   - appAppleID: the app's Apple id, where it is to be checked in signed data.
    ///   - environments: which evidence to accept; production, sandbox, or both.
    ///   - trust: whose signature counts; Apple's by default. Roots of one's own must have RSA keys, as receipts' chains have: for others, put
    ///     two verifiers together.
    /// - Throws: `.configuration` for a combination that can accept nothing, `.host` when this libcrypto cannot do the work.
    public init(
        bundleID: String, appAppleID: Int64? = nil, environments: Set<AppStoreEnvironment>, trust: AppStoreTrust = .apple
    ) throws(EvidenceError) {
        do throws(ReceiptError) {
            receipts = try ReceiptVerifier(bundleID: bundleID, environments: environments, trust: trust)
        } catch {
            throw .receipt(error)
        }
        do throws(SignedDataError) {
            signedData = try SignedDataVerifier(
                bundleID: bundleID, appAppleID: appAppleID, environments: environments, trust: trust)
        } catch {
            throw .signedData(error)
        }
    }

    /// Verifies a receipt in any form, or a JWS; whitespace around it is passed over. A JSON object has one of the members `receipt-data`,
    /// `signedPayload`, `signedTransactionInfo`, `signedRenewalInfo` or `signedAppTransactionInfo`; its other members are passed over.
    ///
    /// - Throws: ``EvidenceError/receipt(_:)`` or ``EvidenceError/signedData(_:)``, by what the input was taken for.
    public func verify(anyEvidence input: [UInt8]) throws(EvidenceError) -> VerifiedEvidence {
        if let start = ReceiptInput.startOfObject(in: input.span) {
            let object = try readObject(input.span, from: start, keepsOtherMembers: false)
            return try verify(object, in: input.span, from: start)
        }
        if let range = SignedDataVerifier.jws(in: input.span) {
            do throws(SignedDataError) {
                return try signedData.verifyAny(input.span.extracting(range))
            } catch {
                throw .signedData(error)
            }
        }
        do throws(ReceiptError) {
            return .receipt(try receipts.verify(input))
        } catch {
            throw .receipt(error)
        }
    }

    /// Verifies a receipt in base64, PEM or JSON, or a JWS.
    ///
    /// - Throws: as for bytes.
    public func verify(anyEvidence text: String) throws(EvidenceError) -> VerifiedEvidence {
        try verify(anyEvidence: Array(text.utf8))
    }
}

/// Evidence that was verified.
public enum VerifiedEvidence: Hashable, Sendable {
    /// An App Store receipt, with all its purchases.
    case receipt(VerifiedReceipt)
    /// A purchase: `jwsRepresentation` of a transaction.
    case transaction(Verified<TransactionInfo>)
    /// How a subscription will go on. It proves no purchase.
    case renewalInfo(Verified<RenewalInfo>)
    /// The customer's copy of the app. It proves no purchase in it.
    case appTransaction(Verified<AppTransaction>)
    /// What happened, from Apple's server; its signed parts are verified too.
    case notification(VerifiedNotification)
    /// A request for a retention message.
    case realtimeRequest(Verified<RealtimeRequest>)
}

/// Why evidence was not verified.
public enum EvidenceError: Error, Hashable, Sendable {
    /// It was taken for a receipt.
    case receipt(ReceiptError)
    /// It was taken for signed data.
    case signedData(SignedDataError)

    /// A stable word for programs.
    public var code: String {
        switch self {
        case .receipt(let error): error.code
        case .signedData(let error): error.code
        }
    }

    /// Whose fault it is.
    public var category: ReceiptError.Category {
        switch self {
        case .receipt(let error): error.category
        case .signedData(let error): error.category
        }
    }
}

extension EvidenceError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .receipt(let error): error.description
        case .signedData(let error): error.description
        }
    }
}

extension UInt8 {
    /// A character of base64url (RFC 4648, 5).
    fileprivate var isBase64URL: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension SignedDataVerifier {
    /// Verifies a JWS of any kind that Apple signs, by what its payload has; whitespace around it is passed over.
    ///
    /// What is asked for is better said: the other functions refuse a kind that is not expected.
    ///
    /// - Throws: as ``verifyTransaction(_:)``; what is of no kind fails as a transaction without its members.
    public func verifyAny(_ jws: [UInt8]) throws(SignedDataError) -> VerifiedEvidence {
        try verifyAny(jws.span.extracting(Self.jws(in: jws.span) ?? jws.indices))
    }

    func verifyAny(_ text: Span<UInt8>) throws(SignedDataError) -> VerifiedEvidence {
        try counters.counting { () throws(SignedDataError) in
            switch Self.kind(of: text) {
            case .notificationType: .notification(try verifyNotification(text))
            case .requestIdentifier: .realtimeRequest(try verify(text))
            case .receiptType: .appTransaction(try verify(text))
            case .autoRenewStatus: .renewalInfo(try verify(text))
            case .transactionId, nil: .transaction(try verify(text))
            }
        }
    }

    /// Where in an input is a JWS, by its form: parts of base64url with dots between them, of which no form of a receipt has one.
    ///
    /// A header begins with `e` unless it begins with white space, and the base64 of a receipt with `M`: neither is looked at further.
    static func jws(in input: Span<UInt8>) -> Range<Int>? {
        var start = 0
        var end = input.count
        while start < end, input[start].isWhitespace { start += 1 }
        while start < end, input[end - 1].isWhitespace { end -= 1 }
        guard start < end else { return nil }
        let isJWS =
            switch input[start] {
            case UInt8(ascii: "e"): true
            case UInt8(ascii: "M"): false
            default: hasTwoDots(input.extracting(start..<end))
            }
        return isJWS ? start..<end : nil
    }

    /// Whether a text has two dots, and nothing but base64url before the second.
    private static func hasTwoDots(_ text: Span<UInt8>) -> Bool {
        var dotCount = 0
        for index in text.indices {
            if text[index] == UInt8(ascii: ".") {
                dotCount += 1
                if dotCount == 2 { return true }
            } else if !text[index].isBase64URL {
                return false
            }
        }
        return false
    }

    /// The members that tell the kinds apart, as required members do.
    private enum KindMember: String, CaseIterable {
        case notificationType, requestIdentifier, receiptType, transactionId, autoRenewStatus
    }

    private static let kindMembers = JSONMembers<KindMember>()

    /// `nil` for a payload of no kind, which fails as whichever it is read as.
    private static func kind(of text: Span<UInt8>) -> KindMember? {
        guard let payload = CompactJWS.payload(of: text) else { return nil }
        var found: Set<KindMember> = []
        // What is wrong with it is said when it is read as its kind, once its signature holds.
        try? JSONCursor.decode(payload.span) { (cursor) throws(JSONError) in
            try cursor.readObject(of: kindMembers) { (_, member) throws(JSONError) in
                found.insert(member)
            }
        }
        // Not by their order in the payload, which means nothing.
        return KindMember.allCases.first(where: found.contains)
    }
}
