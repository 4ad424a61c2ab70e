import StrictText

/// The format of a file's lines: JSON, or CSV with column names in the first line (RFC 4180).
struct ImportFormat {
    /// The columns of CSV, or `nil` for JSON.
    private(set) var columns: [ImportRecord.Column]?
    /// The separator between fields. In many countries, spreadsheets write `;`, and MySQL writes tabs.
    private var separator = UInt8(ascii: ",")

    /// Creates the JSON format.
    init() {}

    /// Reads the first line of a CSV file.
    init(csv line: [UInt8]) throws(ImportRecord.Fault) {
        try Self.checkText(line)
        separator = line.first { [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")].contains($0) } ?? separator
        var columns: [ImportRecord.Column] = []
        for field in try fields(line) {
            let name = String(decoding: field, as: UTF8.self)
            let trimmed = Array(name.trimmed.utf8)
            guard let column = ImportRecord.Column.allCases.first(where: { trimmed.elementsEqual($0.rawValue.utf8) })
            else { throw .unknownColumn(name) }
            guard !columns.contains(column) else {
                throw ImportRecord.Fault(message: "'\(column.rawValue)' is there twice")
            }
            columns.append(column)
        }
        self.columns = columns
    }

    /// Reads a line.
    func record(_ line: [UInt8]) throws(ImportRecord.Fault) -> ImportRecord {
        try Self.checkText(line)
        guard let columns else { return try ImportRecord(json: line) }
        let fields = try fields(line)
        guard fields.count == columns.count else {
            throw ImportRecord.Fault(message: "\(fields.count) fields; the first line has \(columns.count)")
        }
        // Databases wrap base64. Elsewhere, a line break is more likely due to a misplaced quotation mark.
        for (column, field) in zip(columns, fields) where column != .evidence {
            guard !field.contains(UInt8(ascii: "\n")) else {
                throw ImportRecord.Fault(message: "a line break in '\(column.rawValue)'; JSON can have one")
            }
        }
        return try ImportRecord(columns, fields)
    }

    // MARK: Fields of several lines

    /// The effect of a line's quotation marks on the next line.
    enum LineEnd {
        /// The next line is a record of its own.
        case complete
        /// The next line continues a field of this one.
        case withinField
        /// A quotation mark is neither doubled nor followed by a separator, so no earlier field continues in this line.
        case misplaced
    }

    /// Returns how a line ends.
    ///
    /// - Parameter withinField: Whether the line begins within a field of the previous line.
    func end(of line: [UInt8], withinField: Bool = false) -> LineEnd {
        let quote = UInt8(ascii: "\"")
        guard columns != nil, withinField || line.contains(quote) else { return .complete }
        var rest = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
        var isWithin = withinField
        while true {
            if isWithin {
                guard let next = rest.firstIndex(of: quote) else { return .withinField }
                let isEscaped = next > rest.startIndex && rest[next - 1] == UInt8(ascii: "\\")
                rest = rest[(next + 1)...]
                if rest.first == quote {
                    rest.removeFirst()
                } else if rest.isEmpty || rest.first == separator {
                    isWithin = false
                } else if !isEscaped {
                    return .misplaced
                }
                // MySQL writes \" for a quotation mark, an error here. The text after it still belongs to the field.
            } else if rest.first == quote {
                rest.removeFirst()
                isWithin = true
            } else {
                guard let next = rest.firstIndex(of: separator) else { return .complete }
                rest = rest[(next + 1)...]
            }
        }
    }

    /// Excel can write UTF-16 or a regional encoding such as GBK.
    private static func checkText(_ line: [UInt8]) throws(ImportRecord.Fault) {
        let isASCII = line.allSatisfy { 1..<0x80 ~= $0 }
        guard isASCII || !line.contains(0) && String(validating: line, as: UTF8.self) != nil else {
            throw ImportRecord.Fault(message: "not UTF-8: save as CSV UTF-8")
        }
    }

    private func fields(_ line: [UInt8]) throws(ImportRecord.Fault) -> [[UInt8]] {
        // Check the count before allocating memory for the fields.
        let separatorCount = line.count { $0 == separator }
        guard separatorCount < 1000 else {
            throw ImportRecord.Fault(message: "\(separatorCount + 1) fields; no file of an import has so many")
        }
        let quote = UInt8(ascii: "\"")
        var fields: [[UInt8]] = []
        var field: [UInt8] = []
        var rest = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
        while true {
            if rest.first == quote {
                rest.removeFirst()
                while true {
                    guard let end = rest.firstIndex(of: quote) else {
                        let name = columns.flatMap { fields.count < $0.count ? $0[fields.count].rawValue : nil }
                        throw ImportRecord.Fault(
                            message: "a quotation mark is not closed" + (name.map { ", before '\($0)'" } ?? ""))
                    }
                    field += rest[..<end]
                    rest = rest[(end + 1)...]
                    guard rest.first == quote else { break }
                    field.append(quote)
                    rest.removeFirst()
                }
                guard rest.isEmpty || rest.first == separator else {
                    throw ImportRecord.Fault(message: "a field goes on after its quotation mark")
                }
            } else {
                let end = rest.firstIndex(of: separator) ?? rest.endIndex
                field += rest[..<end]
                rest = rest[end...]
                guard !field.contains(quote) else {
                    throw ImportRecord.Fault(message: "a quotation mark within a field")
                }
            }
            fields.append(field)
            field = []
            guard !rest.isEmpty else { return fields }
            rest.removeFirst()
        }
    }
}

extension String {
    /// The text without leading and trailing Unicode white space.
    var trimmed: Substring {
        var text = self[...].unicodeScalars
        while let first = text.first, first.properties.isWhitespace { text.removeFirst() }
        while let last = text.last, last.properties.isWhitespace { text.removeLast() }
        return Substring(text)
    }

    /// The text, quoted for a message.
    var quoted: String {
        let text = printable
        return text.utf8.count <= 100 ? "'\(text)'" : "'\(String(text.unicodeScalars.prefix(80)))…'"
    }
}
