@_spi(Surfaces) public import AppStoreReceipt

/// One self-contained HTML page that explains a decision: no script, no request, readable on a phone, in print and by keyboard.
///
/// It decides nothing. Verdicts, reasons and what purchases give are those of the decision, and what is wrong and what to do those of the table of faults.
public struct Report: Sendable {
    /// The language of the page. Codes, names of options, and values are the same in all languages.
    public var language = Language.english
    /// A time zone in which dates are shown beside UTC.
    public var timeZone: ReportTimeZone?

    let decision: Decision
    let pieces: [ReportPiece]
    let trust: AppStoreTrust
    let policy: VerificationPolicy
    let audience: Audience

    /// Creates the report of a decision.
    ///
    /// - Parameters:
    ///   - decision: What was decided.
    ///   - evidence: The bytes of each piece of the decision, in its order; empty for one that could not be read.
    ///   - verifier: The verifier that made the decision.
    ///   - audience: Whom advice is for.
    @_spi(Surfaces) public init(
        _ decision: Decision, on evidence: [[UInt8]], by verifier: AppStoreVerifier, for audience: Audience
    ) {
        self.decision = decision
        trust = verifier.trust
        policy = verifier.policy
        self.audience = audience
        pieces = decision.pieces.enumerated().map { index, piece in
            ReportPiece(piece, index, index < evidence.count ? evidence[index] : [])
        }
    }

    /// The page, in UTF-8.
    public var html: [UInt8] {
        var writer = HTMLWriter(language, timeZone)
        writer.document(title: .title, .page) { html in body(&html) }
        return writer.bytes
    }

    /// What the page's `body` has, for a page with more on it: that needs ``styleSheet``, and ``styleSource`` in its policy.
    @_spi(Surfaces) public var fragment: [UInt8] {
        var writer = HTMLWriter(language, timeZone)
        body(&writer)
        return writer.bytes
    }

    /// The style sheet, as it stands between the tags of `style`.
    @_spi(Surfaces) public static var styleSheet: String { "\(StyleSheet.page.text)" }
    /// The source that `style-src` of a content security policy names: `'sha256-…'`.
    @_spi(Surfaces) public static var styleSource: String { StyleSheet.page.source }

    /// The number of pieces that are shown with their checks and contents.
    static let maximumPieceCount = 40

    private func body(_ html: inout HTMLWriter) {
        html.element(.a, .style(.skip), .to(.contents), phrase: .skipToContents)
        html.element(.header, .style(.top)) { html in
            html.element(.p, .style(.kicker), phrase: .title)
            headline(&html)
            html.element(.p, .style(.note)) { html in
                html.phrase(.decidedFor, .date(decision.entitlements.date))
                html.text(" · ")
                if let timeZone { html.phrase(.timesInZone, .code(timeZone.name)) } else { html.phrase(.timesInUTC) }
            }
        }
        html.element(.main, .id(.contents)) { html in
            questions(&html)
            navigation(&html)
            if pieces.contains(where: { $0.verified != nil }) {
                purchases(&html)
                timeline(&html)
            }
            for piece in pieces.prefix(Self.maximumPieceCount) { self.piece(piece, &html) }
            if pieces.count > Self.maximumPieceCount {
                html.element(
                    .p, .styles([.panel, .note]), phrase: .moreRows,
                    .number(pieces.count - Self.maximumPieceCount), .code("receipt entitlements"))
            }
        }
        html.element(.footer) { html in
            html.element(.p, phrase: .limits)
            html.element(.p) { html in
                html.phrase(.hiddenCharacters, .text("\u{202E}"))
                html.text(" ")
                html.phrase(.footer)
            }
        }
    }

    private func navigation(_ html: inout HTMLWriter) {
        let hasPurchases = pieces.contains { $0.verified != nil }
        guard hasPurchases || pieces.count > 1 else { return }
        html.element(.nav, .label(html.plain(.navigation))) { html in
            html.element(.ul) { html in
                if hasPurchases {
                    html.element(.li) { $0.element(.a, .to(.purchases), phrase: .purchases) }
                    if !lanes.isEmpty { html.element(.li) { $0.element(.a, .to(.timeline), phrase: .timeline) } }
                }
                for piece in pieces.prefix(Self.maximumPieceCount) {
                    html.element(.li) { html in
                        html.element(.a, .to(.piece(piece.index))) { $0.phrase(.pieceNumber, .number(piece.index + 1)) }
                    }
                }
            }
        }
    }
}
