#if FUZZ
import SeededRandom

// A JWS is split and its decoded parts are mutated: JSON by its structure, and a JWS inside it in the same way.

extension SeededGenerator {
    /// `nil` for what does not look like a JWS.
    mutating func mutatedJWS(_ input: [UInt8], depth: Int = 0) -> [UInt8]? {
        guard input.first == UInt8(ascii: "e") else { return nil }
        var parts = JWSSigner.parts(input)
        guard parts.count >= 2 else { return nil }
        let index = isLucky(5) ? below(parts.count) : 1
        guard let decoded = JWSSigner.decode(parts[index]) else { return nil }
        parts[index] = JWSSigner.encode(mutatedJSON(decoded, depth: depth))
        return Array(parts.joined(separator: [UInt8(ascii: ".")]))
    }

    /// Combines a JWS with a part of another.
    mutating func crossedJWS(_ receiver: [UInt8], _ donor: [UInt8]) -> [UInt8]? {
        guard receiver.first == UInt8(ascii: "e"), donor.first == UInt8(ascii: "e") else { return nil }
        var parts = JWSSigner.parts(receiver)
        let others = JWSSigner.parts(donor)
        guard parts.count == 3, others.count == 3 else { return nil }
        let index = below(3)
        parts[index] = others[index]
        return Array(parts.joined(separator: [UInt8(ascii: ".")]))
    }

    mutating func mutatedJSON(_ text: [UInt8], depth: Int) -> [UInt8] {
        guard !isLucky(4), let root = SimpleJSON(text) else { return mutatedByBytes(text) }
        let editor = JSONEditor(text: text, root: root)
        var target = below(editor.count)
        return editor.written(using: &self) { value, encoded, generator in
            defer { target -= 1 }
            return target == 0 ? generator.edited(value, encoded, depth: depth) : nil
        }
    }

    /// A replacement for a value, which can contain commas or a name.
    private mutating func edited(_ value: SimpleJSON, _ encoded: [UInt8], depth: Int) -> [UInt8] {
        if depth < 2, let string = value.string, !isLucky(4), let inner = mutatedJWS(string, depth: depth + 1) {
            return [UInt8(ascii: "\"")] + inner + [UInt8(ascii: "\"")]
        }
        let name = Array("\"\(Self.names[below(Self.names.count)])\":".utf8)
        let constant = Array(Self.values[below(Self.values.count)].utf8)
        switch below(9) {
        case 0: return constant
        case 1: return mutatedByBytes(encoded)
        case 2: return Array("[".utf8) + encoded + Array("]".utf8)
        case 3: return Array("{".utf8) + name + encoded + Array("}".utf8)
        case 4: return encoded + Array(",".utf8) + encoded
        case 5, 6: return encoded + Array(",".utf8) + name + constant
        case 7: return encoded + Array(",".utf8) + name + encoded
        default: return Array("null".utf8)
        }
    }

    private static let names = [
        "alg", "x5c", "crit", "jwk", "kid", "b64", "transactionId", "originalTransactionId", "bundleId", "productId",
        "purchaseDate", "signedDate", "environment", "revocationDate", "expiresDate", "isUpgraded", "offerType",
        "price",
        "advancedCommerceInfo", "commitmentInfo", "items", "offer", "refunds", "descriptors", "SKU", "autoRenewStatus",
        "eligibleWinBackOfferIds", "renewalDate", "receiptType", "receiptCreationDate", "appAppleId",
        "requestIdentifier",
        "notificationType", "notificationUUID", "data", "appData", "summary", "externalPurchaseToken", "status",
        "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo", "storefrontCountryCodes", "x", "",
        "receipt-data", "signedPayload", "verified", "error", "user",
        "multiSeatInfo", "priceTiers", "revokedSeatQuantity", "additionalTransactionReason", "renewalQuantity",
        "unclaimInfo", "unclaimSeatIds", "priceIncreaseInfo", "dependentSKUs", "version", "subtype", "userLocale",
        "trans\\u0061ctionId",
    ]
    private static let values = [
        "null", "true", "false", "0", "-0", "-1", "1749988800000", "1749988800000.75", "1e3", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "{}", "[]", "\"\"", "\"Production\"", "\"Sandbox\"", "\"Xcode\"",
        "\"LocalTesting\"", "\"com.example.app\"", "\"ES256\"", "\"none\"", "[\"0\",\"1\",\"2\"]", "[\"6\"]", "\"3\"",
        "\"4\"", "\"5\"", "[{}]", "[\"a\",\"b\"]", "\"\\ud83d\\ude00\"", "\"\\u0000\"", "\"é\"", "1234567890",
    ]
}

/// Writes a JSON tree without whitespace, with other text in some places.
private struct JSONEditor {
    let text: [UInt8]
    let root: SimpleJSON

    /// The number of values.
    var count: Int { count(root) }

    private func count(_ value: SimpleJSON) -> Int {
        1 + value.members.reduce(0) { $0 + count($1.value) } + value.elements.reduce(0) { $0 + count($1) }
    }

    typealias Edit = (SimpleJSON, [UInt8], inout SeededGenerator) -> [UInt8]?

    func written(using generator: inout SeededGenerator, _ edit: Edit) -> [UInt8] {
        written(root, edit, &generator)
    }

    private func written(_ value: SimpleJSON, _ edit: Edit, _ generator: inout SeededGenerator) -> [UInt8] {
        if let other = edit(value, Array(text[value.range]), &generator) { return other }
        switch value.value {
        case .object(let members):
            var parts: [[UInt8]] = []
            for member in members {
                let name = String(decoding: member.name, as: UTF8.self).map {
                    "\"\\".contains($0) ? "\\\($0)" : String($0)
                }
                parts.append(Array("\"\(name.joined())\":".utf8) + written(member.value, edit, &generator))
            }
            // Sometimes remove a member.
            if parts.count > 1, generator.isLucky(20) { parts.remove(at: generator.below(parts.count)) }
            return Array("{".utf8) + parts.joined(separator: [UInt8(ascii: ",")]) + Array("}".utf8)
        case .array(let elements):
            var parts: [[UInt8]] = []
            for element in elements { parts.append(written(element, edit, &generator)) }
            return Array("[".utf8) + parts.joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8)
        default: return Array(text[value.range])
        }
    }
}
#endif
