@_spi(Surfaces) import ReceiptReport

extension TimeZoneDatabase {
    static let system = TimeZoneDatabase { path, limit in try? System.read(path, maximumByteCount: limit) }

    /// Returns a zone by its name.
    ///
    /// - Parameter option: The option that names it, for the error.
    func zone(named name: String, option: String) throws(UsageError) -> ReportTimeZone {
        if let zone = zone(named: name) { return zone }
        let names = names
        throw .invalidValue(
            option: option, value: name,
            expected: names.isEmpty
                ? "a time zone of this system, which has no list of them" : "a time zone such as Asia/Shanghai",
            suggestion: nearest(to: name, in: names))
    }
}
