@_spi(Surfaces) import AppStoreReceipt
import HTTPService

/// Reads the certificate files that options name.
enum CertificateFiles {
    static func anchors(in file: String) throws(ConfigurationError) -> [TrustAnchor] { try read(file).certificates }

    private static func read(_ file: String) throws(ConfigurationError) -> CertificateFile {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try System.readFile(file, maximumByteCount: 1 << 20)
        } catch {
            throw ConfigurationError("\(file): \(error)")
        }
        do throws(CertificateFileFault) {
            return try CertificateFile(bytes)
        } catch {
            throw ConfigurationError("\(file): \(error)")
        }
    }

    /// Returns the fingerprints that a value of `--distrust` names, directly or in a file.
    static func fingerprints(_ value: String) throws(ConfigurationError) -> [Fingerprint] {
        if let fingerprint = Fingerprint(value) { return [fingerprint] }
        guard let fingerprints = try read(value).fingerprints else {
            throw ConfigurationError("\(value): this host cannot compute SHA-256")
        }
        return fingerprints
    }
}
