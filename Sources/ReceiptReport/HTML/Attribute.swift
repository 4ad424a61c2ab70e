public import Instants

/// The attributes that an element may have. Their values are names of this package, numbers, dates and visible texts;
/// an address is always a place in the page.
@_spi(Surfaces) public enum Attribute: Sendable {
    case style(Style)
    case styles([Style])
    /// A class of a style sheet beside the report's.
    case styled(StaticString)
    case id(PageAnchor)
    case to(PageAnchor)
    /// The name of an element for assistive technology.
    case label(String)
    /// The head of the column that a cell is in, for narrow screens.
    case column(String)
    case role(Role)
    /// Whether assistive technology skips the element.
    case hidden
    case moment(Instant)
    case scope(Scope)
    // Geometry
    case x(Length), y(Length), x1(Length), x2(Length), y1(Length), y2(Length), cx(Length), cy(Length), r(Length)
    case width(Length), height(Length), cornerRadius(Length)
    case box(width: Int, height: Int)
    case shape(StaticString)
    case textAnchor(TextAnchor)

    public enum Role: String, Sendable {
        case table, rowgroup, row, cell, columnheader, img, search, status
    }
    public enum Scope: String, Sendable { case column = "col", row }
    public enum TextAnchor: String, Sendable { case start, middle, end }

    var name: StaticString {
        switch self {
        case .style, .styles, .styled: "class"
        case .id: "id"
        case .to: "href"
        case .label: "aria-label"
        case .column: "data-column"
        case .role: "role"
        case .hidden: "aria-hidden"
        case .moment: "datetime"
        case .scope: "scope"
        case .x: "x"
        case .y: "y"
        case .x1: "x1"
        case .x2: "x2"
        case .y1: "y1"
        case .y2: "y2"
        case .cx: "cx"
        case .cy: "cy"
        case .r: "r"
        case .width: "width"
        case .height: "height"
        case .cornerRadius: "rx"
        case .box: "viewBox"
        case .shape: "d"
        case .textAnchor: "text-anchor"
        }
    }

    var value: String {
        switch self {
        case .style(let style): style.rawValue
        case .styles(let styles): styles.map(\.rawValue).joined(separator: " ")
        case .styled(let name): "\(name)"
        case .id(let anchor): anchor.name
        case .to(let anchor): "#" + anchor.name
        case .label(let text), .column(let text): text
        case .role(let role): role.rawValue
        case .hidden: "true"
        case .moment(let date): date.description
        case .scope(let scope): scope.rawValue
        case .x(let length), .y(let length), .x1(let length), .x2(let length), .y1(let length), .y2(let length),
            .cx(let length), .cy(let length), .r(let length), .width(let length), .height(let length),
            .cornerRadius(let length):
            length.text
        case .box(let width, let height): "0 0 \(width) \(height)"
        case .shape(let path): "\(path)"
        case .textAnchor(let anchor): anchor.rawValue
        }
    }
}

/// A length of a drawing: pixels, or a part of its width in hundredths of a percent, so that it fits every screen.
@_spi(Surfaces) public enum Length: Sendable {
    case pixels(Int)
    case part(Int)

    var text: String {
        switch self {
        case .pixels(let count): String(count)
        case .part(let hundredths):
            "\(hundredths / 100)" + (hundredths % 100 == 0 ? "" : ".\(hundredths % 100 / 10)\(hundredths % 10)") + "%"
        }
    }
}

/// A place in the page to which links lead.
@_spi(Surfaces) public enum PageAnchor: Sendable {
    case contents, purchases, timeline
    /// A place outside the report, in its page.
    case place(StaticString)
    case piece(Int)

    var name: String {
        switch self {
        case .contents: "contents"
        case .purchases: "purchases"
        case .timeline: "timeline"
        case .place(let name): "\(name)"
        case .piece(let index): "piece-\(index + 1)"
        }
    }
}
