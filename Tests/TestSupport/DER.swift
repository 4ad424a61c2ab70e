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

/// The content octets of an INTEGER.
package func integer(_ value: Int) -> [UInt8] {
    var octets = (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    while octets.count > 1, octets[0] == (octets[1] < 0x80 ? 0x00 : 0xFF) { octets.removeFirst() }
    return octets
}
