import AppStoreReceiptTesting
import Foundation
import Instants

/// The stored keys, and the authority that all vectors are signed by if nothing else is said.
struct Forge: Sendable {
    let authority: TestCertificateAuthority
    let storeKitSigner: StoreKitTestingSigner
    private let keys: [KeyName: SigningKey]
    let signatures: SignatureStore

    enum KeyName: String, CaseIterable {
        case root, intermediate, leaf
        /// Someone else's.
        case strangerRoot = "stranger-root"
        case strangerIntermediate = "stranger-intermediate"
        case strangerLeaf = "stranger-leaf"
        case storeKit = "storekit-testing"
        case rsa512 = "rsa-512"
        case rsa1024 = "rsa-1024"
        case rsa2047 = "rsa-2047"
        case rsa3072 = "rsa-3072"
        case rsa4096 = "rsa-4096"
        case rsa4104 = "rsa-4104"
        case exponent3 = "rsa-exponent-3"
        case p256 = "p-256"
        case p384Root = "p-384-root"
        case p384Intermediate = "p-384-intermediate"
        case p521 = "p-521"
        case strangerP256 = "stranger-p-256"
        case strangerP384 = "stranger-p-384"
        case storeKitP256 = "storekit-testing-p-256"

        var kind: SigningKey.Kind {
            switch self {
            case .rsa512: .rsa(bits: 512)
            case .rsa1024: .rsa(bits: 1024)
            case .rsa2047: .rsa(bits: 2047)
            case .rsa3072: .rsa(bits: 3072)
            case .rsa4096: .rsa(bits: 4096)
            case .rsa4104: .rsa(bits: 4104)
            case .exponent3: .rsa(bits: 2048, publicExponent: 3)
            case .p256, .strangerP256, .storeKitP256: .p256
            case .p521: .p521
            case .p384Root, .p384Intermediate, .strangerP384: .p384
            default: .rsa(bits: 2048)
            }
        }
    }

    /// Loads the keys in `authority/`.
    ///
    /// - Parameter makesMissingKeys: whether a key that is not there is made and stored; else it is an error.
    init(directory: URL, makesMissingKeys: Bool) throws {
        let folder = directory.appendingPathComponent("authority")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var keys: [KeyName: SigningKey] = [:]
        for name in KeyName.allCases {
            let file = folder.appendingPathComponent(name.rawValue + ".key")
            if !makesMissingKeys || FileManager.default.fileExists(atPath: file.path) {
                keys[name] = try SigningKey(pem: Array(Data(contentsOf: file)))
            } else {
                let key = try SigningKey(generating: name.kind)
                try Data(key.pem()).write(to: file)
                keys[name] = key
            }
        }
        self.keys = keys
        signatures = SignatureStore(file: directory.appendingPathComponent("jws/signatures.json"))
        func key(_ name: KeyName) throws -> SigningKey {
            guard let key = keys[name] else { throw MintingError.missingFile }
            return key
        }
        authority = try TestCertificateAuthority(
            rootKey: key(.root), intermediateKey: key(.intermediate), leafKey: key(.leaf))
        storeKitSigner = try StoreKitTestingSigner(key: key(.storeKit))
    }

    func key(_ name: KeyName) throws -> SigningKey {
        guard let key = keys[name] else { throw MintingError.missingFile }
        return key
    }

    /// An authority with the same names and keys of its own.
    func stranger(_ shape: TestCertificateAuthority.Shape = .init()) throws -> TestCertificateAuthority {
        try TestCertificateAuthority(
            shape, rootKey: key(.strangerRoot), intermediateKey: key(.strangerIntermediate),
            leafKey: key(.strangerLeaf))
    }

    /// The certificates that verifiers are given as trust.
    func anchors() throws -> [String: [UInt8]] {
        var shape = TestCertificateAuthority.Shape()
        shape.root.replaceExtension(.basicConstraints(isAuthority: true, pathLength: 0))
        var p256Shape = TestCertificateAuthority.Shape.ellipticCurve
        p256Shape.root.digest = .sha256
        return try [
            "root.der": authority.root.certificate, "intermediate.der": authority.intermediate.certificate,
            "root-path-length-0.der": authority.reissued(shape).root.certificate,
            "renewed-root.der": authority.reissued(Self.renewed(.init())).root.certificate,
            "renewed-ec-root.der": chain(Self.renewed(.ellipticCurve)).root.certificate,
            "leaf.der": authority.leaf.certificate, "stranger-root.der": stranger().root.certificate,
            "storekit-testing.der": storeKitSigner.identity.certificate,
            "ec-root-of-receipts.der": chain(.init(), ChainKeys(root: .p384Root)).root.certificate,
            "p-256-root.der": chain(p256Shape, ChainKeys(root: .strangerP256)).root.certificate,
            "rsa-root.der": chain(.ellipticCurve, ChainKeys(root: .root)).root.certificate,
            "itunes-store.der": transactionAuthority(.version2).intermediate.certificate,
            "itunes-store-unmarked.der": transactionAuthority(.version2) {
                $0.intermediate.removeExtensions(.iTunesStoreMarker)
            }.intermediate.certificate,
            "intermediate-unmarked.der": transactionAuthority(.version4) {
                $0.intermediate.removeExtensions(.worldwideDeveloperRelationsMarker)
            }.intermediate.certificate,
            "ec-root.der": chain().root.certificate, "storekit-testing-p-256.der": storeKitP256().certificate,
        ]
    }

    /// The same names, and later years for the root.
    static func renewed(_ shape: TestCertificateAuthority.Shape) -> TestCertificateAuthority.Shape {
        var shape = shape
        shape.root.serialNumber = [0x03]
        shape.root.notBefore = Instant(millisecondsSince1970: 1_735_689_600_000)
        return shape
    }
}
