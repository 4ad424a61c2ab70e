public import Instants

/// A time zone in which the page shows dates beside UTC.
public struct ReportTimeZone: Sendable {
    /// The name, such as `Asia/Shanghai`.
    public let name: String
    private let file: TimeZoneFile

    /// Creates a zone from a file of the system's time zone database.
    ///
    /// - Parameters:
    ///   - name: The name, which the page shows.
    ///   - file: The contents of the file in the format of RFC 9636 (TZif).
    /// - Returns: `nil` if the file is malformed.
    public init?(name: String, file: [UInt8]) {
        guard let file = TimeZoneFile(file) else { return nil }
        self.name = name
        self.file = file
    }

    /// The seconds by which the zone is ahead of UTC at a date.
    public func secondsFromUTC(at date: Instant) -> Int { file.offset(at: date.secondsSince1970) }

    /// `2025-06-15 20:00:00 +08:00`
    func text(of date: Instant) -> String {
        let offset = secondsFromUTC(at: date)
        let minutes = abs(offset) / 60
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return date.advanced(by: .seconds(offset)).compactText
            + " \(offset < 0 ? "-" : "+")\(padded(minutes / 60)):\(padded(minutes % 60))"
    }
}
