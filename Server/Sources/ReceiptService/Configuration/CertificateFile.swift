import AppStoreReceipt
import HTTPService
import ServerText

/// A file with certificates: one in DER, or any number in PEM (RFC 7468).
enum CertificateFile {
    static func anchors(in file: String) throws(ConfigurationError) -> [TrustAnchor] {
        var anchors: [TrustAnchor] = []
        for der in try certificates(in: file) {
            guard let anchor = try? TrustAnchor(der: der) else {
                throw ConfigurationError("\(file): certificate \(anchors.count + 1) is malformed")
            }
            anchors.append(anchor)
        }
        return anchors
    }

    /// The roots in files, and the intermediates of transaction receipts among them, which have Apple's marker.
    static func trust(in files: [String]) throws(ConfigurationError) -> AppStoreTrust {
        var roots: [TrustAnchor] = []
        var issuers: [TransactionReceiptIssuer] = []
        for file in files {
            for anchor in try anchors(in: file) {
                if let issuer = try? TransactionReceiptIssuer(der: anchor.der), !issuer.versions.isEmpty {
                    issuers.append(issuer)
                } else {
                    roots.append(anchor)
                }
            }
        }
        guard !roots.isEmpty else { throw ConfigurationError("--root: \(files.joined(separator: ", ")) has no root") }
        return issuers.isEmpty ? .roots(roots) : .adding(issuers, to: .roots(roots))
    }

    /// The fingerprints that a value of `--distrust` names.
    static func fingerprints(_ value: String) throws(ConfigurationError) -> [Fingerprint] {
        if let fingerprint = Fingerprint(hex: value) { return [fingerprint] }
        var fingerprints: [Fingerprint] = []
        for der in try certificates(in: value) {
            guard let fingerprint = try? Fingerprint(of: der.span) else {
                throw ConfigurationError("\(value): this host cannot compute SHA-256")
            }
            fingerprints.append(fingerprint)
        }
        return fingerprints
    }

    private static func certificates(in file: String) throws(ConfigurationError) -> [[UInt8]] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try System.readFile(file, maximumByteCount: 1 << 20)
        } catch {
            throw ConfigurationError("\(file): \(error)")
        }
        // A certificate is a SEQUENCE, whose tag no text begins with that is followed by a length.
        if bytes.first == 0x30 { return [bytes] }
        var certificates: [[UInt8]] = []
        var position = 0
        while let start = PEMBlock.firstStart(in: bytes.span, from: position) {
            guard let block = try? PEMBlock(in: bytes.span, from: start),
                let der = try? Base64.decode(bytes[block.body].span, as: .pem)
            else { throw ConfigurationError("\(file): the PEM block at byte \(start) is malformed") }
            // A file may have other things, such as parameters of a key.
            if bytes[block.label].elementsEqual("CERTIFICATE".utf8) { certificates.append(der) }
            position = block.end
        }
        guard !certificates.isEmpty else { throw ConfigurationError("\(file): no certificate") }
        return certificates
    }
}
