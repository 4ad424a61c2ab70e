import AppStoreReceiptTesting
import SignatureTrust
import SpanASN1
import SpanPKCS7

/// Signs a mutated message again, so that the code after the signature is fuzzed, too.
public enum Resigner {
    /// Returns the message with all signatures and message-digest attributes corrected in place: over the content that
    /// it says is signed, with the key of ``FuzzAuthority``'s leaf. Returns `nil` if there is nothing to sign or not
    /// enough room.
    public static func resign(_ received: [UInt8]) -> [UInt8]? {
        do {
            let message = try ReceivedMessage(received)
            var der = message.der
            var signed = received
            for patch in try patches(der) {
                patch.apply(to: &der)
                guard let patch = patch.mapped(message.receivedOffset), patch.apply(to: &signed) else { return nil }
            }
            for patch in try signatures(der) {
                guard let patch = patch.mapped(message.receivedOffset), patch.apply(to: &signed) else { return nil }
            }
            return signed == received ? nil : signed
        } catch {
            return nil
        }
    }

    private struct Patch {
        let offset: Int
        let bytes: [UInt8]

        func mapped(_ map: (Int) -> Int) -> Patch? {
            guard !bytes.isEmpty else { return nil }
            let start = map(offset)
            return map(offset + bytes.count - 1) == start + bytes.count - 1 ? Patch(offset: start, bytes: bytes) : nil
        }

        @discardableResult
        func apply(to target: inout [UInt8]) -> Bool {
            guard offset + bytes.count <= target.count else { return false }
            target.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            return true
        }
    }

    /// The message digests.
    private static func patches(_ der: [UInt8]) throws -> [Patch] {
        let message = try SignedData(ContentInfo(der.span))
        guard let content = message.content else { return [] }
        var patches: [Patch] = []
        var signers = message.signerInfos
        while let signer = try signers.next() {
            guard let attributes = signer.signedAttributes, let digest = digest(signer.digestAlgorithm),
                let value = try attributes.singleValue(of: .messageDigest)
            else { continue }
            let bytes = try digest.digest(of: [UInt8](copying: content.content))
            if bytes.count == value.contentCount { patches.append(Patch(offset: value.contentOffset, bytes: bytes)) }
        }
        return patches
    }

    private static func signatures(_ der: [UInt8]) throws -> [Patch] {
        let message = try SignedData(ContentInfo(der.span))
        var patches: [Patch] = []
        var signers = message.signerInfos
        while let signer = try signers.next() {
            guard let digest = digest(signer.digestAlgorithm), digest != .md5 else { continue }
            var bytes: [UInt8] = []
            if let attributes = signer.signedAttributes {
                bytes = [0x31] + [UInt8](copying: attributes.element.encoded.extracting(droppingFirst: 1))
            } else if let content = message.content {
                bytes = [UInt8](copying: content.content)
            }
            let signature = try FuzzAuthority.authority.leaf.key.sign(bytes, digest: digest)
            if signature.count == signer.signature.contentCount {
                patches.append(Patch(offset: signer.signature.contentOffset, bytes: signature))
            }
        }
        return patches
    }

    private static func digest(_ algorithm: borrowing AlgorithmIdentifier) -> SignatureDigest? {
        for digest in SignatureDigest.allCases where algorithm.matches(digest.objectIdentifier) { return digest }
        return nil
    }
}
