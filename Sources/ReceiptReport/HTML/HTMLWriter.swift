import StrictText

/// The one writer of HTML. It writes elements, attributes and escaped text, and nothing else: no input becomes markup,
/// a style, a script or an address.
///
/// Tags and attributes are cases of ``Tag`` and ``Attribute``. None of them runs, loads or sends anything.
@_spi(Surfaces) public struct HTMLWriter {
    public private(set) var bytes: [UInt8] = []
    public let language: Language
    public let timeZone: ReportTimeZone?
    /// The remaining number of bytes for expanded long values.
    var remainingFullCount = 256 << 10
    /// The remaining number of bytes of evidence to show beside their structure.
    var remainingStructureCount = Report.maximumStructureByteCount

    public init(_ language: Language = .english, _ timeZone: ReportTimeZone? = nil) {
        self.language = language
        self.timeZone = timeZone
    }

    /// Writes an element. The content is written by `content`.
    public mutating func element(
        _ tag: Tag, _ attributes: Attribute..., content: (inout HTMLWriter) -> Void
    ) {
        open(tag, attributes)
        content(&self)
        close(tag)
    }

    mutating func element(_ tag: Tag, with attributes: [Attribute], content: (inout HTMLWriter) -> Void) {
        open(tag, attributes)
        content(&self)
        close(tag)
    }

    /// Writes an element without content.
    public mutating func element(_ tag: Tag, _ attributes: Attribute...) {
        open(tag, attributes)
        close(tag)
    }

    public mutating func element(_ tag: Tag, _ attributes: Attribute..., text string: String) {
        open(tag, attributes)
        text(string)
        close(tag)
    }

    /// Writes a document with one style sheet, and a policy that allows nothing else.
    mutating func document(title: some Words, _ sheet: StyleSheet, body: (inout HTMLWriter) -> Void) {
        document(title: title, [sheet], policy: sheet.policy, body: body)
    }

    /// Writes a document without a policy: an HTTP header must allow its style sheets.
    public mutating func document(title: some Words, _ sheets: [StyleSheet], body: (inout HTMLWriter) -> Void) {
        document(title: title, sheets, policy: nil, body: body)
    }

    private mutating func document(
        title: some Words, _ sheets: [StyleSheet], policy: String?, body: (inout HTMLWriter) -> Void
    ) {
        raw("<!DOCTYPE html>\n<html lang=\"")
        raw(language.tag)
        raw("\"><head><meta charset=\"utf-8\">")
        if let policy {
            raw("<meta http-equiv=\"Content-Security-Policy\" content=\"")
            raw(ascii: policy)
            raw("\"><meta name=\"referrer\" content=\"no-referrer\">")
        }
        raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        raw("<meta name=\"color-scheme\" content=\"light dark\"><title>")
        raw(title.text(in: language))
        raw("</title>")
        for sheet in sheets {
            raw("<style>")
            raw(sheet.text)
            raw("</style>")
        }
        raw("</head>")
        element(.body, content: body)
        raw("</html>\n")
    }

    // MARK: Text

    /// The context of a text, which decides how it shows invisible characters.
    enum Place { case element, attribute }

    /// Writes text. Characters that are invisible, that reorder text, or that pile marks on a letter are shown by their
    /// code points.
    public mutating func text(_ string: String) { text(string, .element) }

    mutating func text(_ string: String, _ place: Place) {
        // Apple's own texts are ASCII, which needs no look at scalars.
        if string.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) {
            for byte in string.utf8 { escaped(byte) }
            return
        }
        var markCount = 0
        for scalar in string.unicodeScalars {
            markCount = scalar.isMark ? markCount + 1 : 0
            if scalar.isUnprintable || markCount > Self.maximumMarkCount {
                codePoint(scalar, place)
            } else if scalar.isASCII {
                escaped(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
    }

    /// Letters of living languages carry at most this many marks.
    private static let maximumMarkCount = 3

    mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "<"): raw("&lt;")
        case UInt8(ascii: ">"): raw("&gt;")
        case UInt8(ascii: "&"): raw("&amp;")
        case UInt8(ascii: "\""): raw("&quot;")
        case UInt8(ascii: "'"): raw("&#39;")
        default: bytes.append(byte)
        }
    }

    private mutating func codePoint(_ scalar: Unicode.Scalar, _ place: Place) {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let name = "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
        switch place {
        case .attribute: raw(ascii: "[\(name)]")
        case .element:
            raw("<span class=\"cp\">")
            raw(ascii: name)
            raw("</span>")
        }
    }

    // MARK: Markup

    private mutating func open(_ tag: Tag, _ attributes: [Attribute]) {
        raw("<")
        raw(ascii: tag.rawValue)
        for attribute in attributes { self.attribute(attribute) }
        raw(">")
    }

    mutating func attribute(_ attribute: Attribute) {
        raw(" ")
        raw(attribute.name)
        raw("=\"")
        text(attribute.value, .attribute)
        raw("\"")
    }

    private mutating func close(_ tag: Tag) {
        raw("</")
        raw(ascii: tag.rawValue)
        raw(">")
    }

    mutating func raw(_ markup: StaticString) { raw(ascii: "\(markup)") }
    mutating func raw(ascii markup: String) { bytes += markup.utf8 }
}

extension Unicode.Scalar {
    fileprivate var isMark: Bool {
        guard !isASCII else { return false }
        return switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: true
        default: false
        }
    }
}
