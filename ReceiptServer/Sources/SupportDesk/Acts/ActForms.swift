@_spi(Surfaces) import AppStoreReceipt
import PurchaseLedger
@_spi(Surfaces) import ReceiptReport

/// The forms for support's actions on a page.
struct ActForms {
    let desk: SupportDesk
    let visit: SupportDesk.Visit
    /// The number of forms so far. It keeps the ids of fields unique across forms.
    private var count = 0

    init(_ desk: SupportDesk, _ visit: SupportDesk.Visit) {
        self.desk = desk
        self.visit = visit
    }

    /// The maximum number of forms on a page.
    private static let maximumCount = 60

    /// Writes the forms for a transaction.
    mutating func write(for story: TransactionStory, to html: inout HTMLWriter) {
        let names = Self.names(story.name)
        Self.section(&html) { html in
            for event in story.events.prefix(5) {
                form(
                    .sendAgain, names + [("event", event.id)],
                    Sentence(.sendAgainAbout, .code(String(event.sequence))), &html)
            }
            for grant in story.grants.prefix(3) {
                let own = Self.names(grant.name) + [("account", grant.account)]
                form(
                    .setQuantity, own,
                    Sentence(.setQuantityAbout, .text(grant.account), .number(Int(clamping: grant.quantity))), &html
                ) { id, html in
                    html.field(
                        "quantity", id: "quantity-\(id)", .number, label: html.plain(SupportPhrase.quantity), limit: 10)
                }
                if grant.adjusted != nil { form(.followApple, own, Sentence(.followAppleAbout), &html) }
            }
            if let owner = story.owner ?? story.grants.first?.account {
                form(
                    .transfer, names + [("account", owner)], Sentence(.transferAbout, .text(owner)), &html
                ) { id, html in
                    html.field("to", id: "to-\(id)", .line, label: html.plain(SupportPhrase.to))
                }
            }
            if desk.askApple != nil, !story.isOfSupport {
                form(
                    .askApple, names, Sentence(.askAppleAbout, .text(story.name.transactionID)), &html,
                    fields: Self.refusedField)
            }
        }
    }

    /// Writes the forms for an account.
    mutating func write(forAccount account: String, to html: inout HTMLWriter) {
        Self.section(&html) { html in
            form(
                .grantProduct, [("account", account)], Sentence(.grantProductAbout, .text(account)), &html
            ) { [desk] id, html in
                html.field("product", id: "product-\(id)", .line, label: html.plain(SupportPhrase.productID))
                html.field(
                    "quantity", id: "quantity-\(id)", .number, label: html.plain(SupportPhrase.quantity), limit: 10)
                Self.appFields(desk, id, &html)
            }
        }
    }

    /// Writes the forms for ids that only Apple may know.
    mutating func write(forClues clues: [String], to html: inout HTMLWriter) {
        guard desk.askApple != nil, !clues.isEmpty else { return }
        Self.section(&html) { html in
            for clue in clues {
                form(.askApple, [("id", clue)], Sentence(.askAppleAbout, .text(clue)), &html) { [desk] id, html in
                    Self.appFields(desk, id, &html)
                    Self.refusedField(id, &html)
                }
            }
        }
    }

    // MARK: Parts

    /// Writes the choice of whether to record the rest of an answer when a part is refused.
    private static func refusedField(_ id: Int, _ html: inout HTMLWriter) {
        html.choice(
            "refused", id: "refused-\(id)", label: html.plain(SupportPhrase.ifRefused),
            [("stop", html.plain(SupportPhrase.recordNothing)), ("skip", html.plain(SupportPhrase.recordRest))],
            selected: "stop")
    }

    private static func names(_ name: TransactionName) -> [(name: StaticString, value: String)] {
        [("environment", name.environment.rawValue), ("bundle", name.bundleID), ("id", name.transactionID)]
    }

    /// Writes the fields for the app and the environment, chosen from those of the server.
    private static func appFields(_ desk: SupportDesk, _ id: Int, _ html: inout HTMLWriter) {
        let policy = desk.verifier.policy
        let environments = policy.acceptedEnvironments.map(\.rawValue).sorted()
        html.choice(
            "environment", id: "environment-\(id)", label: html.plain(SupportPhrase.environment),
            environments.map { ($0, $0) }, selected: AppStoreEnvironment.production.rawValue)
        if let bundleIDs = policy.bundleIDs?.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            html.choice(
                "bundle", id: "bundle-\(id)", label: html.plain(SupportPhrase.bundleID), bundleIDs.map { ($0, $0) },
                selected: bundleIDs.first ?? "")
        } else {
            html.field("bundle", id: "bundle-\(id)", .line, label: html.plain(SupportPhrase.bundleID))
        }
    }

    private static func section(_ html: inout HTMLWriter, content: (inout HTMLWriter) -> Void) {
        html.element(.details) { html in
            html.element(.summary, phrase: SupportPhrase.acts)
            html.element(.p, .style(.note), phrase: SupportPhrase.actsAbout)
            html.element(.div, .styled("doing"), content: content)
        }
    }

    private mutating func form(
        _ act: Act, _ hidden: [(name: StaticString, value: String)], _ about: Sentence, _ html: inout HTMLWriter,
        fields: (Int, inout HTMLWriter) -> Void = { _, _ in }
    ) {
        guard count < Self.maximumCount else { return }
        count += 1
        let id = count
        html.element(.section, .styled("deed")) { html in
            html.element(.h4, phrase: act.name)
            html.element(.p, .style(.note)) { about.write(to: &$0) }
            guard visit.scopes.contains(act.scope) else {
                html.element(.p, phrase: SupportPhrase.needsScope, .code(act.scope.rawValue))
                return
            }
            visit.page.forms?.form(
                "/act", hidden: [("act", act.rawValue), ("number", FormNumber.make(at: desk.clock()))] + hidden,
                to: &html
            ) { html in
                fields(id, &html)
                // The ledger stores up to 255 bytes, and a character in Chinese takes three.
                html.field("reason", id: "reason-\(id)", .line, label: html.plain(SupportPhrase.reason), limit: 80)
                html.button(html.plain(act.name))
            }
        }
    }
}

extension TransactionStory {
    /// Whether support granted it, in which case Apple doesn't know it.
    fileprivate var isOfSupport: Bool { name.transactionID.utf8.starts(with: "support-".utf8) }
}
