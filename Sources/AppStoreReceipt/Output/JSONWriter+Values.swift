import Instants
import SpanASN1
import StrictText

extension JSONWriter {
    static func text(_ write: (inout JSONWriter) -> Void) -> String { String(decoding: utf8(write), as: UTF8.self) }

    static func utf8(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        write(&writer)
        return writer.bytes
    }

    package mutating func member(_ name: StaticString, _ value: Instant) {
        self.name(name)
        date(value)
    }

    /// A string in RFC 3339, as ``Instant/description``: with milliseconds only if there are any.
    package mutating func date(_ value: Instant) {
        let parts = value.components
        guard 0...9999 ~= parts.year else { return string(value.description) }
        string(capacity: 24) { output in
            output.appendDigits(of: parts.year, count: 4)
            output.append(UInt8(ascii: "-"))
            output.appendDigits(of: parts.month, count: 2)
            output.append(UInt8(ascii: "-"))
            output.appendDigits(of: parts.day, count: 2)
            output.append(UInt8(ascii: "T"))
            output.appendDigits(of: parts.hour, count: 2)
            output.append(UInt8(ascii: ":"))
            output.appendDigits(of: parts.minute, count: 2)
            output.append(UInt8(ascii: ":"))
            output.appendDigits(of: parts.second, count: 2)
            if parts.millisecond != 0 {
                output.append(UInt8(ascii: "."))
                output.appendDigits(of: parts.millisecond, count: 3)
            }
            output.append(UInt8(ascii: "Z"))
        }
    }

    /// A string of lower-case hexadecimal digits, with `prefix` before them.
    package mutating func hex(_ octets: Span<UInt8>, prefix: String = "") {
        string(capacity: prefix.utf8.count + octets.count * 2) { output in
            for character in prefix.utf8 { output.append(character) }
            for index in octets.indices {
                output.append(Hexadecimal.digit(octets[index] >> 4))
                output.append(Hexadecimal.digit(octets[index] & 0xF))
            }
        }
    }
}

extension OutputSpan<UInt8> {
    /// The last `count` decimal digits of a number that is not negative.
    fileprivate mutating func appendDigits(of value: Int, count: Int) {
        var divisor = 1
        for _ in 1..<count { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }
}
