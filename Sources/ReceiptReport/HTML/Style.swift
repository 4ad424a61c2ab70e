/// The classes of the style sheet.
@_spi(Surfaces) public enum Style: String, CaseIterable, Sendable {
    case skip, top, kicker, good, warn, bad, unknown
    case cards, card, answer, note, list, zone, cut
    case panel, piece, name, badge, checks, check, mark, passed, failed, waiting, fault, facts
    case chain, link, seal, picture, legend, key
    case rows, lane, laneName = "lane-name", events, quiet, claim
    case paid, offer, grace, refunded, replaced, future, gap, now, axis, tick, once, crossed, change
    case tree, leaf, what, hex
    case d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12

    /// The indentation of a depth.
    static func depth(_ depth: Int) -> Style {
        let all: [Style] = [.d0, .d1, .d2, .d3, .d4, .d5, .d6, .d7, .d8, .d9, .d10, .d11, .d12]
        return all[min(max(depth, 0), all.count - 1)]
    }
}
