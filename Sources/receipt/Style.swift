/// The style of text: its color and its width.
struct Style {
    var isColored = false
    /// The maximum number of columns in a line; `nil` for no maximum.
    var width: Int?
    /// Whether every value is shown in full, however long it is.
    var isWide = false

    /// The options of all commands with a text report.
    static let options: [CommandSyntax.Option] = [
        .init(
            "--color", "auto|always|never",
            "Colour the report. 'auto', the default, does so on a terminal, unless NO_COLOR is set or TERM is 'dumb'."
        )
    ]
    static let quietOption = CommandSyntax.Option(
        "--quiet", "Print nothing about an input that passes. The exit status says it.")
    static let wideOption = CommandSyntax.Option(
        "--wide", "Show each purchase in one line and every value in full, whatever the width of the terminal.")

    /// The environment variables that decide the style, for the manual page.
    static let variables = [
        (
            "COLUMNS",
            "The width of reports if standard output is not a terminal, or one that has no width. Without it, the width of a pipe or a file has no limit, and that of such a terminal is 80."
        ),
        ("NO_COLOR", "If it is not empty, reports are not coloured, unless --color always is given."),
        ("TERM", "If it is 'dumb', reports are not coloured, unless --color always is given."),
    ]

    /// On a terminal, the width is the terminal's, or `COLUMNS` if it has none, or 80. A file or a pipe has no width
    /// unless `COLUMNS` is set: programs read lines.
    static func ofStandardOutput() -> Style {
        let columns = System.environment("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        guard System.isTerminal(System.standardOutput) else { return Style(width: columns) }
        // no-color.org
        let refusesColor = System.environment("NO_COLOR").map { !$0.isEmpty } ?? false
        return Style(
            isColored: !refusesColor && System.environment("TERM") != "dumb",
            width: System.columnCount(of: System.standardOutput) ?? columns ?? 80)
    }

    /// Returns the style that the options of a command ask for.
    func applying(_ arguments: Arguments) -> Style {
        var style = self
        switch arguments["--color"] {
        case "always": style.isColored = true
        case "never": style.isColored = false
        default: break
        }
        if arguments["--wide"] != nil { (style.width, style.isWide) = (nil, true) }
        return style
    }

    enum Ink: String {
        case bold = "1"
        case dim = "2"
        case red = "1;31"
        case green = "1;32"
        case yellow = "1;33"
    }

    func callAsFunction(_ ink: Ink, _ text: String) -> String {
        isColored ? "\u{1B}[\(ink.rawValue)m\(text)\u{1B}[0m" : text
    }
}
