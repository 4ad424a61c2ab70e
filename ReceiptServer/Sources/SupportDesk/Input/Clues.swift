import PurchaseLedger
import StrictText

/// The words of a text that can name something: ids, tokens, accounts.
struct Clues {
    /// The whole text, if it can be one name, and then its words; those that look most like ids first. No word is there
    /// twice.
    let words: [String]
    /// Whether there were more.
    let hasMore: Bool

    /// The maximum number to look up: a log line has fewer.
    static let maximumCount = 40
    /// The longest text that the ledger has as a name.
    private static let maximumByteCount = 255

    /// - Parameters:
    ///   - text: The text without its evidence, and without escapes.
    ///   - whole: The text as it is, whose words count, too: a name can look like an escape, and can have white space
    ///     at its ends.
    init(_ text: [UInt8], of whole: [UInt8]) {
        var seen: Set<UTF8Bytes> = []
        var ranked: [(rank: Int, word: UTF8Bytes)] = []
        func add(_ bytes: ArraySlice<UInt8>, rank: Int) {
            // A NUL is in no name, and neither are bytes that are no text.
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
        // A text of a megabyte is no log line: what is behind its first part is not looked at.
        let texts = [text, whole].map { Array($0.prefix(64 << 10)) }
        for text in texts {
            for word in text.split(whereSeparator: \.separatesWords) where word.count > 2 {
                add(word, rank: Self.rank(of: word))
                // The end of a sentence. Inside of a word it is one of a bundle id or an address.
                let inner = word.reversed().drop(while: \.endsSentences).count
                if inner < word.count, inner > 2 { add(word.prefix(inner), rank: Self.rank(of: word)) }
            }
        }
        for word in Self.wordsOfChinese(texts[0]) where word.count > 2 { add(word, rank: Self.rank(of: word)) }
        let sorted = ranked.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
        words = sorted.prefix(Self.maximumCount).map(\.element.word.string)
        hasMore = sorted.count > Self.maximumCount
    }

    /// The words of Chinese text, which has no space between them: what stands behind a label such as 账号, and what is
    /// ASCII between Chinese characters. Full-width characters are read as ASCII, as input methods write them.
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

    /// The text with ASCII for full-width characters (U+FF01 to U+FF5E), and a space for Chinese punctuation.
    private static func halfWidth(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0xFF01...0xFF5E: result.append(UInt8(scalar.value - 0xFF01 + 0x21))
            // What is no UTF-8, the ideographic space and brackets, general punctuation, and the full-width forms that
            // are not ASCII.
            case 0x3000...0x3020, 0x2010...0x2027, 0x2030...0x205E, 0xA0, 0xB7, 0xFF5F...0xFF65, 0xFFFD:
                result.append(UInt8(ascii: " "))
            default: result.append(contentsOf: String(scalar).utf8)
            }
        }
        return result
    }

    /// Ids are long and have digits. A name can have any letters.
    private static func rank(of word: ArraySlice<UInt8>) -> Int {
        if word.contains(where: { $0 >= 0x80 }) { return 2 }
        return word.contains { 0x30...0x39 ~= $0 } ? (word.count >= 10 ? 1 : 3) : 4
    }

    /// Whether a word can be a transaction's id, which Apple would know. Shorter numbers are counts and dates.
    static func isTransactionID(_ word: String) -> Bool {
        word.utf8.count >= 6 && TransactionIDForm.isApples(word, in: .production)
    }
}

extension Array<UInt8> {
    /// The bytes with LF for CR LF, which a browser sends for every line break.
    fileprivate var withLineFeeds: [UInt8] {
        indices.filter { !(self[$0] == 0x0D && $0 + 1 < count && self[$0 + 1] == 0x0A) }.map { self[$0] }
    }
}

extension UInt8 {
    fileprivate var endsSentences: Bool {
        self == UInt8(ascii: ".") || self == UInt8(ascii: "!") || self == UInt8(ascii: "*")
    }

    /// What stands between words in log lines, JSON and e-mails.
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
