import StrictText

/// The words of a text that can name something: ids, tokens, accounts.
struct Clues {
    /// The whole text, if it can be one name, and then its words; those that look most like ids first. No word is there twice.
    let words: [String]
    /// Whether there were more.
    let hasMore: Bool

    /// So many are looked up: a log line has fewer.
    static let maximumCount = 40
    /// The longest text that the ledger has as a name.
    private static let maximumByteCount = 255

    /// - Parameters:
    ///   - text: The text without its evidence, and without escapes.
    ///   - whole: The text as it is, whose words count, too: a name can look like an escape.
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
        for text in [text, whole] {
            // A text of a megabyte is no log line: what is behind its first part is not looked at.
            for word in text.prefix(64 << 10).split(whereSeparator: \.separatesWords) where word.count > 2 {
                add(word, rank: Self.rank(of: word))
                // The end of a sentence. Inside of a word it is one of a bundle id or an address.
                let inner = word.reversed().drop(while: \.endsSentences).count
                if inner < word.count, inner > 2 { add(word.prefix(inner), rank: Self.rank(of: word)) }
            }
        }
        let sorted = ranked.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
        words = sorted.prefix(Self.maximumCount).map(\.element.word.string)
        hasMore = sorted.count > Self.maximumCount
    }

    /// Ids are long and have digits. A name can have any letters.
    private static func rank(of word: ArraySlice<UInt8>) -> Int {
        if word.contains(where: { $0 >= 0x80 }) { return 2 }
        return word.contains { 0x30...0x39 ~= $0 } ? (word.count >= 10 ? 1 : 3) : 4
    }

    /// Whether a word can be a transaction's id, which Apple would know.
    static func isTransactionID(_ word: String) -> Bool {
        6...32 ~= word.utf8.count && word.utf8.allSatisfy { 0x30...0x39 ~= $0 }
    }

    /// Whether a word can be the order id of Apple's e-mail, such as `MX1A2B3C4D`: one of twenty has no digit.
    static func isOrderID(_ word: String) -> Bool {
        let bytes = word.utf8
        return 8...20 ~= bytes.count && bytes.first == UInt8(ascii: "M")
            && bytes.allSatisfy { 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 }
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
