import AppStoreReceipt
import StrictText

/// The position of a fact in a history, ordered by date, newest first, then by table and key.
struct HistoryPlace: Comparable {
    enum Source: Int, CaseIterable { case grant, event, attempt, transfer, act }

    let date: Instant
    let source: Source
    /// The key, greatest first.
    let key: Key

    enum Key: Equatable {
        case text(UTF8Bytes)
        case number(Int64)
    }

    init(_ date: Instant, _ source: Source, _ key: String) {
        (self.date, self.source, self.key) = (date, source, .text(UTF8Bytes(key)))
    }

    init(_ date: Instant, _ source: Source, _ key: Int64) {
        (self.date, self.source, self.key) = (date, source, .number(key))
    }

    static func < (left: HistoryPlace, right: HistoryPlace) -> Bool {
        if left.date != right.date { return left.date > right.date }
        if left.source != right.source { return left.source.rawValue < right.source.rawValue }
        switch (left.key, right.key) {
        case (.text(let mine), .text(let other)):
            return other.string.utf8.lexicographicallyPrecedes(mine.string.utf8)
        case (.number(let mine), .number(let other)): return mine > other
        case (.text, .number), (.number, .text): return false
        }
    }

    // MARK: Text

    /// The position as `MILLISECONDS-SOURCE-KEY`. A text key is in hexadecimal.
    var text: String {
        let key =
            switch key {
            case .number(let number): "\(number)"
            case .text(let text):
                text.string.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            }
        return "\(date.millisecondsSince1970)-\(source.rawValue)-\(key)"
    }

    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 2, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard parts.count == 3, text.utf8.count <= 2000, let date = Int64(parts[0]),
            let source = Int(parts[1]).flatMap(Source.init)
        else { return nil }
        self.date = Instant(millisecondsSince1970: date)
        self.source = source
        switch source {
        case .transfer, .act:
            guard let number = Int64(parts[2]) else { return nil }
            key = .number(number)
        case .grant, .event, .attempt:
            let digits = Array(parts[2].utf8)
            guard digits.count % 2 == 0 else { return nil }
            var bytes: [UInt8] = []
            for index in stride(from: 0, to: digits.count, by: 2) {
                guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                    return nil
                }
                bytes.append(byte)
            }
            guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else { return nil }
            key = .text(UTF8Bytes(text))
        }
    }
}
