import ReceiptReport
import StrictText

/// The time zones of the system. A name that is not on its list opens no file.
struct TimeZoneDatabase {
    let folder: String

    static let system = TimeZoneDatabase(folder: "/usr/share/zoneinfo")

    private static let maximumListByteCount = 4 << 20
    private static let maximumFileByteCount = 1 << 20

    /// Returns a zone by its name.
    ///
    /// - Parameter option: The option that names it, for the error.
    func zone(named name: String, option: String) throws(UsageError) -> ReportTimeZone {
        let names = names
        guard let listed = names.first(where: { $0.hasSameBytes(as: name) }),
            let file = try? System.read("\(folder)/\(listed)", maximumByteCount: Self.maximumFileByteCount),
            let zone = ReportTimeZone(name: listed, file: file)
        else {
            throw .invalidValue(
                option: option, value: name,
                expected: names.isEmpty
                    ? "a time zone of this system, which has no list of them" : "a time zone such as Asia/Shanghai",
                suggestion: nearest(to: name, in: names))
        }
        return zone
    }

    /// The names on the system's list; empty if it has none.
    private var names: [String] {
        if let list = try? System.read("\(folder)/tzdata.zi", maximumByteCount: Self.maximumListByteCount) {
            return Self.names(inSource: list)
        }
        guard let table = try? System.read("\(folder)/zone1970.tab", maximumByteCount: Self.maximumListByteCount) else {
            return []
        }
        return ["UTC"] + Self.names(inTable: table)
    }

    /// The names in the source of the database: zones (`Z Asia/Shanghai …`) and links (`L Asia/Shanghai PRC`).
    static func names(inSource text: [UInt8]) -> [String] {
        lines(text).compactMap { line in
            let words = line.split(separator: UInt8(ascii: " "))
            switch words.first.map(Array.init) {
            case [UInt8(ascii: "Z")] where words.count > 1: return safe(words[1])
            case [UInt8(ascii: "L")] where words.count > 2: return safe(words[2])
            default: return nil
            }
        }
    }

    /// The names in a table of zones: the third column.
    static func names(inTable text: [UInt8]) -> [String] {
        lines(text).compactMap { line in
            let columns = line.split(separator: UInt8(ascii: "\t"))
            return line.first == UInt8(ascii: "#") || columns.count < 3 ? nil : safe(columns[2])
        }
    }

    private static func lines(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.split { $0 == .lineFeed || $0 == UInt8(ascii: "\r") }
    }

    /// The name, unless it leads out of the folder.
    private static func safe(_ name: ArraySlice<UInt8>) -> String? {
        let isSafe =
            name.first != UInt8(ascii: "/")
            && name.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "\\") }
        return isSafe ? String(decoding: name, as: UTF8.self) : nil
    }
}
