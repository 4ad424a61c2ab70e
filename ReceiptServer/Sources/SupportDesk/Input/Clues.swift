import PurchaseLedger
import StrictText

/// The words of a text that may be ids, tokens or accounts.
struct Clues {
    /// The whole text, if it may be one name, then its words, starting with those that look most like ids. There are no
    /// duplicates.
    let words: [String]
    /// Whether there were more.
    let hasMore: Bool

    /// The maximum number of words to look up. A log line has fewer.
    static let maximumCount = 40
    /// The maximum size of a name in the ledger.
    private static let maximumByteCount = 255

    /// - Parameters:
    ///   - text: The text without evidence and escapes.
    ///   - whole: The original text, whose words also count: a name can look like an escape, and can begin or end with
    ///     white space.
    init(_ text: [UInt8], of whole: [UInt8]) {
        var seen: Set<UTF8Bytes> = []
        var ranked: [(rank: Int, word: UTF8Bytes)] = []
        func add(_ bytes: ArraySlice<UInt8>, rank: Int) {
            // No name contains a NUL or invalid UTF-8.
            guard 1...Self.maximumByteCount ~= bytes.count, !bytes.contains(0),
                String(validating: bytes, as: UTF8.self) != nil, seen.insert(UTF8Bytes(bytes)).inserted
            else { return }
            ranked.append((rank, UTF8Bytes(bytes)))
        }
        add(whole.trimmed, rank: 0)
        if whole.count <= 2 * Self.maximumByteCount {
            add(whole[...], rank: 0)
            add(whole.withLineFeeds[...], rank: 0)
        }
        // A text of a megabyte isn't a log line, so only its beginning is searched.
        let texts = [text, whole].map { Array($0.prefix(64 << 10)) }
        for text in texts {
            for word in text.split(whereSeparator: \.separatesWords) where word.count > 2 {
                add(word, rank: Self.rank(of: word))
                // Drop final punctuation. Within a word, it belongs to a bundle id or an address.
                let inner = word.reversed().drop(while: \.endsSentences).count
                if inner < word.count, inner > 2 { add(word.prefix(inner), rank: Self.rank(of: word)) }
            }
        }
        for word in Self.wordsOfChinese(texts[0]) where word.count > 2 { add(word, rank: Self.rank(of: word)) }
        let sorted = ranked.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
        words = sorted.prefix(Self.maximumCount).map(\.element.word.string)
        hasMore = sorted.count > Self.maximumCount
    }

    /// Returns the words of Chinese text, which has no spaces between them: the text after a label such as 账号, and
    /// ASCII between Chinese characters. Full-width characters, which input methods produce, are read as ASCII.
    private static func wordsOfChinese(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        guard text.contains(where: { $0 >= 0x80 }) else { return [] }
        var words: [ArraySlice<UInt8>] = []
        for text in halfWidth(text).split(whereSeparator: \.separatesWords) {
            let word = text.prefix(text.reversed().drop(while: \.endsSentences).count)
            words.append(word)
            for label in labels {
                guard let end = word.firstRange(of: label)?.upperBound else { continue }
                var name = word[end...]
                words.append(name)
                while let verb = verbs.first(where: name.starts) {
                    name = name.dropFirst(verb.count)
                    words.append(name)
                }
            }
            guard word.contains(where: { $0 >= 0x80 }) else { continue }
            words += word.split { $0 >= 0x80 }
        }
        return words
    }

    private static let labels = ["账号", "帐号", "账户", "帐户", "用户", "玩家", "单号", "交易号", "令牌"].map { Array($0.utf8) }
    private static let verbs = ["是", "为", "名", "-", "_"].map { Array($0.utf8) }

    /// Returns the text with ASCII for full-width characters (U+FF01 to U+FF5E), and spaces for Chinese punctuation.
    private static func halfWidth(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0xFF01...0xFF5E: result.append(UInt8(scalar.value - 0xFF01 + 0x21))
            // The replacement character for invalid UTF-8, the ideographic space and brackets, general punctuation, and
            // full-width forms that have no ASCII equivalent.
            case 0x3000...0x3020, 0x2010...0x2027, 0x2030...0x205E, 0xA0, 0xB7, 0xFF5F...0xFF65, 0xFFFD:
                result.append(UInt8(ascii: " "))
            default: result.append(contentsOf: String(scalar).utf8)
            }
        }
        return result
    }

    /// Returns the rank of a word: ids are long and have digits, and a name can have any characters.
    private static func rank(of word: ArraySlice<UInt8>) -> Int {
        if word.contains(where: { $0 >= 0x80 }) { return 2 }
        return word.contains { 0x30...0x39 ~= $0 } ? (word.count >= 10 ? 1 : 3) : 4
    }

    /// Returns whether a word may be a transaction id that Apple knows. Shorter numbers are counts and dates.
    static func isTransactionID(_ word: String) -> Bool {
        word.utf8.count >= 6 && TransactionIDForm.isApples(word, in: .production)
    }
}

extension Array<UInt8> {
    /// The bytes with LF in place of CR LF, which browsers send for every line break.
    fileprivate var withLineFeeds: [UInt8] {
        indices.filter { !(self[$0] == 0x0D && $0 + 1 < count && self[$0 + 1] == 0x0A) }.map { self[$0] }
    }
}

extension UInt8 {
    fileprivate var endsSentences: Bool {
        self == UInt8(ascii: ".") || self == UInt8(ascii: "!") || self == UInt8(ascii: "*")
    }

    /// Whether this byte separates words in log lines, JSON and e-mail.
    fileprivate var separatesWords: Bool {
        switch self {
        case _ where isSpace: true
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: ","), UInt8(ascii: ";"),
            UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "|"), UInt8(ascii: "&"), UInt8(ascii: "?"), UInt8(ascii: "#"):
            true
        default: false
        }
    }
}
