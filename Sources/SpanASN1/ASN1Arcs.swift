/// Subidentifiers: numbers of any size in base 128, most significant group first, with bit 8 set on all but the last
/// (X.690, 8.19.2).
enum ASN1Arcs {
    /// Whether these are complete, minimally encoded arcs, at least one.
    static func areValid(_ content: Span<UInt8>) -> Bool {
        var isStart = true
        for index in content.indices {
            let octet = content[index]
            if isStart, octet == 0x80 { return false }
            isStart = octet < 0x80
        }
        return isStart && !content.isEmpty
    }

    // MARK: Text

    /// The limits of decimal conversion, whose time is quadratic.
    private static let maximumDecimalOctets = 128
    private static let maximumDigits = 256

    /// Valid content as dotted decimal; an OBJECT IDENTIFIER's first subidentifier is two arcs (X.690, 8.19.4).
    static func describe(_ content: Span<UInt8>, splittingFirst: Bool) -> String {
        var text = ""
        var start = 0
        for index in content.indices where content[index] < 0x80 {
            let arc = content.extracting(start...index)
            if start > 0 { text += "." }
            if start == 0, splittingFirst {
                let isUnderTwo = arc.count > 1 || arc[0] >= 80
                text += isUnderTwo ? "2." : arc[0] >= 40 ? "1." : "0."
                text += number(arc, minus: isUnderTwo ? 80 : arc[0] >= 40 ? 40 : 0)
            } else {
                text += number(arc, minus: 0)
            }
            start = index + 1
        }
        return text
    }

    private static func number(_ arc: Span<UInt8>, minus subtrahend: UInt64) -> String {
        if arc.count <= 9 {
            var value: UInt64 = 0
            for index in arc.indices { value = value << 7 | UInt64(arc[index] & 0x7F) }
            return String(value - subtrahend)
        }
        return arc.count <= maximumDecimalOctets
            ? decimal(arc, minus: subtrahend) : hexadecimal(arc, minus: UInt8(subtrahend))
    }

    private static func decimal(_ arc: Span<UInt8>, minus subtrahend: UInt64) -> String {
        let base: UInt64 = 1_000_000_000
        var limbs: [UInt64] = [0]  // least significant first
        for index in arc.indices {
            var carry = UInt64(arc[index] & 0x7F)
            for limb in limbs.indices {
                (carry, limbs[limb]) = (limbs[limb] << 7 + carry).quotientAndRemainder(dividingBy: base)
            }
            if carry > 0 { limbs.append(carry) }
        }
        var borrow = subtrahend
        for limb in limbs.indices where borrow > 0 {
            let wraps = limbs[limb] < borrow
            limbs[limb] = limbs[limb] + (wraps ? base : 0) - borrow
            borrow = wraps ? 1 : 0
        }
        if limbs.count > 1, limbs.last == 0 { limbs.removeLast() }
        var text = String(limbs.last ?? 0)
        for limb in limbs.dropLast().reversed() {
            let digits = String(limb)
            text += String(repeating: "0", count: 9 - digits.count) + digits
        }
        return text
    }

    private static func hexadecimal(_ arc: Span<UInt8>, minus subtrahend: UInt8) -> String {
        var octets: [UInt8] = []  // least significant first
        var buffer: UInt32 = 0
        var bitCount: UInt32 = 0
        for index in arc.indices.reversed() {
            buffer |= UInt32(arc[index] & 0x7F) << bitCount
            bitCount += 7
            if bitCount >= 8 {
                octets.append(UInt8(truncatingIfNeeded: buffer))
                buffer >>= 8
                bitCount -= 8
            }
        }
        octets.append(UInt8(truncatingIfNeeded: buffer))
        var borrow = subtrahend
        for index in octets.indices where borrow > 0 {
            let (difference, wraps) = octets[index].subtractingReportingOverflow(borrow)
            octets[index] = difference
            borrow = wraps ? 1 : 0
        }
        while octets.last == 0 { octets.removeLast() }
        octets.reverse()
        let text = Hexadecimal.text(octets.span)
        return "0x" + (text.utf8.first == UInt8(ascii: "0") ? text.dropFirst() : text[...])
    }

    /// The content octets for dotted decimal; `nil` if it is malformed or, with `joiningFirstTwo`, no OBJECT
    /// IDENTIFIER.
    static func encode(_ dotted: String, joiningFirstTwo: Bool) -> [UInt8]? {
        var arcs = dotted.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)[...]
        var addend: UInt32 = 0
        if joiningFirstTwo {
            guard let root = arcs.popFirst(), let second = arcs.first, root.count == 1, let digit = root.first,
                UInt8(ascii: "0")...UInt8(ascii: "2") ~= digit
            else { return nil }
            addend = UInt32(digit - UInt8(ascii: "0")) * 40
            if addend < 80 {
                guard let number = UInt8(Substring(second)), number < 40 else { return nil }
            }
        }
        var content: [UInt8] = []
        for arc in arcs {
            guard let octets = groups(arc, plus: addend) else { return nil }
            content += octets
            addend = 0
        }
        return content.isEmpty ? nil : content
    }

    private static func groups(_ digits: Substring.UTF8View.SubSequence, plus addend: UInt32) -> [UInt8]? {
        guard 1...maximumDigits ~= digits.count, digits.count == 1 || digits.first != UInt8(ascii: "0") else {
            return nil
        }
        var groups: [UInt8] = [0]  // least significant first, 7 bits each
        func multiply(by factor: UInt32, adding summand: UInt32) {
            var carry = summand
            for index in groups.indices {
                let value = UInt32(groups[index]) * factor + carry
                groups[index] = UInt8(value & 0x7F)
                carry = value >> 7
            }
            if carry > 0 { groups.append(UInt8(carry)) }
        }
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            multiply(by: 10, adding: UInt32(digit - UInt8(ascii: "0")))
        }
        multiply(by: 1, adding: addend)
        for index in groups.indices.dropFirst() { groups[index] |= 0x80 }
        return groups.reversed()
    }
}
