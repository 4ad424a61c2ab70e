import StrictText

/// The wrappers that clients put around evidence. Each is one case and one row; the names are in the JSON and in
/// metrics.
package enum Wrapper: String, Sendable, CaseIterable {
    // Texts
    case jsonString = "json-string"
    case dataURI = "data-uri"
    case form
    case percentEncoding = "percent-encoding"
    case lineBreaks = "line-breaks"
    case base64
    // Objects
    case storeKit = "storekit"
    case unity
    case flutter
    case reactNative = "react-native"
    case cordova
    case verifyReceipt = "verify-receipt"
    case notificationV1 = "notification-v1"

    package struct Row: Sendable {
        /// What it is, and how it is recognized.
        package let meaning: String
        /// The members that can have the evidence, the first that has one counts: a JWS before a receipt. A path of two
        /// names leads into an object. Empty for texts.
        package let members: [[String]]
        /// A member that must be beside them. Its value is not read.
        let companion: String?
        /// Where it is documented, or the code that sends it.
        package let source: String

        fileprivate init(
            _ meaning: String, _ members: [[String]] = [], beside companion: String? = nil, from source: String
        ) {
            self.meaning = meaning
            self.members = members
            self.companion = companion
            self.source = source
        }
    }

    package var row: Row {
        switch self {
        case .jsonString: Row("a JSON string", from: "RFC 8259, section 7")
        case .dataURI: Row("a `data:` URI", from: "RFC 2397")
        case .form:
            Row(
                "a form with a name that Apple uses, such as `receipt-data=…`",
                from: "WHATWG URL, application/x-www-form-urlencoded")
        case .percentEncoding: Row("percent-encoded text", from: "RFC 3986, section 2.1")
        case .lineBreaks: Row("a JWS with line breaks", from: "RFC 2045, section 6.8, and RFC 7468, section 2")
        case .base64: Row("base64 of a text that is evidence, or that is in this list", from: "RFC 4648, section 4")
        case .storeKit:
            Row("StoreKit 2", [["jwsRepresentation"]], from: "Apple: StoreKit, `VerificationResult`")
        case .unity:
            Row("Unity IAP", [["Payload"]], beside: "Store", from: "Unity Manual: Purchase Receipts")
        case .flutter:
            Row(
                "Flutter's in_app_purchase",
                [["serverVerificationData"], ["verificationData", "serverVerificationData"]],
                from: "flutter/packages: `PurchaseVerificationData`")
        case .reactNative:
            Row(
                "react-native-iap, expo-iap, godot-iap",
                [
                    ["purchaseToken"], ["jwsRepresentation"], ["jwsRepresentationIOS"], ["jwsRepresentationIos"],
                    ["verificationResultIOS"], ["transactionReceipt"],
                ], from: "hyochan/react-native-iap and hyochan/expo-iap: `src/types`")
        case .cordova:
            Row(
                "cordova-plugin-purchase",
                [["transaction", "jwsRepresentation"], ["transaction", "appStoreReceipt"], ["appStoreReceipt"]],
                from: "j3k0/cordova-plugin-purchase: `src/ts/validator/validator-request.ts`")
        case .verifyReceipt:
            Row("an answer of verifyReceipt", [["latest_receipt"]], from: "Apple: App Store Receipts, `responseBody`")
        case .notificationV1:
            Row(
                "a server notification of version 1", [["unified_receipt", "latest_receipt"], ["latest_receipt"]],
                from: "Apple: App Store Server Notifications V1, `responseBodyV1`")
        }
    }
}

extension Wrapper {
    /// A member that can have evidence, in the object of a wrapper or in one that Apple sends.
    struct Member: Sendable {
        let path: [String]
        /// The wrappers that have it as a member; none for the objects that are read without a wrapper.
        let wrappers: [Wrapper]
    }

    /// All members, each once.
    static let members: [Member] = {
        var members = EvidenceMember.allCases.map { Member(path: [$0.rawValue], wrappers: []) }
        for wrapper in Wrapper.allCases {
            for path in wrapper.row.members where !members.contains(where: { isSame($0.path, path) }) {
                let wrappers = Wrapper.allCases.filter { $0.row.members.contains { isSame($0, path) } }
                members.append(Member(path: path, wrappers: wrappers))
            }
        }
        return members
    }()

    static let companions: [(wrapper: Wrapper, name: String)] = Wrapper.allCases.compactMap { wrapper in
        wrapper.row.companion.map { (wrapper, $0) }
    }

    private static func isSame(_ left: [String], _ right: [String]) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}

/// The wrappers around evidence, outermost first; at most two.
package struct Layers: Hashable, Sendable {
    private var outer: Wrapper?
    private var inner: Wrapper?

    package init() {}

    package var isEmpty: Bool { outer == nil }

    /// The names of the wrappers.
    package var names: [String] { [outer, inner].compactMap { $0?.rawValue } }

    /// Returns the layers with one more inside; `nil` if there are two.
    func adding(_ wrapper: Wrapper) -> Layers? {
        guard inner == nil else { return nil }
        var layers = self
        if outer == nil { layers.outer = wrapper } else { layers.inner = wrapper }
        return layers
    }

    /// Returns the layers with another name for the one inside `layers`.
    func renaming(inside layers: Layers, to wrapper: Wrapper) -> Layers {
        var renamed = self
        if layers.outer == nil { renamed.outer = wrapper } else { renamed.inner = wrapper }
        return renamed
    }
}
