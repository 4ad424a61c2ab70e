import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation

/// One change on the way from keys to an input. Changes are applied in the order of the way, whatever their order in
/// the recipe.
enum Step: Sendable {
    /// To the certificates before they are issued.
    case shape(@Sendable (inout TestCertificateAuthority.Shape, Forge) throws -> Void)
    /// To the names of the keys that the certificates are issued for.
    case keys(@Sendable (inout ChainKeys) -> Void)
    /// To the authority after they were.
    case authority(@Sendable (inout TestCertificateAuthority, Forge) throws -> Void)
    /// To the receipt's fields.
    case receipt(@Sendable (inout ReceiptBuilder) throws -> Void)
    /// To the payload before it is signed.
    case payload(@Sendable (inout Node) throws -> Void)
    /// To the container before it is signed.
    case container(@Sendable (inout SignedDataBuilder, Minting) throws -> Void)
    /// To the container after it was.
    case tree(@Sendable (inout Node) throws -> Void)
    /// To the bytes.
    case bytes(@Sendable (inout [UInt8]) throws -> Void)
    /// To the verifier.
    case verifier(@Sendable (inout VerifierOptions, Forge) throws -> Void)
    /// From bytes to a text.
    case text(@Sendable ([UInt8]) throws -> String)
    /// To the text's bytes.
    case textBytes(@Sendable (inout [UInt8]) throws -> Void)
}

/// What signs.
struct Minting: Sendable {
    let forge: Forge
    let authority: TestCertificateAuthority
}

extension Forge {
    /// What a recipe starts from.
    static let example: ReceiptBuilder = {
        var receipt = ReceiptBuilder(
            bundleID: VerifierOptions.bundleID,
            purchases: [
                .nonConsumable("com.example.app.pro", transactionID: "200000000000001"),
                .consumable("com.example.app.coins", transactionID: "200000000000002", quantity: 3),
            ])
        receipt.attributeOrder = .der
        return receipt
    }()

    /// The verifier that a recipe asks for.
    func options(_ steps: [Step]) throws -> VerifierOptions {
        var options = VerifierOptions()
        for case .verifier(let change) in steps { try change(&options, self) }
        return options
    }

    /// Mints an input.
    func make(_ steps: [Step]) throws -> [UInt8] {
        var shape = TestCertificateAuthority.Shape()
        var isReissued = false
        for case .shape(let change) in steps {
            try change(&shape, self)
            isReissued = true
        }
        var keys = ChainKeys(root: .root, intermediate: .intermediate, leaf: .leaf)
        for case .keys(let change) in steps {
            change(&keys)
            isReissued = true
        }
        var authority = isReissued ? try chain(shape, keys) : self.authority
        for case .authority(let change) in steps { try change(&authority, self) }

        var receipt = Forge.example
        for case .receipt(let change) in steps { try change(&receipt) }
        var container =
            receipt.receiptType == ReceiptBuilder.ReceiptType.xcode.rawValue && receipt.encoding != .der
            ? try receipt.signedData(by: storeKitSigner) : try receipt.signedData(by: authority)
        for case .payload(let change) in steps {
            var payload = Node(container.content ?? [])
            try change(&payload)
            container.content = payload.encoded
        }
        let minting = Minting(forge: self, authority: authority)
        for case .container(let change) in steps { try change(&container, minting) }

        for (index, signer) in container.signers.enumerated()
        where signer.signature == nil && !signer.identity.key.isRSA {
            let signed = try container.signedBytes(of: signer)
            container.signers[index].signature = try signatures.signature(of: signed, by: signer.identity.key) {
                try signer.identity.key.sign(signed, digest: signer.digest)
            }
        }
        var bytes = try container.encoded()
        for case .tree(let change) in steps {
            var tree = Node(bytes)
            try change(&tree)
            bytes = tree.encoded
        }
        for case .bytes(let change) in steps { try change(&bytes) }
        for case .text(let convert) in steps { bytes = Array(try convert(bytes).utf8) }
        for case .textBytes(let change) in steps { try change(&bytes) }
        return bytes
    }
}

func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
