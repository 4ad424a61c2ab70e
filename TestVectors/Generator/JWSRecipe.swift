import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import SignatureTrust

/// One change on the way from keys to a JWS. Changes are applied in the order of the way, whatever their order in the
/// recipe.
enum JWSStep: Sendable {
    /// To the certificates before they are issued.
    case shape(@Sendable (inout TestCertificateAuthority.Shape, inout ChainKeys) -> Void)
    /// To header and payload.
    case builder(@Sendable (inout JWSBuilder, JWSMinting) throws -> Void)
    /// To header and payload in base64url, before they are signed.
    case parts(@Sendable (inout [String]) throws -> Void)
    /// To the signature.
    case signature(@Sendable (inout [UInt8], _ input: [UInt8], JWSMinting) throws -> Void)
    /// To the three parts in base64url.
    case signedParts(@Sendable (inout [String]) throws -> Void)
    /// To the text.
    case text(@Sendable (inout String) -> Void)
    /// To the verifier.
    case verifier(@Sendable (inout VerifierOptions) -> Void)
}

/// The authority whose keys a chain has; for signed data, unless said otherwise.
struct ChainKeys: Sendable {
    var root = Forge.KeyName.p384Root
    var intermediate = Forge.KeyName.p384Intermediate
    var leaf = Forge.KeyName.p256
}

/// What signs.
struct JWSMinting: Sendable {
    let forge: Forge
    let authority: TestCertificateAuthority
}

extension Forge {
    /// The certificates of signed data: EC throughout, if nothing else is said.
    func chain(
        _ shape: TestCertificateAuthority.Shape = .ellipticCurve, _ keys: ChainKeys = ChainKeys()
    ) throws -> TestCertificateAuthority {
        try signatures.stable(
            TestCertificateAuthority(
                shape, rootKey: key(keys.root), intermediateKey: key(keys.intermediate), leafKey: key(keys.leaf)))
    }

    /// Someone else's, with the same names.
    func strangersChain() throws -> TestCertificateAuthority {
        try chain(.ellipticCurve, ChainKeys(root: .strangerP384, intermediate: .strangerP384, leaf: .strangerP256))
    }

    /// The certificate that signs as Xcode does.
    func storeKitP256() throws -> SigningIdentity {
        let key = try key(.storeKitP256)
        return try signatures.stable(StoreKitTestingSigner(key: key).identity, issuer: key)
    }

    func options(_ steps: [JWSStep]) -> VerifierOptions {
        var options = VerifierOptions()
        for case .verifier(let change) in steps { change(&options) }
        return options
    }

    /// Mints a JWS: a transaction, if nothing else is said.
    func jws(_ steps: [JWSStep]) throws -> String {
        var (shape, keys) = (TestCertificateAuthority.Shape.ellipticCurve, ChainKeys())
        for case .shape(let change) in steps { change(&shape, &keys) }
        let minting = JWSMinting(forge: self, authority: try chain(shape, keys))

        var builder = JWSBuilder.transaction(
            bundleID: VerifierOptions.bundleID, productID: "pro", transactionID: "200000000000001")
        for case .builder(let change) in steps { try change(&builder, minting) }
        var parts = builder.signingInput(certificates: minting.authority.certificates)
            .split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for case .parts(let change) in steps { try change(&parts) }

        let input = Array(parts.joined(separator: ".").utf8)
        let key = minting.authority.leaf.key
        var signature = try signatures.signature(of: input, by: key) {
            // A key that cannot sign so is refused whatever stands here.
            (try? JWSBuilder.signature(of: input, key: key)) ?? [UInt8](repeating: 1, count: 64)
        }
        for case .signature(let change) in steps { try change(&signature, input, minting) }
        parts.append(JWSBuilder.base64URL(signature))
        for case .signedParts(let change) in steps { try change(&parts) }
        var text = parts.joined(separator: ".")
        for case .text(let change) in steps { change(&text) }
        return text
    }
}

// MARK: - Steps

extension JWSStep {
    static func builder(_ change: @escaping @Sendable (inout JWSBuilder) -> Void) -> JWSStep {
        .builder { builder, _ in change(&builder) }
    }

    /// Puts another payload in the place of the transaction.
    static func payload(_ builder: JWSBuilder) -> JWSStep { .builder { $0.payload = builder.payload } }

    /// Sets a member of the payload, or removes it.
    static func member(_ name: String, _ value: JSONValue?) -> JWSStep { .builder { $0.payload[name] = value } }

    /// Adds a member to the payload, though it may be there.
    static func repeated(_ name: String, _ value: JSONValue) -> JWSStep {
        .builder { $0.payload.append(name, value) }
    }

    /// Adds a member to the header, though it may be there.
    static func header(_ name: String, _ value: JSONValue) -> JWSStep {
        .builder { $0.additionalHeaderMembers.append(.init(name, value)) }
    }

    static func algorithm(_ name: String?) -> JWSStep { .builder { $0.algorithm = name } }

    /// Changes the certificates of the header: at first leaf, intermediate, root.
    static func x5c(_ change: @escaping @Sendable ([[UInt8]], Forge) throws -> [[UInt8]]) -> JWSStep {
        .builder { builder, minting in
            builder.certificates = try change(minting.authority.certificates, minting.forge)
        }
    }

    static func leaf(_ change: @escaping @Sendable (inout CertificateSpecification) -> Void) -> JWSStep {
        .shape { shape, _ in change(&shape.leaf) }
    }

    static func intermediate(_ change: @escaping @Sendable (inout CertificateSpecification) -> Void) -> JWSStep {
        .shape { shape, _ in change(&shape.intermediate) }
    }

    /// A notification with signed parts, each made by its own recipe.
    static func notification(transaction: [JWSStep]? = nil, renewalInfo: [JWSStep]? = nil) -> JWSStep {
        .builder { builder, minting in
            let forge = minting.forge
            builder.payload =
                JWSBuilder.notification(
                    .didRenew, bundleID: VerifierOptions.bundleID,
                    transaction: try transaction.map { try forge.jws($0) },
                    renewalInfo: try renewalInfo.map { try forge.jws([.renewalInfo()] + $0) }
                ).payload
        }
    }

    static func renewalInfo() -> JWSStep {
        .payload(.renewalInfo(productID: "pro", originalTransactionID: "200000000000001"))
    }

    /// Signed as Xcode signs, in a verifier for that.
    static func xcode(_ environment: String) -> [JWSStep] {
        [
            .shape { _, keys in keys.leaf = .storeKitP256 },
            .x5c { _, forge in [try forge.storeKitP256().certificate] },
            .header("kid", "Apple_Xcode_Key"), .header("typ", "JWT"), .member("environment", .string(environment)),
        ]
    }

    static let inVerifierForXcode = JWSStep.verifier { $0.storeKitTesting = ["storekit-testing-p-256.der"] }

    /// A JWS whose signature does not count.
    static func unsigned() -> JWSStep { .signature { signature, _, _ in signature = [] } }

    /// Puts a character into one of the parts.
    static func inserting(_ character: Character, in part: Int) -> @Sendable (inout [String]) -> Void {
        { parts in
            var text = parts[part]
            text.insert(character, at: text.index(text.startIndex, offsetBy: 8))
            parts[part] = text
        }
    }

    /// Decodes one of the parts, changes its text, and encodes it again.
    static func recoding(
        _ part: Int, _ change: @escaping @Sendable (inout String) -> Void
    ) -> @Sendable (inout [String]) throws -> Void {
        { parts in
            let padding = String(repeating: "=", count: (4 - parts[part].count % 4) % 4)
            let base64 = parts[part].replacing("-", with: "+").replacing("_", with: "/") + padding
            guard let bytes = Data(base64Encoded: base64) else { throw MintingError.inexpressibleValue }
            var text = String(decoding: bytes, as: UTF8.self)
            change(&text)
            parts[part] = JWSBuilder.base64URL(Array(text.utf8))
        }
    }
}

/// HMAC-SHA256 (RFC 2104), with a key longer than a block.
func hmac(_ message: [UInt8], key: [UInt8]) throws -> [UInt8] {
    let digest = SignatureDigest.sha256
    let block = try digest.digest(of: key) + [UInt8](repeating: 0, count: 32)
    let inner = try digest.digest(of: block.map { $0 ^ 0x36 } + message)
    return try digest.digest(of: block.map { $0 ^ 0x5C } + inner)
}
