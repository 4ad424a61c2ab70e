/// The contents of a file with certificates: one in DER, or any number in PEM (RFC 7468).
enum CertificateFile {
    /// Returns the certificates in DER; `nil` if there is none, or if a block of PEM is malformed.
    static func certificates(in file: [UInt8]) -> [[UInt8]]? {
        // A certificate is a SEQUENCE, and no text begins with its tag, which is "0", and a length.
        if file.first == 0x30 { return [file] }
        var certificates: [[UInt8]] = []
        var body: [UInt8]?
        for line in file.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            if line.starts(with: "-----BEGIN CERTIFICATE-----".utf8) {
                guard body == nil else { return nil }
                body = []
            } else if line.starts(with: "-----END CERTIFICATE-----".utf8) {
                guard let text = body, let der = decodeBase64(text) else { return nil }
                certificates.append(der)
                body = nil
            } else {
                // What stands between blocks is explanatory text.
                body?.append(contentsOf: line)
            }
        }
        return body == nil && !certificates.isEmpty ? certificates : nil
    }

    private static func decodeBase64(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount = 0
        var isPadded = false
        for character in text {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            case UInt8(ascii: "="):
                isPadded = true
                continue
            case UInt8(ascii: " "), UInt8(ascii: "\t"): continue
            default: return nil
            }
            guard !isPadded else { return nil }
            bits = (bits << 6 | UInt32(value)) & 0xFFFF
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        return bytes
    }
}
