@_spi(Surfaces) import AppStoreReceipt
import StrictText

// The verdict in one sentence, and the four questions that support asks.
extension Report {
    func headline(_ heading: Tag, _ html: inout HTMLWriter) {
        let style: Style
        if pieces.count == 1, let piece = pieces.first {
            style = piece.verdict == .accepted && trust.base != .apple ? .warn : piece.verdict.style
        } else {
            let accepted = acceptedCount
            style =
                accepted == pieces.count && accepted > 0 && trust.base == .apple ? .good : accepted == 0 ? .bad : .warn
        }
        html.element(heading, .style(style)) { html in
            html.mark(style)
            html.element(.span) { html in
                if pieces.count == 1, let piece = pieces.first {
                    sentence(on: piece, &html)
                } else if acceptedCount == 0 {
                    html.phrase(.severalNone, .number(pieces.count))
                } else if acceptedCount == pieces.count {
                    html.phrase(.severalAll, .number(pieces.count))
                } else {
                    html.phrase(.several, .number(acceptedCount), .number(pieces.count))
                }
            }
        }
    }

    var acceptedCount: Int { pieces.count { $0.verdict == .accepted } }

    /// The verdict on a piece in one sentence.
    func sentence(on piece: ReportPiece, _ html: inout HTMLWriter) {
        switch piece.verdict {
        case .accepted:
            let words: Phrase =
                switch piece.verification?.authority {
                case .storeKitTesting: .genuineByXcode
                case .customRoot: .genuineByRoot
                case .apple, nil: .genuineByApple
                }
            html.phrase(
                words, piece.bundleID.map(Slot.text) ?? .phrase(.genuineWithoutApp),
                .phrase(piece.verified?.environment?.phrase ?? .genuineAppless))
        case .notAccepted: html.phrase(.notAccepted)
        case .notGenuine: html.phrase(.notGenuine)
        case .notEvidence: html.phrase(.notEvidence)
        case .signedUnreadable: html.phrase(.signedUnreadable)
        case .partRefused: html.phrase(.partRefused)
        case .notChecked: html.phrase(.notChecked)
        case .notRead: html.phrase(.notRead)
        }
    }

    func questions(_ html: inout HTMLWriter) {
        html.element(.div, .style(.cards)) { html in
            card(.isItGenuine, genuineStyle, &html) { genuineAnswer(&$0) }
            card(.whichApp, nil, &html) { appAnswer(&$0) }
            card(.whatNow, nil, &html) { ownedAnswer(&$0) }
            card(.whyRefused, pieces.contains { $0.verdict != .accepted } ? .bad : nil, &html) { refusalAnswer(&$0) }
        }
    }

    private func card(
        _ title: Phrase, _ style: Style?, _ html: inout HTMLWriter, content: (inout HTMLWriter) -> Void
    ) {
        html.element(.section, .styles([.card] + [style].compactMap(\.self))) { html in
            html.element(.h2, phrase: title)
            content(&html)
        }
    }

    // MARK: Is it genuine?

    private var genuineStyle: Style {
        guard pieces.count > 1 else {
            let verdict = pieces.first?.verdict ?? .notRead
            return verdict == .accepted && trust.base != .apple ? .warn : verdict.style
        }
        let accepted = acceptedCount
        return accepted == 0 ? .bad : accepted == pieces.count && trust.base == .apple ? .good : .warn
    }

    private func genuineAnswer(_ html: inout HTMLWriter) {
        let genuine = pieces.count { [.accepted, .notAccepted, .signedUnreadable, .partRefused].contains($0.verdict) }
        // Under one trust, everything that is accepted was signed by the same authority.
        if pieces.isEmpty || pieces.count > 1 && acceptedCount < pieces.count {
            html.element(.p, .style(.answer), phrase: .someGenuine, .number(genuine), .number(pieces.count))
        } else if let piece = pieces.first {
            html.element(.p, .style(.answer), phrase: answer(for: piece))
        }
        let environments = Set(pieces.compactMap { $0.verified?.environment })
        if environments.contains(.sandbox) { html.element(.p, .style(.note), phrase: .sandboxNote) }
        if case .storeKitTesting = trust.base { html.element(.p, .style(.note), phrase: .xcodeNote) }
    }

    private func answer(for piece: ReportPiece) -> Phrase {
        switch piece.verdict {
        case .accepted:
            switch piece.verification?.authority {
            case .storeKitTesting: .onlyXcode
            case .customRoot: .yesRoot
            case .apple, nil: .yesApple
            }
        case .notAccepted: .yesNotAccepted
        case .notGenuine: .no
        case .notEvidence: .unproved
        case .signedUnreadable, .partRefused: .yesUnreadable
        case .notChecked, .notRead: .unknown
        }
    }

    // MARK: Which app?

    private func appAnswer(_ html: inout HTMLWriter) {
        let signed = pieces.filter { $0.verified != nil || $0.areContentsSigned }
        let apps = distinct(signed.compactMap(\.bundleID))
        let claimed = distinct(pieces.filter { $0.verified == nil && !$0.areContentsSigned }.compactMap(\.bundleID))
        if apps.isEmpty {
            html.element(.p, .style(.answer)) { html in
                if let claim = claimed.first {
                    html.phrase(.claimedApp, .text(claim))
                } else {
                    html.phrase(signed.isEmpty ? .appUnreadable : .noAppStated)
                }
            }
            if !claimed.isEmpty { html.element(.p, .style(.note), phrase: .claimedAppNote) }
        }
        for app in apps.prefix(4) {
            html.element(.p, .style(.answer)) { $0.inline(app) }
        }
        if apps.count > 4 { html.element(.p, .style(.note), phrase: .appsMore, .number(apps.count - 4)) }
        let accepted = Set(signed.compactMap { $0.verified?.environment })
        let environments = AppStoreEnvironment.allCases.filter(accepted.contains)
        if !environments.isEmpty {
            html.element(.p, .style(.note)) { html in
                html.phrase(.environment)
                for (index, environment) in environments.enumerated() {
                    html.text(index == 0 ? ": " : ", ")
                    html.phrase(environment.phrase)
                }
            }
        }
        if policy.acceptedEnvironments.count > 1, !environments.isEmpty,
            let option = VerifierSetting.environments.name(on: audience.surface)
        {
            html.element(.p, .style(.note), phrase: .uncheckedEnvironment, .code(option))
        }
        if !apps.isEmpty, policy.bundleIDs == nil, let option = VerifierSetting.bundleIDs.name(on: audience.surface) {
            html.element(.p, .style(.note), phrase: .uncheckedApp, .code(option))
        }
    }

    private func distinct(_ texts: [String]) -> [String] {
        var seen: Set<UTF8Bytes> = []
        return texts.filter { seen.insert(UTF8Bytes($0)).inserted }
    }

    // MARK: What does it give?

    private static let maximumAnswerCount = 8

    private func ownedAnswer(_ html: inout HTMLWriter) {
        guard pieces.contains(where: { $0.verified != nil }) else {
            return html.element(.p, .style(.answer), phrase: .nothingProved)
        }
        var seen: Set<UTF8Bytes> = []
        // The copies of a restored purchase are one purchase.
        let items = decision.entitlements.items.reversed().filter {
            $0.access.isGrantable && seen.insert(UTF8Bytes($0.firstTransactionID)).inserted
        }.sorted { $0.access.rank < $1.access.rank }
        guard !items.isEmpty else { return html.element(.p, .style(.answer), phrase: .nothingNow) }
        html.element(.ul, .style(.list)) { html in
            for item in items.prefix(Self.maximumAnswerCount) {
                html.element(.li) { html in
                    html.element(.strong) { $0.inline(item.purchase.productID) }
                    html.text(" ")
                    html.element(.small) { html in
                        switch item.access {
                        case .active(let end): html.phrase(.ownedUntil, .date(end))
                        case .consumable(let quantity): html.phrase(.consumableQuantity, .number(quantity))
                        default: html.phrase(.ownedForever)
                        }
                    }
                }
            }
        }
        if items.count > Self.maximumAnswerCount {
            html.element(.p, .style(.note)) { $0.phrase(.otherCount, .number(items.count - Self.maximumAnswerCount)) }
        }
    }

    // MARK: Why was it refused?

    private func refusalAnswer(_ html: inout HTMLWriter) {
        let refused = pieces.filter { $0.verdict != .accepted }
        guard !refused.isEmpty else { return html.element(.p, .style(.answer), phrase: .nothingRefused) }
        html.element(.ul, .style(.list)) { html in
            for piece in refused.prefix(Self.maximumAnswerCount) {
                html.element(.li) { html in
                    if pieces.count > 1 {
                        html.element(.a, .to(.piece(piece.index))) { $0.phrase(.pieceNumber, .number(piece.index + 1)) }
                        html.text(" ")
                    }
                    html.element(.span, .style(.answer)) { $0.text(reason(of: piece, in: $0.language)) }
                    if let error = piece.refusal {
                        if let found = error.found {
                            html.text(" ")
                            html.element(.small) { html in
                                html.phrase(.found)
                                html.text(": ")
                                html.inline(found)
                                guard let expected = error.expected else { return }
                                html.text(" · ")
                                html.phrase(.expected)
                                html.text(": ")
                                html.inline(expected)
                            }
                        }
                    }
                }
            }
        }
        if refused.count > Self.maximumAnswerCount {
            html.element(.p, .style(.note), phrase: .appsMore, .number(refused.count - Self.maximumAnswerCount))
        }
    }

    /// What is wrong with a refused piece, as a sentence.
    func reason(of piece: ReportPiece, in language: Language) -> String {
        switch piece.outcome {
        case .verified: ""
        case .refused(let error): error.sentence(in: language)
        case .unreadable(let message): message
        }
    }
}

extension Entitlements.Access {
    /// The position in the list of what gives access.
    fileprivate var rank: Int {
        switch self {
        case .active: 0
        case .owned: 1
        default: 2
        }
    }
}

extension AppStoreEnvironment {
    var phrase: Phrase {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        case .xcode: .xcode
        case .localTesting: .localTesting
        }
    }
}

extension HTMLWriter {
    /// A sign in the color of a verdict. It repeats the words beside it.
    mutating func mark(_ style: Style) {
        element(.span, .styles([.mark, style]), .hidden) { html in
            html.element(.svg, .box(width: 20, height: 20)) { html in
                html.element(.path, .shape(style.sign))
            }
        }
    }
}

extension Style {
    fileprivate var sign: StaticString {
        switch self {
        case .good, .passed: "M4 10.5 8.2 15 16 5.5"
        case .bad, .failed: "M5 5 15 15M15 5 5 15"
        case .warn: "M10 4V11.5M10 15.8V16"
        default: "M5 10H15"
        }
    }
}
