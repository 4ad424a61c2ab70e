/// Forms. The report has none; a server's pages have them, and they submit only to that server.
@_spi(Surfaces) extension HTMLWriter {
    /// What a field takes.
    public enum FieldKind: Sendable {
        case line
        /// Several lines.
        case area
        /// A hidden line that the browser may remember, such as a password.
        case secret
        case number
    }

    /// Writes a form, which a browser sends by POST.
    ///
    /// - Parameters:
    ///   - path: The path to submit to, on the page's own server.
    ///   - hidden: The hidden values, byte for byte.
    public mutating func form(
        _ path: StaticString, _ attributes: [Attribute] = [], hidden: [(name: StaticString, value: String)],
        content: (inout HTMLWriter) -> Void
    ) {
        raw("<form method=\"post\" action=\"")
        raw(path)
        raw("\"")
        for attribute in attributes { self.attribute(attribute) }
        raw(">")
        for (name, value) in hidden {
            raw("<input type=\"hidden\" name=\"")
            raw(name)
            raw("\"")
            exactValue(value)
            raw(">")
        }
        content(&self)
        raw("</form>")
    }

    /// Writes a field with its label.
    ///
    /// - Parameters:
    ///   - id: Its unique id in the page.
    ///   - limit: The maximum number of characters.
    public mutating func field(
        _ name: StaticString, id: String, _ kind: FieldKind, label: String, isRequired: Bool = true,
        limit: Int = 255
    ) {
        labelled(id, label)
        raw(kind.isArea ? "<textarea rows=\"3\" spellcheck=\"false\"" : "<input spellcheck=\"false\" type=\"")
        switch kind {
        case .area: break
        case .line: raw("text\"")
        case .secret: raw("password\"")
        case .number: raw("text\" inputmode=\"numeric\" pattern=\"[0-9]*\"")
        }
        if case .secret = kind { raw(" autocomplete=\"current-password\"") } else { raw(" autocomplete=\"off\"") }
        named(name, id)
        if !kind.isArea {
            raw(" maxlength=\"")
            raw(ascii: String(limit))
            raw("\"")
        }
        if isRequired { raw(" required") }
        raw(kind.isArea ? "></textarea>" : ">")
    }

    /// Writes a choice with its label.
    public mutating func choice(
        _ name: StaticString, id: String, label: String, _ options: [(value: String, words: String)],
        selected: String
    ) {
        labelled(id, label)
        raw("<select")
        named(name, id)
        raw(">")
        for (value, words) in options {
            raw("<option")
            exactValue(value)
            if value.utf8.elementsEqual(selected.utf8) { raw(" selected") }
            raw(">")
            text(words)
            raw("</option>")
        }
        raw("</select>")
    }

    /// Writes the button that sends the form.
    public mutating func button(_ words: String, _ attributes: Attribute...) {
        raw("<button")
        for attribute in attributes { self.attribute(attribute) }
        raw(">")
        text(words)
        raw("</button>")
    }

    /// Writes a link to another page of the server.
    public mutating func link(_ path: StaticString, _ words: String) {
        raw("<a href=\"")
        raw(path)
        raw("\">")
        text(words)
        raw("</a>")
    }

    private mutating func labelled(_ id: String, _ label: String) {
        raw("<label for=\"")
        text(id, .attribute)
        raw("\">")
        text(label)
        raw("</label>")
    }

    private mutating func named(_ name: StaticString, _ id: String) {
        raw(" name=\"")
        raw(name)
        raw("\" id=\"")
        text(id, .attribute)
        raw("\"")
    }

    /// Writes a value that the browser returns byte for byte: hidden characters and line breaks stay what they are.
    private mutating func exactValue(_ value: String) {
        raw(" value=\"")
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\r"): raw("&#13;")
            case UInt8(ascii: "\n"): raw("&#10;")
            default: escaped(byte)
            }
        }
        raw("\"")
    }
}

extension HTMLWriter.FieldKind {
    fileprivate var isArea: Bool { if case .area = self { true } else { false } }
}
