import Foundation
import Instants
import SeededRandom
import Synchronization
import Testing

@_spi(Surfaces) @testable import ReceiptReport

@Suite struct TimeZoneTests {
    private static let folder = "/usr/share/zoneinfo/"

    private func file(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: Self.folder + name).map(Array.init)
    }

    #if canImport(Glibc)
    @Test(arguments: [
        "UTC", "Asia/Shanghai", "America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "America/Sao_Paulo",
        "Asia/Kathmandu",
        "Africa/Casablanca", "Pacific/Apia", "Pacific/Chatham",
    ])
    func `offsets are those of the C library, before, between and after the changes of the file`(name: String) throws {
        guard let bytes = file(name) else { return }
        let zone = try #require(ReportTimeZone(name: name, file: bytes))
        // From 1871 to 2101.
        let times = stride(from: -36_000, to: 48_000, by: 29).map { day in day * 86_400 + abs(day) * 137 % 86_400 }
        let expected = try Self.offsets(in: name, at: times)
        try #require(expected.count == times.count)
        for (seconds, expected) in zip(times, expected) {
            #expect(
                zone.secondsFromUTC(at: Instant(millisecondsSince1970: Int64(seconds) * 1000)) == expected,
                "\(name) at \(seconds)")
        }
    }

    /// What GNU's `date` says, from the same file. Foundation has a database of its own, of another version than the
    /// system's.
    private static func offsets(in zone: String, at times: [Int]) throws -> [Int] {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/date")
        process.arguments = ["--file=-", "+%::z"]
        process.environment = ["TZ": ":" + folder + zone]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // Less than a pipe holds.
        try input.fileHandleForWriting.write(contentsOf: Data(times.map { "@\($0)\n" }.joined().utf8))
        try input.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        // +08:05:43
        return text.split(separator: "\n").compactMap { line in
            let parts = line.dropFirst().split(separator: ":").compactMap { Int($0) }
            guard parts.count == 3 else { return nil }
            return (line.first == "-" ? -1 : 1) * (parts[0] * 3600 + parts[1] * 60 + parts[2])
        }
    }
    #endif

    @Test func `the rule for the time after the last change is applied, also across the end of a year`() throws {
        let rows: [(rule: String, date: String, offset: Int)] = [
            ("CST-8", "2100-01-01", 28_800), ("<+0330>-3:30", "2100-01-01", 12_600),
            ("EST5EDT,M3.2.0,M11.1.0", "2100-07-01", -14_400), ("EST5EDT,M3.2.0,M11.1.0", "2100-12-01", -18_000),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2100-01-01", 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2100-07-01", 36_000), ("XXX0YYY,J60/0,J61/0", "2100-03-01", 3600),
            ("XXX0YYY,59/0,60/0", "2100-03-01", 3600),
        ]
        for row in rows {
            let rule = try #require(TimeZoneRule(Array(row.rule.utf8)[...]))
            let parts = row.date.split(separator: "-").compactMap { Int($0) }
            let date = try #require(Instant(year: parts[0], month: parts[1], day: parts[2], hour: 12))
            #expect(rule.offset(at: date.secondsSince1970) == row.offset, "\(row)")
        }
        for rule in ["", "A", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.1.0,M11.1.0", "CST-8x", "CST-99", "<+08-8"] {
            #expect(TimeZoneRule(Array(rule.utf8)[...]) == nil, "\(rule)")
        }
    }

    /// RFC 9636, 3.1: 32 bits, and no rule at the end.
    @Test func `a file of version 1 is read whole or not at all`() {
        var whole = Array("TZif".utf8) + [UInt8](repeating: 0, count: 16)
        // One change and two types.
        for count in [0, 0, 0, 1, 2, 4] as [UInt8] { whole += [0, 0, 0, count] }
        whole += [0, 0, 0, 9, 1]
        whole += [0, 0, 0x0E, 0x10, 0, 0]
        whole += [0, 0, 0x1C, 0x20, 1, 0]
        whole += Array("CET\0".utf8)
        let zone = ReportTimeZone(name: "x", file: whole)
        #expect(zone?.secondsFromUTC(at: Instant(millisecondsSince1970: 8999)) == 3600)
        #expect(zone?.secondsFromUTC(at: Instant(millisecondsSince1970: 9000)) == 7200)
        for count in 0..<whole.count {
            #expect(ReportTimeZone(name: "x", file: Array(whole.prefix(count))) == nil, "\(count) bytes")
        }
        #expect(ReportTimeZone(name: "x", file: whole + [0]) == nil)
    }

    @Test func `no more than 1 MiB of a time zone is read, and no more than 4 MiB of a list of them`() {
        let limits = Mutex<[String: Int]>([:])
        let database = TimeZoneDatabase(folder: "/z") { path, limit in
            limits.withLock { $0[path] = limit }
            return path == "/z/zone1970.tab" ? Array("CN\t+3114+12128\tAsia/Shanghai\n".utf8) : nil
        }
        #expect(database.zone(named: "Asia/Shanghai") == nil)
        #expect(
            limits.withLock(\.self) == [
                "/z/tzdata.zi": 4_194_304, "/z/zone1970.tab": 4_194_304, "/z/Asia/Shanghai": 1_048_576,
            ])
        for (count, isRead) in [(1 << 20, true), (1 << 20 + 1, false)] {
            // A header, one type, and characters up to the end.
            let characters = UInt32(count - 50).bigEndian
            var file = Array("TZif".utf8) + [UInt8](repeating: 0, count: 35) + [1]
            file += (0..<4).map { UInt8(truncatingIfNeeded: characters >> ($0 * 8)) }
            file += [UInt8](repeating: 0, count: count - file.count)
            #expect((ReportTimeZone(name: "x", file: file) != nil) == isRead, "\(count) bytes")
        }
    }

    @Test func `a damaged file is refused or read, and never traps`() throws {
        guard let whole = file("America/New_York") else { return }
        for count in 0..<whole.count { #expect(ReportTimeZone(name: "x", file: Array(whole.prefix(count))) == nil) }
        #expect(ReportTimeZone(name: "x", file: whole + [0]) == nil)
        var random = SeededGenerator()
        for _ in 0..<3000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let zone = ReportTimeZone(name: "x", file: bytes) else { continue }
            for date in [Instant.distantPast, Instant(millisecondsSince1970: 0), Instant.distantFuture] {
                _ = zone.text(of: date)
            }
        }
    }

    @Test func `names of time zones are read from both lists of the system, without those that leave their folder`() {
        let source = "# version\nZ Asia/Shanghai 8:5:43 - LMT\nR a\nL Asia/Shanghai PRC\nL x ../up\nZ /etc/passwd\n"
        #expect(TimeZoneDatabase.names(inSource: Array(source.utf8)) == ["Asia/Shanghai", "PRC"])
        let table = "#codes\tx\ty\nCN\t+3114+12128\tAsia/Shanghai\tnote\nCN\t+1\n"
        #expect(TimeZoneDatabase.names(inTable: Array(table.utf8)) == ["Asia/Shanghai"])
    }

    #if canImport(Glibc)
    @Test(arguments: [
        ("Asia/Kathmandu", "2025-01-15 17:45:00 +05:45"), ("America/New_York", "2025-01-15 07:00:00 -05:00"),
        ("UTC", "2025-01-15 12:00:00 +00:00"),
    ])
    func `a date is written in the zone, with what it is ahead of UTC or behind it`(name: String, text: String) throws {
        guard let bytes = file(name) else { return }
        let zone = try #require(ReportTimeZone(name: name, file: bytes))
        let noon = try #require(Instant(year: 2025, month: 1, day: 15)).advanced(by: .seconds(12 * 3600))
        #expect(zone.text(of: noon) == text)
    }
    #endif
}
