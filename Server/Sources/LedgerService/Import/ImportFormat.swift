import StrictText

/// How the lines of a file are written: JSON, or CSV with the names of the columns in its first line (RFC 4180).
struct ImportFormat {
    /// The columns of CSV; `nil` for JSON.
    private(set) var columns: [ImportRecord.Column]?
    /// What stands between fields: spreadsheets of many countries write `;`, and MySQL tabs.
    private var separator = UInt8(ascii: ",")

    /// JSON.
    init() {}

    /// Reads the first line of CSV.
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
        return try ImportRecord(columns, fields)
    }

    /// Excel writes UTF-16, or the encoding of its country, such as GBK.
    private static func checkText(_ line: [UInt8]) throws(ImportRecord.Fault) {
        let isASCII = line.allSatisfy { 1..<0x80 ~= $0 }
        guard isASCII || !line.contains(0) && String(validating: line, as: UTF8.self) != nil else {
            throw ImportRecord.Fault(message: "not UTF-8: save as CSV UTF-8")
        }
    }

    private func fields(_ line: [UInt8]) throws(ImportRecord.Fault) -> [[UInt8]] {
        // Before memory is taken for each of them.
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
                        throw ImportRecord.Fault(message: "a quotation mark is not closed in the line")
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
    /// The text without white space around it, as Unicode has it.
    var trimmed: Substring {
        var text = self[...].unicodeScalars
        while let first = text.first, first.properties.isWhitespace { text.removeFirst() }
        while let last = text.last, last.properties.isWhitespace { text.removeLast() }
        return Substring(text)
    }

    /// The text as a message quotes it.
    var quoted: String {
        let text = printable
        return text.utf8.count <= 100 ? "'\(text)'" : "'\(String(text.unicodeScalars.prefix(80)))…'"
    }
}
