/// One element in DER, encoded apart from the code under test.
package func tlv(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    var length: [UInt8] = [UInt8(truncatingIfNeeded: content.count)]
    if content.count >= 0x80 {
        var octets: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            octets.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        length = [0x80 | UInt8(octets.count)] + octets
    }
    return [tag] + length + content
}

package func tlv(_ tag: UInt8, _ text: String) -> [UInt8] { tlv(tag, [UInt8](text.utf8)) }

/// `RSASSA-PSS-params` with SHA-256, its mask and a salt of 32 bytes (RFC 4055, 3.1).
package let pssParametersOfSHA256: [UInt8] = {
    let sha256 = tlv(0x30, tlv(0x06, [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]) + [0x05, 0x00])
    let mgf1 = tlv(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x08])
    return tlv(0x30, tlv(0xA0, sha256) + tlv(0xA1, tlv(0x30, mgf1 + sha256)) + tlv(0xA2, [0x02, 0x01, 0x20]))
}()

/// The content octets of an INTEGER.
package func integer(_ value: Int) -> [UInt8] {
    var octets = (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    while octets.count > 1, octets[0] == (octets[1] < 0x80 ? 0x00 : 0xFF) { octets.removeFirst() }
    return octets
}
