import HTTPService
@_spi(Surfaces) import ReceiptReport
import StrictText
import Synchronization

/// The system's time zones, each loaded once.
final class TimeZones: Sendable {
    private let database = TimeZoneDatabase { path, limit in try? System.readFile(path, maximumByteCount: limit) }
    /// The names of zones with a place, and `UTC`.
    let names: [String]
    private let known = Mutex<[UTF8Bytes: ReportTimeZone]>([:])

    init() {
        // The other names are aliases and abbreviations.
        names = database.names.filter { $0.utf8.contains(UInt8(ascii: "/")) && !$0.utf8.starts(with: "Etc/".utf8) }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Returns the time zone that all readers of a language share, or `nil` for UTC.
    func usual(_ language: Language) -> ReportTimeZone? {
        language == .simplifiedChinese ? zone(named: "Asia/Shanghai") : nil
    }

    /// Returns the zone with a name, or `nil` if the name is unknown or `UTC`.
    func zone(named name: String) -> ReportTimeZone? {
        let key = UTF8Bytes(name)
        if let zone = known.withLock({ $0[key] }) { return zone }
        // This limits the cache to the system's zones.
        guard names.contains(where: { $0.hasSameBytes(as: name) }), let zone = database.zone(named: name) else {
            return nil
        }
        known.withLock { $0[key] = zone }
        return zone
    }
}
