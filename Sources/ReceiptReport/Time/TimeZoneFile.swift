/// A file of a time zone database (RFC 9636): when the offset from UTC changes, and the rule for the time after.
struct TimeZoneFile: Sendable {
    /// The seconds since 1970 at which the offset changes, in ascending order.
    private var changes: [Int64] = []
    /// The offset after each change.
    private var offsets: [Int] = []
    private var firstOffset = 0
    private var rule: TimeZoneRule?

    /// The numbers that a header has.
    private struct Counts {
        let utcFlags, standardFlags, leapSeconds, changes, types, characters: Int

        func byteCount(timeSize: Int) -> Int {
            changes * (timeSize + 1) + types * 6 + characters + leapSeconds * (timeSize + 4) + standardFlags + utcFlags
        }
    }

    private static let maximumByteCount = 1 << 20
    /// RFC 9636, 3.2: from -25 to 26 hours.
    private static let offsetRange = -89_999...93_599

    init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumByteCount else { return nil }
        var reader = Reader(bytes[...])
        guard let (version, first) = Self.header(&reader) else { return nil }
        guard version >= 2 else {
            guard read(first, timeSize: 4, &reader), reader.isAtEnd else { return nil }
            return
        }
        // Versions from 2 on repeat everything with 64 bits, and only that counts.
        guard reader.skip(first.byteCount(timeSize: 4)), let (second, counts) = Self.header(&reader), second == version,
            read(counts, timeSize: 8, &reader), reader.next() == .lineFeed, let text = reader.line(), reader.isAtEnd
        else { return nil }
        guard !text.isEmpty else { return }
        guard let rule = TimeZoneRule(text) else { return nil }
        self.rule = rule
    }

    private static func header(_ reader: inout Reader) -> (version: Int, Counts)? {
        guard reader.take(4).map({ Array($0) == Array("TZif".utf8) }) ?? false, let version = reader.next(),
            reader.skip(15), let utc = reader.count(), let standard = reader.count(), let leap = reader.count(),
            let changes = reader.count(), let types = reader.count(), let characters = reader.count(), types > 0
        else { return nil }
        let number: Int
        switch version {
        case 0: number = 1
        case UInt8(ascii: "2")...UInt8(ascii: "9"): number = Int(version - UInt8(ascii: "0"))
        default: return nil
        }
        return (
            number,
            Counts(
                utcFlags: utc, standardFlags: standard, leapSeconds: leap, changes: changes, types: types,
                characters: characters)
        )
    }

    private mutating func read(_ counts: Counts, timeSize: Int, _ reader: inout Reader) -> Bool {
        for _ in 0..<counts.changes {
            guard let time = reader.integer(timeSize), changes.last.map({ $0 < time }) ?? true else { return false }
            changes.append(time)
        }
        guard let indices = reader.take(counts.changes).map(Array.init) else { return false }
        var types: [Int] = []
        for _ in 0..<counts.types {
            guard let offset = reader.integer(4).map(Int.init), Self.offsetRange.contains(offset), reader.skip(2) else {
                return false
            }
            types.append(offset)
        }
        for index in indices {
            guard types.indices.contains(Int(index)) else { return false }
            offsets.append(types[Int(index)])
        }
        firstOffset = types[0]
        return reader.skip(
            counts.characters + counts.leapSeconds * (timeSize + 4) + counts.standardFlags + counts.utcFlags)
    }

    func offset(at seconds: Int64) -> Int {
        // The number of changes at or before the time.
        var low = 0
        var high = changes.count
        while low < high {
            let middle = (low + high) / 2
            if changes[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        if low == changes.count, let rule { return rule.offset(at: seconds) }
        return low == 0 ? firstOffset : offsets[low - 1]
    }
}

extension TimeZoneFile {
    /// A bounds-checked position in bytes.
    struct Reader {
        private var rest: ArraySlice<UInt8>

        init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

        var isAtEnd: Bool { rest.isEmpty }
        var peek: UInt8? { rest.first }

        mutating func next() -> UInt8? { rest.popFirst() }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard 0...rest.count ~= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func skip(_ count: Int) -> Bool { take(count) != nil }

        /// A big-endian number of 4 or 8 bytes.
        mutating func integer(_ size: Int) -> Int64? {
            guard let bytes = take(size) else { return nil }
            let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return size == 4 ? Int64(Int32(truncatingIfNeeded: value)) : Int64(bitPattern: value)
        }

        /// A count, which is at most the maximum size of a file.
        mutating func count() -> Int? {
            guard let value = integer(4), 0...Int64(TimeZoneFile.maximumByteCount) ~= value else { return nil }
            return Int(value)
        }

        /// The bytes before the next line feed, which is skipped.
        mutating func line() -> ArraySlice<UInt8>? {
            guard let end = rest.firstIndex(of: .lineFeed) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return rest[..<end]
        }
    }
}

extension UInt8 {
    fileprivate static let lineFeed: UInt8 = 0x0A
}
