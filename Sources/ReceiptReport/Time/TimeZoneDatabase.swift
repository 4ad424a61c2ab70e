import StrictText

/// The time zones of a system. A name that is not on its list opens no file.
@_spi(Surfaces) public struct TimeZoneDatabase: Sendable {
    private let folder: String
    private let read: @Sendable (_ path: String, _ maximumByteCount: Int) -> [UInt8]?

    private static let maximumListByteCount = 4 << 20
    private static let maximumFileByteCount = 1 << 20

    /// - Parameter read: Returns a file's contents, or `nil` if it cannot be read or is too large.
    public init(
        folder: String = "/usr/share/zoneinfo",
        read: @escaping @Sendable (_ path: String, _ maximumByteCount: Int) -> [UInt8]?
    ) {
        self.folder = folder
        self.read = read
    }

    /// Returns a zone by its name; `nil` if there is none.
    public func zone(named name: String) -> ReportTimeZone? {
        guard let listed = names.first(where: { $0.hasSameBytes(as: name) }),
            let file = read("\(folder)/\(listed)", Self.maximumFileByteCount)
        else { return nil }
        return ReportTimeZone(name: listed, file: file)
    }

    /// The names on the system's list; empty if it has none.
    public var names: [String] {
        if let list = read("\(folder)/tzdata.zi", Self.maximumListByteCount) {
            return Self.names(inSource: list)
        }
        guard let table = read("\(folder)/zone1970.tab", Self.maximumListByteCount) else { return [] }
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
