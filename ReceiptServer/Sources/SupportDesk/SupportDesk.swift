@_spi(Surfaces) package import AppStoreReceipt
package import HTTPService
package import LedgerService
package import PurchaseLedger
@_spi(Surfaces) import ReceiptReport
import StrictText

/// The support desk: pages for staff that show who owns a purchase, what was submitted, and why something was refused.
///
/// It has a listener of its own, so access to the service doesn't give access to the desk. Its pages have no scripts.
/// They show the ledger, and every change is an ``Act``.
package struct SupportDesk: Sendable {
    let ledger: PurchaseLedger
    let verifier: AppStoreVerifier
    let productTypes: ProductCatalog
    let tokens: AccessTokens
    let log: ServiceLog
    let origin: SupportOrigin
    let address: ListenAddress
    let sessions = Sessions()
    let limit = SignInLimit()
    let counts = SignInCounts()
    let zones = TimeZones()
    var clock: @Sendable () -> Instant
    /// Queries the App Store, if the server can.
    package var askApple: AppleInquiry?

    /// Creates the desk from the parts of the ledger's service.
    package init(
        _ configuration: SupportConfiguration, _ ledger: PurchaseLedger, _ tokens: AccessTokens,
        _ verifier: AppStoreVerifier, _ productTypes: ProductCatalog, _ log: ServiceLog
    ) {
        self.ledger = ledger
        self.tokens = tokens
        self.verifier = verifier
        self.productTypes = productTypes
        self.log = log
        clock = ledger.policy.surroundings.date
        origin = configuration.origin
        address = configuration.address
    }

    /// Returns the listener, with small limits of its own, because only a few members of staff use it.
    package func listener(_ limits: ServiceLimits) -> Service.Listener {
        var limits = limits
        limits.threadCount = 2
        limits.maximumConnectionCount = min(limits.maximumConnectionCount, 256)
        limits.queueCapacity = min(limits.queueCapacity, 32)
        limits.memoryByteCount = max(limits.maximumBodyByteCount, min(limits.memoryByteCount, 32 << 20))
        return .init("support", address, routes, limits)
    }

    package var metrics: [MetricFamily] { counts.metrics(sessionCount: sessions.count) }

    var routes: RouteTable {
        func route(
            _ method: String, _ path: String, isForAnyone: Bool = false,
            _ handler: @escaping @Sendable (Request) throws -> Response
        ) -> Route {
            Route(
                .only(method), path, execution: .queued(.guarded),
                headers: [
                    "Host", "Origin", "Sec-Fetch-Site", "Cookie", "Content-Type", "Content-Length",
                    "Transfer-Encoding", "Accept-Language",
                ],
                refusal: { refusal(of: $0, isForAnyone: isForAnyone) }
            ) { request in
                // One browser can't take all slots.
                ParsedRequest(owner: sessionCookie.value(in: request.header("Cookie"))) {
                    Response { try answer(request) { try handler(request) } }
                }
            }
        }
        return RouteTable(
            [
                route("GET", "/", isForAnyone: true) { try start($0) },
                route("POST", "/sign-in", isForAnyone: true) { try signIn($0) },
                route("POST", "/sign-out") { try signOut($0) },
                route("GET", "/settings") { try settings($0) },
                route("POST", "/settings") { try changeSettings($0) },
                route("GET", "/what-clients-send") { try clientHelp($0) },
                route("POST", "/search") { try search($0) },
                route("POST", "/account") { try account($0) },
                route("POST", "/act") { try act($0) },
            ], headers: SupportPage.headers)
    }

    var sessionCookie: Cookie { Cookie("receipt-support", isSecure: origin.isSecure) }
    var viewCookie: Cookie { Cookie("receipt-support-view", isSecure: origin.isSecure) }

    func view(_ request: Request) -> View { View(request, viewCookie, zones) }

    // MARK: Sessions

    /// A request from a signed-in user.
    struct Visit {
        let request: Request
        let sessionID: String
        let session: Session
        let scopes: Set<TokenScope>
        let view: View

        var page: SupportPage { SupportPage(view: view, forms: Forms(session: session)) }
    }

    /// A refusal or redirect in place of the requested page.
    struct Turned: Refusal { let response: Response }

    /// The maximum size of a form from a user who isn't signed in, which contains only a token.
    private static let maximumStrangersByteCount = 16 << 10

    /// Refuses a request for another host, from another site or without a session. It uses only the headers, so that
    /// forms from strangers take no memory.
    private func refusal(of request: Request, isForAnyone: Bool) -> Response? {
        let page = SupportPage(view: view(request), forms: nil)
        guard origin.isHost(of: request) else {
            return page.response(421, code: "wrong-host") { html in notice(.wrongHost, .bad, &html) }
        }
        let isSafe = request.method.hasSameBytes(as: "GET") || request.method.hasSameBytes(as: "HEAD")
        guard isSafe || origin.isOwn(request) else {
            return page.response(403, code: "wrong-origin") { html in notice(.notFromHere, .bad, &html) }
        }
        guard isForAnyone else {
            do throws(LedgerError) {
                return try visitor(request) == nil ? sessionOver(request) : nil
            } catch {
                return failure(error, page)
            }
        }
        // Browsers send the length of a form, and send no body with GET.
        let length = request.header("Content-Length").map { Int($0) ?? .max } ?? (isSafe ? 0 : .max)
        guard length <= Self.maximumStrangersByteCount, request.header("Transfer-Encoding") == nil else {
            return page.response(413, code: "body-too-large") { html in notice(.refusedForm, .bad, &html) }
        }
        return nil
    }

    /// Answers a request, with a page even if something fails.
    private func answer(_ request: Request, _ body: () throws -> Response) throws -> Response {
        let page = SupportPage(view: view(request), forms: nil)
        do {
            return try body()
        } catch let error as LedgerError {
            return failure(error, page)
        } catch let error as RequestFault {
            return page.response(error.response.status, code: error.response.code) { html in
                notice(.refusedForm, .bad, &html)
            }
        }
    }

    private func failure(_ error: LedgerError, _ page: SupportPage) -> Response {
        guard error.isOfLedger else {
            return page.response(400, code: error.code.rawValue) { html in notice(.refusedForm, .bad, &html) }
        }
        log.write("ledger", error)
        let isTemporary = error.code == .storeUnavailable
        return page.response(isTemporary ? 503 : 500, code: error.code.rawValue) { html in
            notice(isTemporary ? .ledgerUnavailable : .ledgerFailed, .bad, &html)
        }
    }

    func notice(_ words: SupportPhrase, _ style: Style?, _ slots: Slot..., to html: inout HTMLWriter) {
        html.element(
            .p, .styled(style == .bad ? "notice bad" : "notice"), .role(.status)
        ) { $0.phrase(words, slots) }
    }

    private func notice(_ words: SupportPhrase, _ style: Style?, _ html: inout HTMLWriter) {
        notice(words, style, to: &html)
    }

    /// Returns the sender of a request, or `nil` without a session. Ends the session if its token
    /// was removed or lost the scope.
    private func visitor(_ request: Request) throws(LedgerError) -> Visit? {
        guard let id = sessionCookie.value(in: request.header("Cookie")),
            let session = try sessions.session(id, at: clock())
        else { return nil }
        guard let scopes = tokens.scopes(of: session.token), scopes.contains(.support) else {
            try sessions.end(id)
            return nil
        }
        return Visit(request: request, sessionID: id, session: session, scopes: scopes, view: view(request))
    }

    /// Returns the sender of a form of this session, and the form.
    func sender(_ request: Request) throws -> (Visit, FormBody) {
        guard let visit = try visitor(request) else { throw Turned(response: sessionOver(request)) }
        let form = try FormBody(request)
        // Compare digests, so that the time of the comparison reveals nothing.
        guard let sent = form.exactText("form"),
            try AccessTokens.digest(of: sent)
                == AccessTokens.digest(of: visit.session.formToken)
        else {
            throw Turned(
                response: visit.page.response(403, code: "forged-request") { html in
                    notice(.notFromHere, .bad, &html)
                })
        }
        return (visit, form)
    }

    // MARK: Signing in and out

    private func start(_ request: Request) throws -> Response {
        guard let visit = try visitor(request) else { return signInPage(view(request), nil) }
        let unnamed = try ledger.unnamedNotifications(at: clock())
        let uncertain = try ledger.uncertainClaims()
        let ended = try ledger.endedPeriods(limit: 100)
        return visit.page.response { html in
            html.element(.h1, phrase: SupportPhrase.search)
            searchForm(visit, &html)
            self.ended(ended, &html)
            self.uncertain(uncertain, &html)
            self.unnamed(unnamed, &html)
        }
    }

    private func signInPage(
        _ view: View, _ words: SupportPhrase?, status: Int = 200, code: String = "ok"
    ) -> Response {
        SupportPage(view: view, forms: nil).response(status, code: code) { html in
            html.element(.h1, phrase: SupportPhrase.signIn)
            html.element(.p, .style(.note), phrase: SupportPhrase.signInAbout)
            if let words { notice(words, .bad, &html) }
            html.form("/sign-in", [.styled("narrow")], hidden: []) { html in
                html.field("token", id: "token", .secret, label: html.plain(SupportPhrase.token), limit: 4096)
                html.choice(
                    "language", id: "language", label: html.plain(SupportPhrase.language), Language.choices,
                    selected: view.language.rawValue)
                html.button(html.plain(SupportPhrase.signIn))
            }
        }
    }

    private func sessionOver(_ request: Request) -> Response {
        signInPage(view(request), .sessionOver, status: 403, code: "no-session")
    }

    private func signIn(_ request: Request) throws -> Response {
        let form = try FormBody(request)
        let now = clock()
        var view = view(request)
        if let language = form.text("language").flatMap(Language.init) {
            view.language = language
            if !view.isChosen { view.timeZone = zones.usual(language) }
        }
        let candidate = form.bytes("token").trimmed
        guard candidate.count >= SignInLimit.longByteCount || limit.isOpen(at: now) else {
            return tooMany(view)
        }
        let digest = try AccessTokens.digest(of: candidate.span)
        guard tokens.scopes(of: digest)?.contains(.support) ?? false else {
            guard limit.count(at: now) else { return tooMany(view) }
            counts.count(.refused)
            log.write(.warning, "support-sign-in-refused")
            return signInPage(view, .tokenRefused, status: 403, code: "unauthorized")
        }
        // The session that the browser had before is no longer valid.
        if let old = sessionCookie.value(in: request.header("Cookie")) { try sessions.end(old) }
        let id = try sessions.begin(digest, at: now)
        counts.count(.accepted)
        log.write(.info, "support-sign-in")
        return redirect("/", [sessionCookie.setting(id), viewCookie.setting(view.text, seconds: Self.viewTime)])
    }

    private static let viewTime = 365 * 86400

    private func tooMany(_ view: View) -> Response {
        counts.count(.limited)
        var response = signInPage(view, .tooManyAttempts, status: 429, code: "too-many-attempts")
        response.headers = [("Retry-After", "\(SignInLimit.interval.components.seconds)")]
        return response
    }

    private func signOut(_ request: Request) throws -> Response {
        let (visit, _) = try sender(request)
        try sessions.end(visit.sessionID)
        return redirect("/", [sessionCookie.removing])
    }

    private func redirect(_ path: String, _ headers: [(name: String, value: String)]) -> Response {
        var response = Response(status: 303, body: [])
        response.contentType = "text/plain"
        response.headers = [("Location", path)] + headers
        return response
    }

    // MARK: Settings

    private func settings(_ request: Request) throws -> Response {
        guard let visit = try visitor(request) else { return sessionOver(request) }
        return visit.page.response { html in
            html.element(.h1, phrase: SupportPhrase.settings)
            visit.page.forms?.form("/settings", [.styled("narrow")], to: &html) { html in
                html.choice(
                    "language", id: "language", label: html.plain(SupportPhrase.language), Language.choices,
                    selected: visit.view.language.rawValue)
                html.choice(
                    "zone", id: "zone", label: html.plain(SupportPhrase.zone),
                    [("UTC", "UTC")] + zones.names.map { ($0, $0) }, selected: visit.view.timeZone?.name ?? "UTC")
                html.button(html.plain(SupportPhrase.save))
            }
        }
    }

    private func changeSettings(_ request: Request) throws -> Response {
        let (visit, form) = try sender(request)
        let view = View(
            form.text("language").flatMap(Language.init) ?? visit.view.language,
            form.text("zone").flatMap(zones.zone(named:)))
        return redirect("/", [viewCookie.setting(view.text, seconds: Self.viewTime)])
    }

    // MARK: Help

    private func clientHelp(_ request: Request) throws -> Response {
        guard let visit = try visitor(request) else { return sessionOver(request) }
        return visit.page.response { html in
            html.element(.h1, phrase: SupportPhrase.clientsSend)
            html.element(.p, .style(.note), phrase: SupportPhrase.clientsSendAbout)
            ClientHelp.write(to: &html, for: .user(of: .server))
        }
    }

    // MARK: The search

    func searchForm(_ visit: Visit, _ html: inout HTMLWriter) {
        visit.page.forms?.form("/search", [.styled("ask"), .role(.search)], to: &html) { html in
            html.field("text", id: "text", .area, label: html.plain(SupportPhrase.searchLabel))
            html.element(.p, .style(.note), phrase: SupportPhrase.searchAbout)
            html.button(html.plain(SupportPhrase.search))
        }
    }

    /// Writes the paid periods without a grant that haven't been listed, if there are any.
    private func ended(_ periods: [EndedPeriod], _ html: inout HTMLWriter) {
        guard !periods.isEmpty else { return }
        html.element(.section, .style(.panel)) { html in
            html.element(.h2, phrase: SupportPhrase.endedPeriods)
            html.element(.p, .style(.note), phrase: SupportPhrase.endedAbout)
            html.element(.ol, .styled("story")) { html in
                for period in periods {
                    html.element(.li) { html in
                        html.element(.span) { $0.localDate(period.recordedAt) }
                        html.element(
                            .span, phrase: SupportPhrase.uncertainClaim, .text(period.account ?? "—"),
                            .text(period.name.transactionID))
                    }
                }
            }
        }
    }

    /// Writes the claims that need an operator's decision, if there are any.
    private func uncertain(_ claims: [UncertainClaim], _ html: inout HTMLWriter) {
        guard !claims.isEmpty else { return }
        html.element(.section, .style(.panel)) { html in
            html.element(.h2, phrase: SupportPhrase.uncertainClaims)
            html.element(.p, .style(.note), phrase: SupportPhrase.uncertainAbout)
            html.element(.ol, .styled("story")) { html in
                for claim in claims {
                    html.element(.li) { html in
                        html.element(.span) { $0.localDate(claim.splitAt) }
                        html.element(
                            .span, phrase: SupportPhrase.uncertainClaim, .text(claim.account),
                            .text(claim.name.transactionID))
                    }
                }
            }
        }
    }

    /// Writes the notifications that name no app, if there are any.
    private func unnamed(_ notifications: [UnnamedNotification], _ html: inout HTMLWriter) {
        guard !notifications.isEmpty else { return }
        html.element(.section, .style(.panel)) { html in
            html.element(.h2, phrase: SupportPhrase.unnamedNotifications)
            html.element(.p, .style(.note), phrase: SupportPhrase.unnamedAbout)
            html.element(.ol, .styled("story")) { html in
                for notification in notifications {
                    html.element(.li) { html in
                        html.element(.span) { $0.localDate(notification.receivedAt) }
                        html.element(.span) { html in
                            html.phrase(
                                SupportPhrase.claimsEnded, .code(notification.type),
                                .number(Int(clamping: notification.claimCount)))
                            guard !notification.claims.isEmpty else { return }
                            html.text(" ")
                            html.element(
                                .small, phrase: SupportPhrase.claims, .text(notification.claims.joined(separator: ", "))
                            )
                        }
                    }
                }
            }
        }
    }

    private func search(_ request: Request) throws -> Response {
        let (visit, form) = try sender(request)
        let answer = try SearchAnswer(form.bytes("text"), self, at: clock())
        return visit.page.response { html in
            html.element(.h1, phrase: SupportPhrase.searched)
            SearchPage(desk: self, visit: visit).write(answer, to: &html)
            html.element(.section, .style(.panel)) { html in searchForm(visit, &html) }
        }
    }

    private func account(_ request: Request) throws -> Response {
        let (visit, form) = try sender(request)
        guard let account = form.exactText("account") else { throw RequestFault.invalid("no account") }
        return try show([.account(account)], for: visit, after: form.exactText("after"))
    }

    /// Returns the page for findings that are already known.
    func show(
        _ findings: [SupportFinding], for visit: Visit, after cursor: String? = nil,
        notice: ((inout HTMLWriter) -> Void)? = nil
    ) throws -> Response {
        let answer = try SearchAnswer(findings, self, at: clock(), after: cursor)
        return visit.page.response { html in
            html.element(.h1, phrase: SupportPhrase.searched)
            notice?(&html)
            SearchPage(desk: self, visit: visit).write(answer, to: &html)
            html.element(.section, .style(.panel)) { html in searchForm(visit, &html) }
        }
    }
}

extension Language {
    /// The languages, each by its own name.
    fileprivate static var choices: [(value: String, words: String)] {
        allCases.map { language in
            switch language {
            case .english: (language.rawValue, "English")
            case .simplifiedChinese: (language.rawValue, "简体中文")
            }
        }
    }
}
