import StrictText

/// A request for a signature as JSON, which the C library and the languages over it pass.
///
/// Every member of its kind must be there, also those that may be `null`.
@_spi(Surfaces)
public struct SigningRequest {
    /// What is signed: the member `sign`.
    public enum Kind: String, CaseIterable, Sendable {
        case promotionalOffer = "promotional_offer"
        case originalPromotionalOffer = "original_promotional_offer"
        case originalPromotionalOfferForUsername = "original_promotional_offer_for_username"
        case introductoryOfferEligibility = "introductory_offer_eligibility"
        case advancedCommerceRequest = "advanced_commerce_request"

        /// The other members.
        public var arguments: [SigningError.Argument] {
            switch self {
            case .promotionalOffer: [.productID, .offerID, .transactionID]
            case .originalPromotionalOffer: [.productID, .offerID, .appAccountToken]
            case .originalPromotionalOfferForUsername: [.productID, .offerID, .applicationUsername]
            case .introductoryOfferEligibility: [.productID, .allowIntroductoryOffer, .transactionID]
            case .advancedCommerceRequest: [.request]
            }
        }
    }

    private enum Value {
        case text(String)
        case flag(Bool)
        case null
        case other
    }

    private let kind: Kind
    private var values: [SigningError.Argument: Value] = [:]

    private static let arguments = JSONMembers<SigningError.Argument>()
    private static let kinds = JSONMembers<Kind>()

    /// Returns `nil` unless it is a JSON object with a kind, and no members but its own.
    public init?(_ json: [UInt8]) {
        var kind: Kind?
        var values: [SigningError.Argument: Value] = [:]
        var isKnown = true
        let isJSON: Void? = try? JSONCursor.decode(json.span) { (cursor) throws(JSONError) in
            try cursor.readObject { (cursor, name) throws(JSONError) in
                if name == "sign" {
                    guard kind == nil else { throw JSONError(.duplicateMember, offset: name.offset) }
                    kind = Self.kinds.member(of: try cursor.readString())
                    return
                }
                guard let argument = Self.arguments.member(of: name) else {
                    isKnown = false
                    return
                }
                guard values[argument] == nil else { throw JSONError(.duplicateMember, offset: name.offset) }
                values[argument] = try Self.value(&cursor)
            }
        }
        guard isJSON != nil, isKnown, let kind, values.keys.allSatisfy(kind.arguments.contains) else { return nil }
        self.kind = kind
        self.values = values
    }

    private static func value(_ cursor: inout JSONCursor) throws(JSONError) -> Value {
        switch try cursor.peekType() {
        case .string: return .text(try cursor.readString().value)
        case .boolean: return .flag(try cursor.readBool())
        case .null:
            _ = try cursor.readIfNull()
            return .null
        default:
            _ = try cursor.skipValue()
            return .other
        }
    }

    private func text(_ argument: SigningError.Argument) throws(SigningError) -> String {
        guard case .text(let text)? = values[argument] else { throw SigningError(.invalidArgument(argument)) }
        return text
    }

    private func optionalText(_ argument: SigningError.Argument) throws(SigningError) -> String? {
        if case .null? = values[argument] { return nil }
        return try text(argument)
    }

    private func flag(_ argument: SigningError.Argument) throws(SigningError) -> Bool {
        guard case .flag(let flag)? = values[argument] else { throw SigningError(.invalidArgument(argument)) }
        return flag
    }

    /// Signs it. Returns `{"jws":…}`, or the JSON of a ``PromotionalOfferSignature``.
    public func signed(by signer: AppStoreSigner) throws(SigningError) -> String {
        let jws: String
        switch kind {
        case .promotionalOffer:
            jws = try signer.signPromotionalOffer(
                productID: text(.productID), offerID: text(.offerID), transactionID: optionalText(.transactionID))
        case .introductoryOfferEligibility:
            jws = try signer.signIntroductoryOfferEligibility(
                productID: text(.productID), allowIntroductoryOffer: flag(.allowIntroductoryOffer),
                transactionID: text(.transactionID))
        case .advancedCommerceRequest:
            jws = try signer.signAdvancedCommerceRequest(Array(text(.request).utf8))
        case .originalPromotionalOffer:
            return try signer.signOriginalPromotionalOffer(
                productID: text(.productID), offerID: text(.offerID), appAccountToken: optionalText(.appAccountToken)
            ).json
        case .originalPromotionalOfferForUsername:
            return try signer.signOriginalPromotionalOffer(
                productID: text(.productID), offerID: text(.offerID), applicationUsername: text(.applicationUsername)
            ).json
        }
        // base64url and points need no escapes.
        return "{\"jws\":\"\(jws)\"}"
    }
}
