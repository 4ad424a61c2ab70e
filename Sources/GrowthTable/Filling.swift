import SpanASN1

/// What an attacker puts in a place, in about the requested number of bytes.
struct Filling: Sendable {
    let name: String
    let make: @Sendable (_ n: Int) -> [UInt8]

    init(_ name: String, _ make: @escaping @Sendable (_ n: Int) -> [UInt8]) {
        self.name = name
        self.make = make
    }

    /// Repeats a unit, at least once, between a beginning and an end.
    init(_ name: String, _ unit: [UInt8], before: [UInt8] = [], after: [UInt8] = []) {
        self.init(name) { n in
            let count = max(1, n / unit.count) * unit.count
            var units = unit
            units.reserveCapacity(count)
            while units.count < count { units += units.prefix(count - units.count) }
            return before.isEmpty && after.isEmpty ? units : before + units + after
        }
    }

    init(_ name: String, _ unit: String, before: String = "", after: String = "") {
        self.init(name, Array(unit.utf8), before: Array(before.utf8), after: Array(after.utf8))
    }

    /// The same in another form.
    func map(_ name: String? = nil, _ transform: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Filling {
        Filling(name ?? self.name) { transform(make($0)) }
    }
}

/// The syntax of a place, which determines its fillings.
enum Slot: Sendable {
    /// Any bytes.
    case text
    /// What stands between the quotation marks of a JSON string.
    case jsonString
    /// A JSON value.
    case jsonValue
    /// Members of a JSON object, with commas between them and at the end.
    case jsonMembers
    /// An element of BER; a text becomes a string of this type.
    case der(ASN1Tag)
    /// An element of BER that is not text.
    case derList
    /// Repetitions with about n bytes in total.
    case count

    func fillings(_ choice: Filling.Choice) -> [Filling] {
        switch self {
        case .text: return choice.of(Filling.texts) + choice.of(Filling.escapes)
        case .jsonString: return choice.of(Filling.texts).map(\.escaped) + choice.of(Filling.escapes)
        case .jsonValue:
            let strings = Slot.jsonString.fillings(choice)
            let quoted = strings.map { $0.map { [UInt8(ascii: "\"")] + $0 + [UInt8(ascii: "\"")] } }
            return quoted + choice.of(Filling.numbers) + choice.of(Filling.structures)
        case .jsonMembers: return Filling.members
        case .der(let tag):
            return choice.of(Filling.texts).map { $0.map { element(tag, $0) } } + choice.of(Filling.elements)
        case .derList: return choice.of(Filling.elements)
        case .count: return [Filling("n bytes of them", [0])]
        }
    }
}

extension Filling {
    /// The fillings for a place.
    enum Choice: Comparable {
        /// One filling of each sort, for a place that is read like another one with more fillings.
        case few
        case some
        /// For a place that this library or its caller compares or searches.
        case all

        func of(_ fillings: Fillings) -> [Filling] {
            fillings.few + (self >= .some ? fillings.some : []) + (self == .all ? fillings.others : [])
        }
    }

    struct Fillings: Sendable {
        var few: [Filling]
        var some: [Filling] = []
        var others: [Filling] = []
    }
}

// MARK: - Text

extension Filling {
    static let texts = Fillings(
        few: [
            .init("letters", "a"),
            // Combining classes 230 and 220, which normalization must sort.
            .init("marks of alternating classes", "\u{301}\u{316}", before: "a"),
        ],
        some: [
            .init("zeros", "0"),
            .init("spaces", " "),
            // A leading consonant, a vowel and a trailing consonant, which compose.
            .init("Hangul jamo", "\u{1112}\u{1161}\u{11AB}"),
            .init("decomposed letters", "e\u{301}"),
            // The start of a character is found by counting these.
            .init("regional indicators", "\u{1F1E9}"),
            .init("emoji joined to one", "\u{1F469}\u{200D}"),
            .init("bytes FF", [0xFF]),
            .init("quotation marks", "\""),
            .init("controls", "\u{1}"),
        ],
        others: [
            .init("nines", "9"),
            .init("minus signs", "-"),
            .init("plus signs", "+"),
            .init("dots", "."),
            .init("equals signs", "="),
            .init("slashes", "/"),
            .init("backslashes", "\\"),
            .init("line feeds", "\n"),
            .init("carriage returns and tabs", "\r\t"),
            .init("zero bytes", [0]),
            .init("a date with a long fraction", "0", before: "2025-06-15T12:00:00.", after: "Z"),
            // Combining classes 240, 230, 220, 10: the worst order.
            .init("marks in descending classes", "\u{345}\u{301}\u{316}\u{5B0}", before: "a"),
            .init("marks of one class", "\u{301}", before: "a"),
            // Each becomes two marks of one class.
            .init("marks that decompose", "\u{344}\u{316}", before: "a"),
            .init("composed letters", "\u{E9}"),
            .init("leading jamo", "\u{1112}"),
            .init("emoji", "\u{1F600}"),
            .init("variation selectors", "\u{FE0F}", before: "a"),
            .init("Indic conjuncts", "\u{915}\u{94D}"),
            .init("marks of direction", "\u{202E}"),
            .init("C1 controls", "\u{85}"),
            // Two scalars in lower case.
            .init("letters that grow in lower case", "\u{130}"),
            .init("sigmas", "\u{3A3}"),
            // UTF-8 that would be half of a surrogate pair, or is cut off.
            .init("surrogates in UTF-8", [0xED, 0xA0, 0x80]),
            .init("sequences cut off", [0xF0, 0x9F, 0x98]),
        ])

    /// Escapes in JSON; plain text elsewhere.
    static let escapes = Fillings(
        few: [.init("escaped marks of alternating classes", "\\u0301\\u0316", before: "a")],
        some: [
            .init("escaped letters", "\\u0041"),
            .init("escaped slashes", "\\/"),
            .init("escaped surrogate pairs", "\\ud83d\\ude00"),
        ],
        others: [
            .init("escaped quotation marks", "\\\""),
            .init("escaped line feeds", "\\n"),
            .init("escaped controls", "\\u0000"),
            .init("escaped halves of surrogate pairs", "\\ud83d"),
            .init("escaped Kelvin signs", "\\u212A"),
        ])

    /// The text between the quotation marks of a JSON string with this value.
    fileprivate var escaped: Filling {
        Filling(name) { n in
            let text = Self.escaped(make(n))
            return text.count <= 2 * n ? text : Self.escaped(make(n * n / text.count))
        }
    }

    /// Invalid UTF-8 stays invalid.
    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                bytes += Array("\\u00".utf8)
                bytes += Array((byte < 16 ? "0" : "1").utf8) + Array(String(byte & 15, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}

// MARK: - JSON

extension Filling {
    static let numbers = Fillings(
        few: [.init("a number of nines", "9")],
        some: [
            .init("a number with many zeros", "0", before: "1"),
            .init("a fraction of zeros", "0", before: "1.", after: "1"),
            .init("an exponent of nines", "9", before: "1e"),
            .init("a number of minus signs", "-"),
        ])

    static let structures = Fillings(
        few: [
            .init("arrays in each other", "["),
            .init("an array of empty strings", "\"\",", before: "[", after: "\"\"]"),
            .init("an array of empty objects", "{},", before: "[", after: "{}]"),
            .init("an object of many members") { n in
                Array("{".utf8) + distinctMembers(n) + Array("\"y\":0}".utf8)
            },
        ],
        some: [
            .init("an array of whitespace", " \n", before: "[", after: "]"),
            .init("objects in each other", "{\"x\":"),
            .init("arrays 50 deep", nest("[", "]"), before: "[", after: "[]]"),
            .init("objects 50 deep", nest("{\"x\":", "}", "{}"), before: "[", after: "[]]"),
            .init("an array of empty arrays", "[],", before: "[", after: "[]]"),
            .init("an array of zeros", "0,", before: "[", after: "0]"),
            .init("an object of one member many times", "\"x\":0,", before: "{", after: "\"x\":0}"),
        ])

    static let members: [Filling] = [
        .init("one member many times", "\"x\":0,"),
        .init("one member many times, escaped", "\"\\u0078\":0,"),
        .init("names like the verdict's", "\"VERIFIED\":0,"),
        .init("many members", distinctMembers),
        .init("many members of empty objects", "\"x\":{},"),
        .init("many members of line breaks", "\"x\":[\n],"),
        .init("a member of one name in two normal forms", "\"\u{E9}\":0,\"e\u{301}\":0,"),
        .init("white space between members", " \n", after: "\"x\":0,"),
    ]

    private static func nest(_ opening: String, _ closing: String, _ inner: String = "") -> String {
        String(repeating: opening, count: 50) + inner + String(repeating: closing, count: 50) + ","
    }

    /// `"k0":0,"k1":0,…`
    @Sendable
    private static func distinctMembers(_ n: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(n + 16)
        var index = 0
        while bytes.count < n || index == 0 {
            bytes += Array("\"k\(index)\":0,".utf8)
            index += 1
        }
        return bytes
    }
}

// MARK: - BER

extension Filling {
    static let elements = Fillings(
        few: [
            .init("an INTEGER of FF", [0xFF], before: [0x7F]).map { element(.integer, $0) },
            .init("an OCTET STRING in segments of one byte", [0x04, 0x01, 0x00]).map {
                element(.octetString.asConstructed, $0)
            },
            .init("a SEQUENCE of empty SEQUENCEs", [0x30, 0x00]).map { element(.sequence, $0) },
            .init("SEQUENCEs in each other", nestedSequences),
        ],
        some: [
            .init("an OCTET STRING of FF", [0xFF]).map { element(.octetString, $0) },
            .init("an OBJECT IDENTIFIER of one arc", [0xFF], before: [0x2A], after: [0x7F]).map {
                element(.objectIdentifier, $0)
            },
            .init("an OBJECT IDENTIFIER of many arcs", [0x2A]).map { element(.objectIdentifier, $0) },
            .init("a SET of NULLs", [0x05, 0x00]).map { element(.set, $0) },
            .init("SEQUENCEs of indefinite length in each other", [0x30, 0x80]),
        ],
        others: [
            .init("an INTEGER of zeros", [0x00]).map { element(.integer, $0) },
            .init("a BIT STRING of FF", [0xFF], before: [0x00]).map { element(.bitString, $0) },
            .init("empty segments of an OCTET STRING", [0x04, 0x00]).map { element(.octetString.asConstructed, $0) },
            .init("a SET of attributes", [0x30, 0x08, 0x02, 0x01, 0x63, 0x02, 0x01, 0x01, 0x04, 0x00]).map {
                element(.set, $0)
            },
            .init("a SET of equal attributes of a name", [0x30, 0x07, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, 0x00]).map {
                element(.set, $0)
            },
            .init("a SEQUENCE of names", [0x31, 0x09, 0x30, 0x07, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, 0x00]).map {
                element(.sequence, $0)
            },
            .init("an IA5String of letters", "a").map { element(.ia5String, $0) },
            .init("a PrintableString of spaces", " ").map { element(.printableString, $0) },
            .init("a BMPString of marks", [0x03, 0x01, 0x03, 0x16]).map { element(.bmpString, $0) },
            .init("a UniversalString of marks", [0, 0, 0x03, 0x01, 0, 0, 0x03, 0x16]).map {
                element(.universalString, $0)
            },
            .init("a TeletexString of FF", [0xFF]).map { element(.teletexString, $0) },
            .init("a UTCTime of digits", "0").map { element(.utcTime, $0) },
            .init("a GeneralizedTime with a long fraction", "1", before: "20250615120000.", after: "Z").map {
                element(.generalizedTime, $0)
            },
            .init("lengths of 126 octets", [0x04, 0xFE] + [UInt8](repeating: 0, count: 126)),
            .init("tag numbers of many octets", [0x9F, 0xFF, 0xFF, 0x7F, 0x00]),
            .init("ends of contents", [0x00, 0x00]),
            .init("no element: FF", [0xFF]),
        ])

    /// Each with the right length.
    @Sendable
    static func nestedSequences(_ n: Int) -> [UInt8] {
        var reversed: [UInt8] = []
        while reversed.count < n || reversed.isEmpty {
            var header: [UInt8] = [0x30]
            header.append(length: reversed.count)
            reversed += header.reversed()
        }
        return reversed.reversed()
    }
}

/// Returns an element with a content.
func element(_ tag: ASN1Tag, _ content: [UInt8]) -> [UInt8] {
    ASN1Writer.encode { $0.write(tag, content: content.span) }
}
