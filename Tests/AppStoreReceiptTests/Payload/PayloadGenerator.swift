import AppStoreReceiptTesting
import TestSupport

/// Makes payloads. Most are right and some are wrong in one place, with everything that decoders take shortcuts by at
/// its edges.
struct PayloadGenerator {
    var random: SeededGenerator
    /// One attribute in this many has a fault.
    var faultRate = 60

    init(random: SeededGenerator) { self.random = random }

    private mutating func pick(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }
    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }
    private mutating func isFault() -> Bool { pick(1...faultRate) == 1 }

    // MARK: Structures

    mutating func payload() -> [UInt8] {
        var attributes: [[UInt8]] = []
        for type in [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 25, 32]
        where pick(0...4) > 0 {
            attributes.append(attribute(type, value(of: type)))
        }
        for _ in 0..<pick([0, 0, 1, 2, 5, 9]) {
            var value = tlv(0x31, record())
            if isFault() { value[0] = 0x30 }
            if isFault() { value += [0x05, 0x00] }
            attributes.append(attribute(17, value))
        }
        for _ in 0..<pick([0, 0, 0, 1, 3]) { attributes.append(unknownAttribute()) }
        if isFault(), let repeated = attributes.randomElement(using: &random) { attributes.append(repeated) }
        attributes.shuffle(using: &random)
        return tlv(0x31, Array(attributes.joined()))
    }

    /// The content of one purchase's SET.
    mutating func record() -> [UInt8] {
        var attributes: [[UInt8]] = []
        let isLong = pick(0...2) == 0
        for type in 1701...1722 where pick(0...5) > 0 {
            attributes.append(
                attribute(type, isLong && type == 1718 ? tlv(0x0C, text(pick(0...200))) : value(of: type)))
        }
        for _ in 0..<pick([0, 0, 0, 1, 2]) { attributes.append(unknownAttribute()) }
        if isFault(), let repeated = attributes.randomElement(using: &random) { attributes.append(repeated) }
        attributes.shuffle(using: &random)
        return Array(attributes.joined())
    }

    private mutating func unknownAttribute() -> [UInt8] {
        let type = pick([
            -1, 7, 17, 22, 63, 64, 1700, 1702, 1709, 1722, 1723, 1732, 1733, 1734, 65535, 1 << 40, -1 << 63,
        ])
        return attribute(type == 17 ? 24 : type, random.bytes(pick(0...40)))
    }

    private mutating func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
        let version = pick(0...9) == 0 ? pick([0, 2, 127, 128, -1, 1 << 32]) : 1
        var content = tlv(0x02, integer(type)) + tlv(0x02, integer(version)) + tlv(0x04, value)
        guard isFault() else { return tlv(0x30, content) }
        switch pick(0...5) {
        case 0: return tlv(0x31, content)
        case 1: return [0x30, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
        case 2: content += [0x05, 0x00]
        case 3: content[0] = 0x0A
        case 4: content.removeLast()
        default: content = tlv(0x02, [0] + integer(type)) + content
        }
        return tlv(0x30, content)
    }

    // MARK: Values

    private mutating func value(of type: Int) -> [UInt8] {
        var value: [UInt8]
        switch type {
        case 0, 2, 3, 19, 1702, 1703, 1705, 1721:
            value = tlv(
                0x0C, text(pick([0, 1, 7, 8, 9, 12, 15, 16, 17, 20, 23, 24, 25, 40, 100, 114, 115, 116, 117, 130])))
        case 10: value = tlv(0x16, text(pick(0...4)))
        case 8, 12, 18, 21, 32, 1704, 1706, 1708, 1712: value = tlv(0x16, pick(0...4) == 0 ? [] : date())
        case 1713, 1719: value = tlv(0x02, [UInt8(pick(0...1))])
        case 1, 9, 11, 13, 15, 16, 25, 1701, 1707, 1710, 1711, 1720:
            value = tlv(0x02, integer(Int(truncatingIfNeeded: random.next() >> UInt64(pick(1...63)))))
        case 4, 5, 6, 7: value = random.bytes(pick(0...30))
        default: value = pick([tlv(0x0C, []), tlv(0x02, [0]), [], [0xFF], tlv(0x0C, text(pick(0...60)))])
        }
        guard isFault() else { return value }
        switch pick(0...6) {
        case 0:
            return tlv(
                0x02,
                pick([
                    [], [0, 1], [0xFF], [0x80, 0], [0, 0x80], [2], [0xFF, 0xFF], random.bytes(8), random.bytes(9),
                ]))
        case 1: return tlv(pick([0x0C, 0x16, 0x13, 0x2C, 0x36]), text(pick(0...30)))
        case 2: return tlv(0x16, mutatedDate())
        case 3:
            return tlv(
                0x0C,
                pick([[0xFF], [0xC3, 0xA4], [0xC3], [0x61, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x98, 0x80]]))
        case 4: value += [0x05, 0x00]
        case 5: value = value.isEmpty ? [0x04] : Array(value.dropLast())
        default:
            guard !value.isEmpty else { return [0] }
            value[pick(0...value.count - 1)] ^= UInt8(1 << pick(0...7))
        }
        return value
    }

    private mutating func text(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(pick(0x20...0x7E)) } }

    /// A date in one of the forms that receipts have; mostly the plain one.
    mutating func date() -> [UInt8] {
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let year = pick([1970, 2000, 2013, 2024, 2100, pick(1000...9999)])
        let month = pick([1, 2, 3, 12, pick(1...12)])
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
        let time =
            "T" + two(pick([0, 23, pick(0...23)])) + ":" + two(pick([0, 59, pick(0...59)])) + ":" + two(pick([0, 59]))
        let zone = pick(0...9) > 1 ? "Z" : pick([".5Z", ".123Z", ".000999Z", "+0300", "+03:00", "-0930", ".25-23:59"])
        return Array("\(year)-\(two(month))-\(two(pick([1, days, pick(1...days)])))\(time)\(zone)".utf8)
    }

    /// A date with one byte changed: to its neighbour, to another character of dates, or to anything.
    mutating func mutatedDate() -> [UInt8] {
        var date = date()
        let index = pick(0...date.count - 1)
        switch pick(0...3) {
        case 0: date[index] &+= 1
        case 1: date[index] &-= 1
        case 2: date[index] = pick(Array("0123456789-:TZtz+. /".utf8))
        default: date[index] = UInt8(pick(0...255))
        }
        return date
    }
}
