/// The elements that a page may have. None of them runs, loads or sends anything.
@_spi(Surfaces) public enum Tag: String, CaseIterable, Sendable {
    case body, header, main, footer, section, article, nav, div, span, p, a
    case h1, h2, h3, h4
    case ul, ol, li, dl, dt, dd
    case table, thead, tbody, tr, th, td
    case details, summary
    case strong, small, code, bdi, time, b, i
    case svg, rect, line, circle, path, text
}
