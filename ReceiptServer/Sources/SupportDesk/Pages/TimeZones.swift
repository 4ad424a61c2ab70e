import HTTPService
@_spi(Surfaces) import ReceiptReport
import StrictText
import Synchronization

/// The system's time zones, each read once.
final class TimeZones: Sendable {
    private let database = TimeZoneDatabase { path, limit in try? System.readFile(path, maximumByteCount: limit) }
    /// The names of places, and `UTC`.
    let names: [String]
    private let known = Mutex<[UTF8Bytes: ReportTimeZone]>([:])

    init() {
        // The others are aliases and abbreviations.
        names = database.names.filter { $0.utf8.contains(UInt8(ascii: "/")) && !$0.utf8.starts(with: "Etc/".utf8) }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The zone of those who read a language, where all of them have one; `nil` for UTC.
    func usual(_ language: Language) -> ReportTimeZone? {
        language == .simplifiedChinese ? zone(named: "Asia/Shanghai") : nil
    }

    /// Returns a zone by its name; `nil` for another text, and for UTC.
    func zone(named name: String) -> ReportTimeZone? {
        let key = UTF8Bytes(name)
        if let zone = known.withLock({ $0[key] }) { return zone }
        // No more are kept than the system has.
        guard names.contains(where: { $0.hasSameBytes(as: name) }), let zone = database.zone(named: name) else {
            return nil
        }
        known.withLock { $0[key] = zone }
        return zone
    }
}
