import StrictText

/// The settings of a signer as JSON, which the C library and the languages over it pass: `key_id`, `issuer_id` and
/// `bundle_id`, and `key_file` or `key_credential` if the key is not passed beside them.
@_spi(Surfaces)
public struct SignerSettings {
    private enum Member: String, CaseIterable, Sendable {
        case keyID = "key_id"
        case issuerID = "issuer_id"
        case bundleID = "bundle_id"
        case keyFile = "key_file"
        case keyCredential = "key_credential"
    }

    private static let members = JSONMembers<Member>()
    private var texts: [Member: String] = [:]

    /// Returns `nil` for anything but a JSON object of these strings.
    public init?(_ json: [UInt8]) {
        var texts: [Member: String] = [:]
        var isKnown = true
        let isJSON: Void? = try? JSONCursor.decode(json.span) { (cursor) throws(JSONError) in
            try cursor.readObject { (cursor, name) throws(JSONError) in
                guard let member = Self.members.member(of: name) else {
                    isKnown = false
                    return
                }
                guard !texts.keys.contains(member) else { throw JSONError(.duplicateMember, offset: name.offset) }
                texts[member] = try cursor.readString().value
            }
        }
        guard isJSON != nil, isKnown else { return nil }
        self.texts = texts
    }

    /// Whether exactly one key is passed or named.
    public func hasOneKey(besides isPassed: Bool) -> Bool {
        [isPassed, texts.keys.contains(.keyFile), texts.keys.contains(.keyCredential)].count { $0 } == 1
    }

    /// Makes the signer.
    ///
    /// - Parameter p8: The contents of a key's file, which are overwritten; `nil` if the settings name the key.
    public func signer(erasing p8: inout [UInt8]?) throws(SigningError) -> AppStoreSigner {
        let key: InAppPurchaseKey
        if var bytes = p8 {
            // No other reference, so that the memory itself is overwritten.
            p8 = nil
            key = try InAppPurchaseKey(erasing: &bytes)
        } else if let name = texts[.keyCredential] {
            key = try InAppPurchaseKey(systemdCredential: name)
        } else {
            key = try InAppPurchaseKey(file: texts[.keyFile] ?? "")
        }
        return try AppStoreSigner(
            keyID: texts[.keyID] ?? "", issuerID: texts[.issuerID] ?? "", bundleID: texts[.bundleID] ?? "", key: key)
    }
}
