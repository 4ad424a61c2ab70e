import AppStoreReceiptTesting
import Foundation
import SignatureTrust
import Synchronization

/// ECDSA signatures differ each time they are made. Each is made once, and kept in `jws/signatures.json` by the SHA-256
/// of key and message.
final class SignatureStore: Sendable {
    private let known: [String: String]
    private let used = Mutex<[String: String]>([:])

    /// Reads what was kept, where there is anything.
    init(file: URL) {
        known = (try? JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))) ?? [:]
    }

    /// The kept signature of a message, or the one that `make` makes.
    func signature(of message: [UInt8], by key: SigningKey, _ make: () throws -> [UInt8]) throws -> [UInt8] {
        let digest = try SignatureDigest.sha256.digest(of: key.subjectPublicKeyInfo() + message)
        let name = base64(digest)
        let kept = used.withLock { $0[name] } ?? known[name]
        if let kept = kept.flatMap({ Data(base64Encoded: $0) }) {
            used.withLock { $0[name] = base64(Array(kept)) }
            return Array(kept)
        }
        let signature = try make()
        used.withLock { $0[name] = base64(signature) }
        return signature
    }

    /// The certificate with the kept signature, where the issuer's is an ECDSA.
    func stable(_ identity: SigningIdentity, issuer: SigningKey) throws -> SigningIdentity {
        var certificate = Node(identity.certificate)
        // The names of ECDSA have no parameters (RFC 5758, 3.2), those of RSA have.
        guard certificate[1].nodes.count == 1 else { return identity }
        let signature = try signature(of: certificate[0].encoded, by: issuer) {
            Array(certificate[2].octets.dropFirst())
        }
        certificate[2].octets = [0] + signature
        return SigningIdentity(certificate: certificate.encoded, key: identity.key)
    }

    func stable(_ authority: TestCertificateAuthority) throws -> TestCertificateAuthority {
        try TestCertificateAuthority(
            root: stable(authority.root, issuer: authority.root.key),
            intermediate: stable(authority.intermediate, issuer: authority.root.key),
            leaf: stable(authority.leaf, issuer: authority.intermediate.key))
    }

    /// Those that were asked for, one to a line.
    var contents: [UInt8] {
        let lines = used.withLock { $0 }.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }
        return Array(("{\n" + lines.joined(separator: ",\n") + "\n}\n").utf8)
    }
}
