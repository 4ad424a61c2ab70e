@_spi(Surfaces) public import AppStoreReceipt

/// One self-contained HTML page that explains a decision: no script, no request, readable on a phone, in print and by
/// keyboard.
///
/// It decides nothing: verdicts, reasons and access are the decision's, and what is wrong and what to do are from the
/// table of faults.
public struct Report: Sendable {
    /// The language of the page. Codes, names of options, and values are the same in all languages.
    public var language = Language.english
    /// A time zone in which dates are shown beside UTC.
    public var timeZone: ReportTimeZone?

    /// Whether the report gives advice on a refusal: a page around it may give its own.
    @_spi(Surfaces) public var advises: @Sendable (VerificationError) -> Bool = { _ in true }

    /// A server's page with ``ClientHelp``, to which codes link; `nil` if there is none.
    @_spi(Surfaces) public var helpPath: StaticString?

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
        writer.document(title: Phrase.title, .page) { html in
            html.element(.a, .style(.skip), .to(.contents), phrase: Phrase.skipToContents)
            html.element(.header, .style(.top)) { html in head(.h1, &html) }
            html.element(.main, .id(.contents)) { html in contents(&html) }
            html.element(.footer) { html in foot(&html) }
        }
        return writer.bytes
    }

    /// Writes the report into a page with more on it, which needs ``StyleSheet/page``. Its headings are below the
    /// page's.
    @_spi(Surfaces) public func write(to html: inout HTMLWriter) {
        html.element(.div, .style(.top)) { html in head(.h2, &html) }
        contents(&html)
        html.element(.div, .style(.note)) { html in foot(&html) }
    }

    /// The number of pieces that are shown with their checks and contents.
    static let maximumPieceCount = 40

    private func head(_ heading: Tag, _ html: inout HTMLWriter) {
        html.element(.p, .style(.kicker), phrase: .title)
        headline(heading, &html)
        html.element(.p, .style(.note)) { html in
            html.phrase(.decidedFor, .date(decision.entitlements.date))
            html.text(" · ")
            if let timeZone = html.timeZone {
                html.phrase(.timesInZone, .code(timeZone.name))
            } else {
                html.phrase(.timesInUTC)
            }
        }
    }

    private func contents(_ html: inout HTMLWriter) {
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

    private func foot(_ html: inout HTMLWriter) {
        html.element(.p, phrase: .limits)
        html.element(.p) { html in
            html.phrase(.hiddenCharacters, .text("\u{202E}"))
            html.text(" ")
            html.phrase(.footer)
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
