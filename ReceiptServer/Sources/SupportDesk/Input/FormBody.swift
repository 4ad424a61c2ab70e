import HTTPService
import StrictText

/// The fields of a form (`application/x-www-form-urlencoded`).
struct FormBody {
    private let fields: [UTF8Bytes: [UInt8]]

    /// The maximum number of fields. No form of the desk has as many.
    private static let maximumCount = 32

    /// - Throws: A fault if the body isn't a form, or if a field occurs twice.
    init(_ request: Request) throws(RequestFault) {
        let type = request.header("Content-Type")?.utf8.prefix { $0 != UInt8(ascii: ";") }
        guard type?.elementsEqual("application/x-www-form-urlencoded".utf8) ?? false else {
            throw .invalid("the body is no form")
        }
        var fields: [UTF8Bytes: [UInt8]] = [:]
        let pairs = request.body.split(separator: UInt8(ascii: "&"), maxSplits: Self.maximumCount)
        guard pairs.count <= Self.maximumCount else { throw .invalid("the form has too many fields") }
        for pair in pairs {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = UTF8Bytes(Self.decoded(pair[..<end])[...])
            guard fields.updateValue(Self.decoded(pair[end...].dropFirst()), forKey: name) == nil else {
                throw .invalid("a field of the form is there twice")
            }
        }
        self.fields = fields
    }

    /// Returns the bytes of a field, or no bytes if there is no such field.
    func bytes(_ name: StaticString) -> [UInt8] { fields[UTF8Bytes("\(name)")] ?? [] }

    /// Returns the text of a field without surrounding white space, or `nil` if it is empty or not UTF-8.
    func text(_ name: StaticString) -> String? {
        let bytes = bytes(name).trimmed
        return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
    }

    /// Returns the text that a user typed into a field, unchanged.
    func typedText(_ name: StaticString) -> String? {
        let bytes = bytes(name)
        return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
    }

    /// Returns the text of a field that the page filled in, undoing ``escaped(_:)``.
    func exactText(_ name: StaticString) -> String? {
        var bytes = bytes(name)
        if bytes.starts(with: Self.escapeMark) { bytes = Self.unescaped(bytes.dropFirst(Self.escapeMark.count)) }
        return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
    }

    /// The prefix of a text with escapes. Most names have none.
    private static let escapeMark = Array("%%".utf8)

    /// Escapes a text (`%0A`) that a browser might change in a field: it sends every line break as CR LF.
    static func escaped(_ text: String) -> String {
        guard text.utf8.starts(with: escapeMark) || !text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return text }
        var escaped = "%%"
        for byte in text.utf8 {
            if 0x21...0x7E ~= byte, byte != UInt8(ascii: "%") {
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return escaped
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        unescaped(text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }[...])
    }

    private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "%") where index + 1 < text.endIndex:
                guard let high = text[index].hexadecimalDigit, let low = text[index + 1].hexadecimalDigit else {
                    bytes.append(byte)
                    continue
                }
                bytes.append(high << 4 | low)
                index += 2
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}

extension UInt8 {
    var isSpace: Bool { self == 0x20 || 0x09...0x0D ~= self }
}

extension Array<UInt8> {
    var trimmed: ArraySlice<UInt8> {
        guard let start = firstIndex(where: { !$0.isSpace }), let last = lastIndex(where: { !$0.isSpace }) else {
            return []
        }
        return self[start...last]
    }
}
