import HTTPService
@_spi(Surfaces) import ReceiptReport
import Instants
import StrictText

/// The rules for reading the dates of a file.
struct ImportDate {
    /// 2008-07-10. Seconds since 1970, mistaken for milliseconds, give a date in 1970.
    private static let appStoreOpening = Instant(millisecondsSince1970: 1_215_648_000_000)
    /// The tolerance for slow clocks.
    private static let allowance = Duration.seconds(300)
    /// The tolerance for days: a day can have begun in the shop's time zone before it begins in UTC.
    private static let dayAllowance = Duration.seconds(14 * 3600)

    /// Returns the offset of the local time from UTC at a date, or `nil` if no zone was named.
    private let secondsFromUTC: (@Sendable (Instant) -> Int)?
    private let zoneName: String
    let now: Instant

    /// - Parameter zone: The name of a time zone that the system knows, or `nil` for none.
    init(zone name: String?, at now: Instant) throws(ConfigurationError) {
        self.now = now
        zoneName = name ?? ""
        guard let name else {
            secondsFromUTC = nil
            return
        }
        if name.hasSameBytes(as: "UTC") {
            secondsFromUTC = { _ in 0 }
            return
        }
        let database = TimeZoneDatabase { path, limit in try? System.readFile(path, maximumByteCount: limit) }
        guard let zone = database.zone(named: name) else {
            throw ConfigurationError("--time-zone: the system has no time zone \(name.quoted)")
        }
        secondsFromUTC = zone.secondsFromUTC(at:)
    }

    func read(_ text: String) throws(ImportRecord.Fault) -> Instant {
        let number = Int64(text)
        var found = number.map(Instant.init(millisecondsSince1970:)) ?? Instant(specified: text)
        if found == nil { found = try local(text) }
        guard let date = found else {
            throw ImportRecord.Fault(
                message:
                    "'date' must be \(Instant.specifiedSyntax), \"2025-06-15 12:00:00\" with --time-zone, or milliseconds since 1970"
            )
        }
        guard date >= Self.appStoreOpening else {
            throw ImportRecord.Fault(
                message:
                    "'date' is before the App Store opened (2008-07-10); a number is milliseconds since 1970, not seconds"
            )
        }
        guard date <= now.advanced(by: text.utf8.count == 10 ? Self.dayAllowance : Self.allowance) else {
            throw ImportRecord.Fault(
                message: number == nil
                    ? "'date' is in the future"
                    : "'date' is in the future; a number is milliseconds since 1970, not microseconds or nanoseconds")
        }
        return date
    }

    /// Reads a date in MySQL's format, `2025-06-15 12:00:00`, with up to six digits of a fraction.
    private func local(_ text: String) throws(ImportRecord.Fault) -> Instant? {
        var bytes = Array(text.utf8)
        guard bytes.count >= 19, bytes[10] == UInt8(ascii: " "), bytes.count <= 26 else { return nil }
        bytes[10] = UInt8(ascii: "T")
        guard let date = Instant(rfc3339: String(decoding: bytes, as: UTF8.self) + "Z") else { return nil }
        guard let secondsFromUTC else {
            throw ImportRecord.Fault(message: "'date' has no time zone: name it by --time-zone, such as Asia/Shanghai")
        }
        // For a local time that occurs twice, use the earlier one.
        for other in [date.advanced(by: .seconds(-86_400)), date.advanced(by: .seconds(86_400))] {
            let offset = secondsFromUTC(other)
            let moment = date.advanced(by: .seconds(-offset))
            if secondsFromUTC(moment) == offset { return moment }
        }
        throw ImportRecord.Fault(message: "'date' is a time that no clock shows in \(zoneName)")
    }
}
