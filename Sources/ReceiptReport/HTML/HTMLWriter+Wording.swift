public import Instants

/// A value in a phrase.
@_spi(Surfaces) public enum Slot: Sendable {
    /// A text from outside.
    case text(String)
    /// A text with a higher length limit: a sentence, which the ledger keeps short.
    case sentence(String)
    case number(Int)
    case date(Instant)
    /// A date, first in the page's zone.
    case localDate(Instant)
    case words(any Words)
    /// A name that is the same in all languages, such as an option.
    case code(String)

    static func phrase(_ phrase: Phrase) -> Slot { .words(phrase) }
}

@_spi(Surfaces) extension HTMLWriter {
    /// Writes a phrase in the language of the page, with its values.
    public mutating func phrase(_ phrase: some Words, _ slots: Slot...) { self.phrase(phrase, slots) }

    public mutating func phrase(_ phrase: some Words, _ slots: [Slot]) {
        for piece in phrase.pieces(in: language) {
            switch piece {
            case .words(let words): text(words)
            case .slot(let index) where slots.indices.contains(index): slot(slots[index])
            case .slot: continue
            }
        }
    }

    public mutating func element(
        _ tag: Tag, _ attributes: Attribute..., phrase words: some Words, _ slots: Slot...
    ) {
        element(tag, with: attributes) { $0.phrase(words, slots) }
    }

    private mutating func slot(_ slot: Slot) {
        switch slot {
        case .text(let value): inline(value)
        case .sentence(let value): inline(value, limit: 512)
        case .number(let number): text(grouped(number))
        case .date(let date): self.date(date)
        case .localDate(let date): localDate(date)
        case .words(let words): phrase(words, [])
        case .code(let name): element(.code, text: name)
        }
    }

    mutating func phrase(_ phrase: Phrase, _ slots: Slot...) { self.phrase(phrase, slots) }

    mutating func element(_ tag: Tag, _ attributes: Attribute..., phrase words: Phrase, _ slots: Slot...) {
        element(tag, with: attributes) { $0.phrase(words, slots) }
    }

    /// Returns the plain words of a phrase without values, for an attribute.
    public func plain(_ phrase: some Words) -> String { "\(phrase.text(in: language))" }
    func plain(_ phrase: Phrase) -> String { "\(phrase.text(in: language))" }

    // MARK: Values from outside

    /// The maximum number of characters in a sentence or a cell.
    static let shortCount = 96
    /// The maximum number of characters in an expanded value.
    private static let longCount = 8 << 10

    /// Writes the beginning of a value, isolated from the direction of the text around it.
    mutating func inline(_ value: String, limit: Int = shortCount) {
        let (beginning, isWhole) = value.beginning(limit)
        element(.bdi) { $0.text(beginning) }
        if !isWhole { text("…") }
    }

    /// Writes a value, or its beginning, which expands.
    public mutating func value(_ value: String, limit: Int = 240) {
        let (beginning, isWhole) = value.beginning(limit)
        guard !isWhole else { return element(.bdi, text: value) }
        let full = value.beginning(min(Self.longCount, remainingFullCount))
        guard full.text.unicodeScalars.count > limit else {
            element(.bdi, text: beginning)
            text("… ")
            return element(.small) { $0.phrase(.characters, .number(value.unicodeScalars.count)) }
        }
        element(.details, .style(.cut)) { html in
            html.element(.summary) { html in
                html.element(.bdi, text: beginning)
                html.text("… ")
                html.element(.small) { html in
                    html.phrase(.showAll)
                    html.text(" · ")
                    html.phrase(.characters, .number(value.unicodeScalars.count))
                }
            }
            let start = html.bytes.count
            html.element(.bdi, text: full.text)
            html.remainingFullCount = max(0, html.remainingFullCount - (html.bytes.count - start))
            if !full.isWhole { html.text("…") }
        }
    }

    // MARK: Dates

    /// Writes a date in UTC, and in the zone of the page.
    public mutating func date(_ date: Instant) {
        element(.time, .moment(date), text: date.text)
        guard let timeZone else { return }
        text(" ")
        element(.span, .style(.zone), text: "(\(timeZone.text(of: date)))")
    }

    /// Writes a date in the zone of the page, and then in UTC.
    public mutating func localDate(_ date: Instant) {
        guard let timeZone else { return self.date(date) }
        element(.time, .moment(date), text: timeZone.text(of: date))
        text(" ")
        element(.span, .style(.zone), text: "(\(date.text))")
    }

    private func grouped(_ number: Int) -> String {
        let digits = Array(String(number).utf8)
        var text: [UInt8] = []
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3), digits[index - 1] != UInt8(ascii: "-") {
                text.append(UInt8(ascii: ","))
            }
            text.append(digit)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension String {
    /// The first characters, and whether they are all.
    func beginning(_ count: Int) -> (text: String, isWhole: Bool) {
        // Every character has at least one byte.
        guard utf8.count > count else { return (self, true) }
        guard
            let end = unicodeScalars.index(
                unicodeScalars.startIndex, offsetBy: count, limitedBy: unicodeScalars.endIndex),
            end < unicodeScalars.endIndex
        else { return (self, true) }
        return (String(unicodeScalars[..<end]), false)
    }
}

/// A part of a text.
enum PhrasePiece { case words(String), slot(Int) }

extension Words {

    /// The words and the places of the values.
    func pieces(in language: Language) -> [PhrasePiece] {
        var pieces: [PhrasePiece] = []
        var words: [UInt8] = []
        let bytes = Array("\(text(in: language))".utf8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "{"), index + 2 < bytes.count, bytes[index + 2] == UInt8(ascii: "}") {
                if !words.isEmpty { pieces.append(.words(String(decoding: words, as: UTF8.self))) }
                words = []
                pieces.append(.slot(Int(bytes[index + 1]) - 0x30))
                index += 3
            } else {
                words.append(bytes[index])
                index += 1
            }
        }
        if !words.isEmpty { pieces.append(.words(String(decoding: words, as: UTF8.self))) }
        return pieces
    }
}
